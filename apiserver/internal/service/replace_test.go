package service

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/pkg/validation/examples"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// oneCluster is a store that holds one cluster and takes every replacement.
type oneCluster struct {
	resource.Store
	now *store.Item
}

func (s oneCluster) Version(types.NamespacedName, string) *store.Item { return s.now }

func (s oneCluster) Replace(context.Context, *store.Object, *store.Item, store.WriteOptions) (*store.Item, error) {
	return s.now, nil
}

func stored(t *testing.T, rc *rayv1.RayCluster) *store.Item {
	t.Helper()
	data, err := json.Marshal(rc)
	if err != nil {
		t.Fatal(err)
	}
	item, err := store.ParseItem(data)
	if err != nil {
		t.Fatal(err)
	}
	return item
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
			tree, err := stored(t, rc).Tree()
			if err != nil {
				t.Fatal(err)
			}
			in := &raygatev2.RayCluster{}
			convert.FillKnown(in, tree)
			var warned []string
			r := resource.New(Clusters, resource.Options{In: func(string) (resource.Store, error) { return oneCluster{now: stored(t, old)}, nil }, Authorizer: authz.AllowAll{}, Warn: func(_ context.Context, text string) {
				warned = append(warned, text[len(text)-len("RC-034)"):len(text)-1])
			}})
			err = r.Replace(t.Context(), &raygatev2.ReplaceClusterRequest{Namespace: rc.Namespace, Name: rc.Name, Cluster: in}, &raygatev2.ReplaceClusterResponse{})
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
