// Package optionalapi handles kinds that a Kubernetes cluster may lack, such as those of OpenShift, cert-manager and batch schedulers:
// it checks whether they are served, starts watches when they are first needed, and reads without waiting for a watch.
//
// KubeRay checks once at its start. Here an API may be installed later, and a failing server is an error, not an absence. Neither
// a hanging server nor a missing permission to list delays reconciles of other objects.
package optionalapi

import (
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// AbsentFor is how long a kind that is not served counts as absent before the next check.
	AbsentFor = 30 * time.Second
	// errorFor is how long no request is sent after a server did not answer.
	errorFor = 2 * RequestLimit
)

// mapper finds a kind within RequestLimit. A meta.RESTMapper implements it; the one of New neither caches nor locks.
type mapper interface {
	RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error)
}

// Kinds finds out which kinds are served. A nil Kinds serves none.
type Kinds struct {
	mapper mapper
	clock  clock.PassiveClock
	live   client.Reader
	found  *found      // nil in tests
	marked cache.Cache // objects with the label ray.io/cluster; nil in tests
	all    cache.Cache // nil in tests

	entries sync.Map // *entry by kind and versions
}

// entry is the state of a kind. Its lock is held during requests, so that there is one at a time, and a hanging server blocks no
// other kind.
type entry struct {
	mu      sync.Mutex
	version string // empty if not served
	err     error  // the state is unknown
	until   time.Time
}

// NewFixed returns Kinds without watches that use an existing mapper and reader, for example of a fake client.
func NewFixed(m mapper, live client.Reader, c clock.PassiveClock) *Kinds {
	return &Kinds{mapper: m, live: live, clock: c}
}

// NewWatched is NewFixed with watches of all objects in a cache.
func NewWatched(m mapper, live client.Reader, watched cache.Cache, c clock.PassiveClock) *Kinds {
	return &Kinds{mapper: m, live: live, clock: c, marked: watched, all: watched}
}

// Version returns the first served version of the kind, or "" if none is served. An error means that the state is unknown.
func (k *Kinds) Version(kind schema.GroupKind, versions ...string) (string, error) {
	if k == nil {
		return "", nil
	}
	stored, _ := k.entries.LoadOrStore(kind.String()+"/"+strings.Join(versions, ","), &entry{})
	e := stored.(*entry)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.version != "" || k.clock.Now().Before(e.until) { // a kind that was served stays served
		return e.version, e.err
	}
	e.version, e.err = k.ask(kind, versions)
	if e.until = k.clock.Now().Add(AbsentFor); e.err != nil {
		e.until = k.clock.Now().Add(errorFor)
	}
	return e.version, e.err
}

func (k *Kinds) ask(kind schema.GroupKind, versions []string) (string, error) {
	for _, version := range versions {
		mapping, err := k.mapper.RESTMapping(kind, version)
		switch {
		case err == nil:
			if k.found != nil {
				k.found.mappings.Store(mapping.GroupVersionKind, mapping)
			}
			return version, nil
		case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		default:
			return "", err
		}
	}
	return "", nil
}
