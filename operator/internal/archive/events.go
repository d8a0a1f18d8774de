package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/poll"
)

const (
	// eventPage is the size of a page, and maxEvents how many events of a namespace are looked at.
	eventPage = 500
	maxEvents = 20_000
	// keptEvents is the maximum number of events in a record. The newest are kept.
	keptEvents = 500
	// listPause is the time between two lists of a namespace, and listTimeout limits a list.
	listPause   = time.Second
	listTimeout = 10 * time.Second
)

var errTooManyEvents = errors.New("the namespace has too many events")

// eventLists lists the events of each namespace for all records that were asked for meanwhile: a list with a field selector costs the
// API server as much as one without.
type eventLists struct {
	live  client.Reader
	clock clock.Clock

	mu   sync.Mutex
	next map[string]*eventList // by namespace; nil while a list is under way and no other was asked for
}

type eventList struct {
	wanted []*wantedEvents
	done   chan struct{}
	err    error // set before done is closed
}

type wantedEvents struct {
	about func(*corev1.Event) bool
	found []corev1.Event
}

func newEventLists(live client.Reader, c clock.Clock) *eventLists {
	return &eventLists{live: live, clock: c, next: map[string]*eventList{}}
}

// of returns the events of a namespace that a record is about, from the oldest to the newest. It may return some next to an error.
func (l *eventLists) of(ctx context.Context, namespace string, about func(*corev1.Event) bool) ([]json.RawMessage, error) {
	mine := &wantedEvents{about: about}
	list := l.join(namespace, mine)
	select {
	case <-list.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	slices.SortStableFunc(mine.found, func(a, b corev1.Event) int { return timeOf(&a).Compare(timeOf(&b)) })
	if over := len(mine.found) - keptEvents; over > 0 {
		mine.found = mine.found[over:]
	}
	var texts []json.RawMessage
	for i := range mine.found {
		e := &mine.found[i]
		e.APIVersion, e.Kind = "v1", "Event"
		e.ManagedFields = nil
		text, err := json.Marshal(e)
		if err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, list.err
}

// timeOf returns when an event was last seen.
func timeOf(e *corev1.Event) time.Time {
	last := e.LastTimestamp.Time
	if e.Series != nil {
		last = e.Series.LastObservedTime.Time
	}
	for _, t := range []time.Time{e.EventTime.Time, e.CreationTimestamp.Time} {
		if last.IsZero() {
			last = t
		}
	}
	return last
}

func (l *eventLists) join(namespace string, mine *wantedEvents) *eventList {
	l.mu.Lock()
	defer l.mu.Unlock()
	next, busy := l.next[namespace]
	if next == nil {
		next = &eventList{done: make(chan struct{})}
		l.next[namespace] = next
	}
	next.wanted = append(next.wanted, mine)
	if !busy {
		go l.serve(namespace)
	}
	return next
}

// serve lists one time after the other until nobody waits.
func (l *eventLists) serve(namespace string) {
	for {
		l.mu.Lock()
		current := l.next[namespace]
		if current == nil {
			delete(l.next, namespace)
			l.mu.Unlock()
			return
		}
		l.next[namespace] = nil
		l.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.Background(), listTimeout)
		current.err = poll.Safely(func() error { return l.list(ctx, namespace, current.wanted) })
		cancel()
		close(current.done)
		<-l.clock.After(listPause)
	}
}

func (l *eventLists) list(ctx context.Context, namespace string, wanted []*wantedEvents) error {
	token, seen := "", 0
	for {
		var page corev1.EventList
		if err := l.live.List(ctx, &page, client.InNamespace(namespace), client.Limit(eventPage), client.Continue(token)); err != nil {
			return err
		}
		for i := range page.Items {
			for _, w := range wanted {
				if w.about(&page.Items[i]) {
					w.add(page.Items[i])
				}
			}
		}
		seen += len(page.Items)
		if token = page.Continue; token == "" {
			return nil
		}
		if seen >= maxEvents {
			return errTooManyEvents
		}
	}
}

// add keeps an event, and drops old ones now and then.
func (w *wantedEvents) add(e corev1.Event) {
	w.found = append(w.found, e)
	if len(w.found) >= 2*keptEvents {
		slices.SortFunc(w.found, func(a, b corev1.Event) int {
			return cmp.Or(timeOf(&b).Compare(timeOf(&a)), cmp.Compare(a.Name, b.Name))
		})
		w.found = slices.Clone(w.found[:keptEvents])
	}
}
