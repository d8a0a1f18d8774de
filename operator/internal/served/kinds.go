package served

import (
	"errors"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// AbsentFor is how long a kind that is not served counts as absent before it is asked for again.
	AbsentFor = 30 * time.Second
	// errorFor is how long a server that did not answer is left alone.
	errorFor = 5 * time.Second
	// discoveryWait is how long a caller waits for an answer. The request goes on after that, and its answer serves the next.
	discoveryWait = time.Second
)

var errNoAnswer = errors.New("the API server has not answered yet")

// mapper finds a kind. meta.RESTMapper is one; the one of New neither caches nor locks.
type mapper interface {
	RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error)
}

// Kinds finds out which kinds are served. The nil Kinds serves none.
type Kinds struct {
	mapper mapper
	clock  clock.PassiveClock
	wait   time.Duration
	live   client.Reader
	found  *found      // nil in tests
	marked cache.Cache // what has the label ray.io/cluster; nil in tests
	all    cache.Cache // nil in tests

	flight  singleflight.Group
	mu      sync.Mutex // never held across a request
	answers map[string]answer
}

// answer is what is known of a kind.
type answer struct {
	version string // empty for not served
	err     error  // nobody knows
	at      time.Time
}

// valid reports whether nobody needs to ask again. What is served stays so.
func (a answer) valid(now time.Time) bool {
	switch {
	case a.at.IsZero():
		return false
	case a.err != nil:
		return now.Sub(a.at) < errorFor
	default:
		return a.version != "" || now.Sub(a.at) < AbsentFor
	}
}

// NewFixed returns kinds without watches, from a mapper and a reader that are there already, such as those of a fake client.
func NewFixed(m mapper, live client.Reader, c clock.PassiveClock) *Kinds {
	return &Kinds{mapper: m, live: live, clock: c, wait: discoveryWait, answers: map[string]answer{}}
}

// Version returns the first of the versions of the kind that is served, empty for none. An error says that nobody knows right
// now.
func (k *Kinds) Version(kind schema.GroupKind, versions ...string) (string, error) {
	if k == nil {
		return "", nil
	}
	id := kind.String() + "/" + strings.Join(versions, ",")
	last := k.last(id)
	if last.valid(k.clock.Now()) {
		return last.version, last.err
	}
	asked := k.flight.DoChan(id, func() (any, error) {
		a := k.ask(kind, versions)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.answers[id] = a
		return a, nil
	})
	tooLong := time.NewTimer(k.wait)
	defer tooLong.Stop()
	select {
	case result := <-asked:
		a := result.Val.(answer)
		return a.version, a.err
	case <-tooLong.C:
		return k.giveUp(id, last)
	}
}

func (k *Kinds) last(id string) answer {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.answers[id]
}

// giveUp keeps the next callers from waiting as long as this one did, unless the answer came at the last moment.
func (k *Kinds) giveUp(id string, last answer) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.answers[id].at.Equal(last.at) {
		k.answers[id] = answer{err: errNoAnswer, at: k.clock.Now()}
	}
	return k.answers[id].version, k.answers[id].err
}

func (k *Kinds) ask(kind schema.GroupKind, versions []string) answer {
	for _, version := range versions {
		mapping, err := k.mapper.RESTMapping(kind, version)
		switch {
		case err == nil:
			if k.found != nil {
				k.found.mappings.Store(mapping.GroupVersionKind, mapping)
			}
			return answer{version: version, at: k.clock.Now()}
		case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		default:
			return answer{err: err, at: k.clock.Now()}
		}
	}
	return answer{at: k.clock.Now()}
}
