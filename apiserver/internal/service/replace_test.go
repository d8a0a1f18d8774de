package service

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	modelv2 "github.com/raygate/raygate/apiserver/internal/model/v2"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/validation/examples"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// oneCluster is a store that holds one cluster and takes every replacement that passes the check.
type oneCluster struct {
	ClusterStore
	now *rayv1.RayCluster
}

func (s oneCluster) Replace(_ context.Context, rc *rayv1.RayCluster, o store.ReplaceOptions) (*Cluster, error) {
	if err := o.Check(s.now); err != nil {
		return nil, err
	}
	return &Cluster{Object: rc}, nil
}

// A cluster from before a rule can be scaled, and does not get worse; what must not change does not change.
func TestReplaceJudgesTheChange(t *testing.T) {
	old := examples.Base()
	old.ResourceVersion = "1"
	old.Spec.ManagedBy = new(rayv1.ManagedByKubeRayOperator)
	old.Spec.HeadGroupSpec.Resources = map[string]string{"CPU": "1"}
	old.Spec.HeadGroupSpec.RayStartParams = map[string]string{"num-cpus": "1"}
	for name, tc := range map[string]struct {
		change                   func(*rayv1.RayCluster)
		wantRefused, wantWarning []string
	}{
		"scaled":           {change: func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].Replicas = new(int32(2)) }, wantWarning: []string{"RC-034"}},
		"nothing":          {change: func(*rayv1.RayCluster) {}},
		"worse":            {change: func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].MinReplicas = new(int32(9)) }, wantRefused: []string{"spec.workerGroupSpecs[0].minReplicas"}},
		"another manager":  {change: func(rc *rayv1.RayCluster) { rc.Spec.ManagedBy = new("kueue.x-k8s.io/multikueue") }, wantRefused: []string{"spec.managedBy"}},
		"wrong as it was":  {change: func(rc *rayv1.RayCluster) { rc.Labels = map[string]string{"team": "ray"} }, wantWarning: []string{"RC-034"}},
		"the wrong change": {change: func(rc *rayv1.RayCluster) { rc.Spec.HeadGroupSpec.Resources["CPU"] = "2" }, wantRefused: []string{"spec.headGroupSpec.resources"}},
	} {
		t.Run(name, func(t *testing.T) {
			rc := old.DeepCopy()
			tc.change(rc)
			in, err := modelv2.ClusterFromRay(rc)
			if err != nil {
				t.Fatal(err)
			}
			var warned []string
			s := NewClusters(ClusterOptions{Store: oneCluster{now: old}, Warn: func(_ context.Context, text string) {
				warned = append(warned, text[len(text)-len("RC-034)"):len(text)-1])
			}})
			_, err = s.ReplaceCluster(t.Context(), &raygatev2.ReplaceClusterRequest{Namespace: rc.Namespace, Name: rc.Name, Cluster: in})
			var refused []string
			if invalid := (*rpcstatus.InvalidError)(nil); errors.As(err, &invalid) {
				for _, v := range invalid.Violations {
					refused = append(refused, v.Field)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.wantRefused, refused); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantWarning, warned); diff != "" {
				t.Errorf("warned (-want +got):\n%s", diff)
			}
		})
	}
}
