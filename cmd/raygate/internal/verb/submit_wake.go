package verb

import (
	"context"
	"errors"
	"slices"
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	raygate "github.com/raygate/raygate/clients/go"
	"github.com/raygate/raygate/cmd/raygate/internal/kind"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// wakeLimit bounds how long a resumed cluster may take until it is ready.
const wakeLimit = 10 * time.Minute

// wake resumes the cluster of the job if its annotations have suspended it, and waits until it is ready. It reports whether to go on. A
// cluster that cannot be read is left to the submission, which reports the error.
func (c *submitCommand) wake(ctx context.Context, s *session) bool {
	clusters, _ := kind.OfObject(raygate.ClusterKind.Name)
	bounded, cancel := s.bounded(ctx)
	defer cancel()
	found, err := s.of(clusters).Get(bounded, c.cluster)
	if err != nil {
		return true
	}
	rc, _ := found.(*raygatev2.RayCluster)
	if !rc.GetSpec().GetSuspend() || !slices.ContainsFunc(rc.GetStatus().GetConditions(), func(one *raygatev2.Condition) bool {
		return one.GetType() == rayv1.RayClusterExpired && one.GetStatus() == "True"
	}) {
		return true
	}
	t := target{Ref: kind.Ref{Kind: clusters, Name: c.cluster}, namespace: s.namespace}
	if c.noWake {
		s.fail(t.String(), errors.New("it is suspended because it was idle or old, or by its schedule; resume it, or leave out --no-wake"), ExitNotRun)
		return false
	}
	if _, err := s.of(clusters).Resume(bounded, c.cluster, raygate.WriteOptions{}); err != nil {
		s.fail("resuming "+t.String(), err, ExitNotRun)
		return false
	}
	s.progress.Note("Resumed " + t.String() + ", which was suspended because it was idle or old, or by its schedule.")
	if err := newWaiter(s, waitLimit{wakeLimit}).quietly(ctx, t, clusters.Ready); err != nil {
		s.fail("waiting for "+t.String(), err, ExitNotRun)
		return false
	}
	return true
}
