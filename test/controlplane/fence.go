package controlplane

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// touchLabel has the number of a touch. It is not an annotation, because controllers copy those to children.
const touchLabel = "example.com/touched"

// looks records which touch of an object a controller has begun to process.
type looks struct {
	mu      sync.Mutex
	touched int
	last    map[string]int // by kind and name
}

func (l *looks) key(o client.Object) string { return fmt.Sprintf("%T %s", o, o.GetName()) }

func (l *looks) note(o client.Object) {
	touch, err := strconv.Atoi(o.GetLabels()[touchLabel])
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last[l.key(o)] = touch
}

func (l *looks) at(o client.Object, touch int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[l.key(o)] >= touch
}

func (l *looks) next() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.touched++
	return l.touched
}

// looking is the client of a controller that tests wait for.
type looking struct {
	client.Client
	looks *looks
}

func (c looking) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := c.Client.Get(ctx, key, o, opts...)
	if err == nil {
		c.looks.note(o)
	}
	return err
}

// Looking returns a client for a controller that Fence waits for. The controller must use it to read the objects that it reconciles.
func (w *World) Looking(c client.Client) client.Client { return looking{Client: c, looks: w.looks} }

// Fence returns when the controller with the client of Looking has reconciled an object twice, from the beginning to the end, and so has
// finished its reaction to the current object. Only the name of the object is needed. Reconciles of one object do not overlap, so each
// processed touch ends the reconcile before. A touch is a change of a label. changes are made with it, for a controller that ignores
// labels.
func (w *World) Fence(o client.Object, changes ...func()) {
	w.T.Helper()
	o.SetNamespace(w.Namespace)
	for range 3 {
		touch := w.looks.next()
		w.Eventually("a touch of "+o.GetName(), func() bool {
			if !w.Read(o) {
				w.T.Fatalf("there is no %s to touch", o.GetName())
			}
			labels := o.GetLabels()
			if labels == nil {
				labels = map[string]string{}
			}
			labels[touchLabel] = strconv.Itoa(touch)
			o.SetLabels(labels)
			for _, change := range changes {
				change()
			}
			return w.Client.Update(w.T.Context(), o) == nil
		})
		w.Eventually("a look at "+o.GetName(), func() bool { return w.looks.at(o, touch) })
	}
}

// Once waits for events about an object, and fails if one occurs more than once; see Fence.
func (w *World) Once(o client.Object, reasons ...string) {
	w.T.Helper()
	for _, reason := range reasons {
		w.Eventually("the event "+reason, func() bool { return len(w.Events(o.GetName(), reason)) > 0 })
	}
	w.Fence(o)
	for _, reason := range reasons {
		if notes := w.Events(o.GetName(), reason); len(notes) != 1 {
			w.T.Errorf("event %s came %d times: %v", reason, len(notes), notes)
		}
	}
}
