package realray

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/programs"
)

// A cluster on which nothing runs is suspended, and resumed for a job that is submitted to it.
func TestIdleClusterIsWoken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rc := w.cluster("demo", 1, func(rc *rayv1.RayCluster) {
		rc.Annotations = map[string]string{rayv1.AnnotationIdleTimeout: "20s"}
	})
	w.ready(rc)
	w.eventually("the idle cluster is suspended", func(ctx context.Context) error {
		if err := product.client.Get(ctx, client.ObjectKeyFromObject(rc), rc); err != nil {
			return err
		}
		if rc.Status.State != rayv1.ClusterStateSuspended || !meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterExpired) || len(w.pods("demo", rayv1.HeadNode)) > 0 {
			return fmt.Errorf("state %q: %+v", rc.Status.State, rc.Status.Conditions)
		}
		return nil
	})
	cmd := exec.CommandContext(t.Context(), programs.Binary("raygate"), "submit", "--cluster", "demo", "-n", w.ns, "--server", product.grpc, "--", hello)
	var out, progress strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &progress
	err := cmd.Run()
	if err != nil || !strings.Contains(out.String(), "says hello 49") || !strings.Contains(progress.String(), "Resumed raycluster/demo") {
		t.Errorf("%v: %s\n%s", err, out.String(), progress.String())
	}
}
