package reconcile_test

import (
	"context"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// server gives each object that is written the next version.
type server struct {
	client.Client
	version int
}

func (s *server) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.PatchOption) error {
	s.version++
	o.SetResourceVersion(strconv.Itoa(s.version))
	return nil
}

func (s *server) Status() client.SubResourceWriter { return statusOf{server: s} }

type statusOf struct {
	client.SubResourceWriter
	server *server
}

func (s statusOf) Update(ctx context.Context, o client.Object, _ ...client.SubResourceUpdateOption) error {
	return s.server.Patch(ctx, o, nil)
}

// TestVersionsOfOneReconcileAreStale: a reconcile that sets the finalizer and saves the status makes two versions, and the cache shows the first
// of them next.
func TestVersionsOfOneReconcileAreStale(t *testing.T) {
	s, v := &server{version: 9}, reconcile.NewVersions(clocktesting.NewFakePassiveClock(raytest.Epoch.Time))
	before := object("a", "9")
	after := before.DeepCopy()
	if saved, err := v.SetFinalizer(t.Context(), s, after, "example.com/f", true); err != nil || !saved {
		t.Fatalf("setting the finalizer: %t, %v", saved, err)
	}
	if saved, _, err := v.SaveStatus(t.Context(), s, before, after); err != nil || !saved {
		t.Fatalf("saving the status: %t, %v", saved, err)
	}
	for i, want := range []bool{false, false, true} {
		version := strconv.Itoa(9 + i)
		fresh, err := v.Read(t.Context(), &cache{answer: object("a", version)}, client.ObjectKeyFromObject(before), &corev1.ConfigMap{})
		if err != nil || fresh != want {
			t.Errorf("version %s: fresh %t, %v; want %t", version, fresh, err, want)
		}
	}
}
