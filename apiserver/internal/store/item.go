package store

import (
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// Item is one version of one object. The object is shared between readers and must not be changed.
type Item[T Object] struct {
	// Object as read, without managed fields and last-applied annotation.
	Object T
	key    types.NamespacedName
	rv     uint64
	memo   sync.Map
}

func newItem[T Object](obj T) *Item[T] {
	return &Item[T]{Object: obj, key: keyOf(obj), rv: parseVersion(obj.GetResourceVersion())}
}

// Memo returns what compute returned the first time it was asked for under key. It is how a converted form of an object is
// computed once per resourceVersion and not once per request; an error is not kept.
// Two first callers may both compute, and get the same result.
func (i *Item[T]) Memo(key string, compute func() (any, error)) (any, error) {
	if v, ok := i.memo.Load(key); ok {
		return v, nil
	}
	v, err := compute()
	if err != nil {
		return nil, err
	}
	v, _ = i.memo.LoadOrStore(key, v)
	return v, nil
}

// parseVersion reads a resourceVersion as the number it is: since Kubernetes 1.35 clients may compare them. Anything else counts as zero,
// that is older than everything.
func parseVersion(rv string) uint64 {
	n, err := strconv.ParseUint(rv, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

func compareKeys(a, b types.NamespacedName) int {
	if a.Namespace != b.Namespace {
		if a.Namespace < b.Namespace {
			return -1
		}
		return 1
	}
	switch {
	case a.Name < b.Name:
		return -1
	case a.Name > b.Name:
		return 1
	}
	return 0
}
