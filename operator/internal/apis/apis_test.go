package apis

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/raygate/raygate/test/raytest"
)

var kind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

// server answers like the API server does about a kind.
type server struct {
	meta.RESTMapper
	err   error
	asked int
}

func (s *server) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	s.asked++
	return &meta.RESTMapping{}, s.err
}

func TestServed(t *testing.T) {
	s, c := &server{}, clocktesting.NewFakePassiveClock(raytest.Epoch.Time)
	k := NewFixed(s, nil, c)
	type answer struct {
		Served, Unknown bool
		Asked           int
	}
	steps := []struct {
		what string
		do   func()
		want answer
	}{
		{"the server is away", func() { s.err = errors.New("connection refused") }, answer{Unknown: true, Asked: 1}},
		{"which is not remembered", func() {}, answer{Unknown: true, Asked: 2}},
		{"the kind is not installed", func() { s.err = &meta.NoKindMatchError{} }, answer{Asked: 3}},
		{"which is believed for a while", func() { s.err = nil }, answer{Asked: 3}},
		{"and then asked again", func() { c.SetTime(c.Now().Add(AbsentFor)) }, answer{Served: true, Asked: 4}},
		{"what is there stays", func() { s.err = errors.New("connection refused") }, answer{Served: true, Asked: 4}},
	}
	for _, step := range steps {
		step.do()
		served, err := k.Served(kind)
		if diff := cmp.Diff(step.want, answer{served, err != nil, s.asked}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
	if served, err := (*Kinds)(nil).Served(kind); served || err != nil {
		t.Errorf("no Kinds serve %t, %v", served, err)
	}
}

func TestWatchesStartOnce(t *testing.T) {
	s := &server{err: &meta.NoKindMatchError{}}
	c := clocktesting.NewFakePassiveClock(raytest.Epoch.Time)
	started, broken := 0, errors.New("no cache")
	w := &Watches{Kinds: NewFixed(s, nil, c), Start: func(schema.GroupVersionKind) error {
		started++
		return broken
	}}
	if ready, err := w.Ready(kind); ready || err != nil || started != 0 {
		t.Errorf("ready %t, %v, started %d times; want nothing of a kind that is not there", ready, err, started)
	}
	s.err = nil
	c.SetTime(c.Now().Add(AbsentFor))
	if ready, err := w.Ready(kind); ready || !errors.Is(err, broken) {
		t.Errorf("ready %t, %v; want the error of the watch", ready, err)
	}
	broken = nil
	for range 3 {
		if ready, err := w.Ready(kind); !ready || err != nil || started != 2 {
			t.Errorf("ready %t, %v, started %d times; want one more", ready, err, started)
		}
	}
}
