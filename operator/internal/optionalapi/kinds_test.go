package optionalapi

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/raygate/raygate/internal/testing/raytest"
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

func TestVersionIsAskedForAgain(t *testing.T) {
	s, c := &server{}, clocktesting.NewFakePassiveClock(raytest.Epoch.Time)
	k := NewFixed(s, nil, c)
	after := func(d time.Duration, err error) func() {
		return func() {
			c.SetTime(c.Now().Add(d))
			s.err = err
		}
	}
	away, absent := errors.New("connection refused"), error(&meta.NoKindMatchError{})
	type answer struct {
		Version string
		Unknown bool
		Asked   int
	}
	steps := []struct {
		what string
		do   func()
		want answer
	}{
		{"the server is away", after(0, away), answer{Unknown: true, Asked: 1}},
		{"and is left alone for a moment", after(errorFor-1, away), answer{Unknown: true, Asked: 1}},
		{"then asked again", after(1, away), answer{Unknown: true, Asked: 2}},
		{"the kind is not installed", after(errorFor, absent), answer{Asked: 3}},
		{"which holds for a while", after(AbsentFor-1, nil), answer{Asked: 3}},
		{"and is asked again", after(1, nil), answer{Version: "v1", Asked: 4}},
		{"what is there stays", after(time.Hour, away), answer{Version: "v1", Asked: 4}},
	}
	for _, step := range steps {
		step.do()
		version, err := k.Version(kind.GroupKind(), "v1")
		if diff := cmp.Diff(step.want, answer{version, err != nil, s.asked}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.what, diff)
		}
	}
	if version, err := (*Kinds)(nil).Version(kind.GroupKind(), "v1"); version != "" || err != nil {
		t.Errorf("no Kinds serve %q, %v", version, err)
	}
}

// versions serves some versions of each kind.
type versions struct {
	meta.RESTMapper
	served map[string]error // nil for served; a version that is missing is absent
}

func (v versions) RESTMapping(gk schema.GroupKind, version ...string) (*meta.RESTMapping, error) {
	err, known := v.served[version[0]]
	if !known {
		err = &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: version}
	}
	return &meta.RESTMapping{}, err
}

func TestFirstVersionThatIsServed(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{}, "")
	cases := map[string]struct {
		served  map[string]error
		want    string
		wantErr bool
	}{
		"both":                        {served: map[string]error{"v2": nil, "v1": nil}, want: "v2"},
		"the old one":                 {served: map[string]error{"v1": nil}, want: "v1"},
		"the old one, group is known": {served: map[string]error{"v2": gone, "v1": nil}, want: "v1"},
		"neither":                     {},
		// The old one might be made, and the new one found later: two objects in two versions of one kind.
		"nobody knows of the new one": {served: map[string]error{"v2": errors.New("503"), "v1": nil}, wantErr: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			k := NewFixed(versions{served: tc.served}, nil, clocktesting.NewFakePassiveClock(raytest.Epoch.Time))
			got, err := k.Version(kind.GroupKind(), "v2", "v1")
			if got != tc.want || (err != nil) != tc.wantErr {
				t.Errorf("version %q, %v, want %q, error %t", got, err, tc.want, tc.wantErr)
			}
		})
	}
}

// hanging is a server that does not answer about one kind within the limit of a request.
type hanging struct {
	meta.RESTMapper
	kind string
}

func (h hanging) RESTMapping(gk schema.GroupKind, _ ...string) (*meta.RESTMapping, error) {
	if gk.Kind == h.kind {
		time.Sleep(RequestLimit)
		return nil, context.DeadlineExceeded
	}
	return &meta.RESTMapping{}, nil
}

func TestHangingServerHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := NewFixed(hanging{kind: "Thing"}, nil, clock.RealClock{})
		begin := time.Now()
		hangs := make(chan error)
		ask := func(kind string) error {
			_, err := k.Version(schema.GroupKind{Kind: kind}, "v1")
			return err
		}
		go func() { hangs <- ask("Thing") }()
		synctest.Wait()
		if err := ask("Other"); err != nil || time.Since(begin) > 0 {
			t.Errorf("another kind: %v, after %s", err, time.Since(begin))
		}
		if err := <-hangs; err == nil || time.Since(begin) != RequestLimit {
			t.Errorf("error %v after %s, want one after the limit", err, time.Since(begin))
		}
		if err := ask("Thing"); err == nil || time.Since(begin) != RequestLimit {
			t.Errorf("error %v after %s of the next caller, want that of the first at once", err, time.Since(begin))
		}
	})
}
