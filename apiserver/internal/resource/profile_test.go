package resource

import (
	"context"
	"errors"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/fieldmaskpb"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/encoding"
	"github.com/raygate/raygate/apiserver/internal/profile"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// locks are profiles by name. That of a name without one is unknown, or forbidden.
type locks map[string]string

func (l locks) Get(_ context.Context, namespace, name string) (*profile.Profile, error) {
	text, ok := l[name]
	if !ok {
		return nil, rpcstatus.BadField("metadata.labels[raygate.io/profile]", "unknown")
	}
	if text == "" {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, name, nil)
	}
	cm := &corev1.ConfigMap{Data: map[string]string{profile.Key: text}}
	cm.Name, cm.Namespace = name, namespace
	p, errs := profile.Parse(cm)
	return p, errs.ToAggregate()
}

func TestChangesKeepLockedFields(t *testing.T) {
	const small = "spec: {rayVersion: 2.60.0, workerGroupSpecs: [{groupName: gpu, maxReplicas: 4}]}\nlocked: [spec.rayVersion, 'spec.workerGroupSpecs[gpu].maxReplicas']"
	object := func(version string) string {
		return `{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"7","labels":{"raygate.io/profile":"small"}},"spec":{"rayVersion":"` + version + `",
			"headGroupSpec":{"template":{"spec":{"containers":[{"name":"ray-head","image":"rayproject/ray:2.60.0"}]}}},
			"workerGroupSpecs":[{"groupName":"gpu","replicas":1,"maxReplicas":4,"template":{"spec":{"containers":[{"name":"ray-worker","image":"rayproject/ray:2.60.0"}]}}}]}}`
	}
	type change func(*testing.T, *Resource) error
	update := func(body string, mask ...string) change {
		return func(t *testing.T, r *Resource) error {
			ctx := encoding.WithExchange(t.Context(), &encoding.Exchange{Tree: treeOf(t, body)})
			req := &raygatev2.UpdateClusterRequest{Namespace: "default", Name: "a", Cluster: &raygatev2.RayCluster{}, UpdateMask: &fieldmaskpb.FieldMask{Paths: mask}}
			return r.Update(ctx, req, &raygatev2.UpdateClusterResponse{})
		}
	}
	replace := func(t *testing.T, r *Resource) error {
		ctx := encoding.WithExchange(t.Context(), &encoding.Exchange{Tree: treeOf(t, strings.ReplaceAll(object("2.61.0"), `,"resourceVersion":"7"`, ""))})
		req := &raygatev2.ReplaceClusterRequest{Namespace: "default", Name: "a", Cluster: &raygatev2.RayCluster{}, AllowOverwrite: true}
		return r.Replace(ctx, req, &raygatev2.ReplaceClusterResponse{})
	}
	scale := func(replicas, most int32) change {
		return func(t *testing.T, r *Resource) error {
			req := &raygatev2.ScaleClusterRequest{Namespace: "default", Name: "a", Replicas: &replicas, MaxReplicas: &most}
			return r.Scale(t.Context(), req, &raygatev2.ScaleClusterResponse{})
		}
	}
	suspend := func(t *testing.T, r *Resource) error {
		return r.Suspend(t.Context(), &raygatev2.SuspendClusterRequest{Namespace: "default", Name: "a"}, &raygatev2.SuspendClusterResponse{})
	}
	for name, tc := range map[string]struct {
		version  string // of Ray in the stored object
		profiles locks
		do       change
		want     string // the field that is refused; empty for none
	}{
		"locked field":          {do: update(`{"spec": {"rayVersion": "2.61.0"}}`), want: "spec.rayVersion"},
		"removed field":         {do: update(`{}`, "spec.rayVersion"), want: "spec.rayVersion"},
		"other field":           {do: update(`{"spec": {"enableInTreeAutoscaling": true}}`)},
		"differed before":       {version: "2.59.0", do: update(`{"spec": {"enableInTreeAutoscaling": true}}`)},
		"differs more":          {version: "2.59.0", do: update(`{"spec": {"rayVersion": "2.61.0"}}`), want: "spec.rayVersion"},
		"back to the profile":   {version: "2.59.0", do: update(`{"spec": {"rayVersion": "2.60.0"}}`)},
		"size":                  {do: scale(2, 4)},
		"locked size":           {do: scale(2, 8), want: "spec.workerGroupSpecs[gpu].maxReplicas"},
		"replace":               {do: replace, want: "spec.rayVersion"},
		"profile is gone":       {profiles: locks{}, do: update(`{"spec": {"rayVersion": "2.61.0"}}`)},
		"profile is hidden":     {profiles: locks{"small": ""}, do: update(`{"spec": {"rayVersion": "2.61.0"}}`), want: "forbidden"},
		"suspend needs no look": {profiles: locks{"small": ""}, do: suspend},
		"unknown new profile":   {do: update(`{"metadata": {"labels": {"raygate.io/profile": "big"}}}`), want: "metadata.labels[raygate.io/profile]"},
	} {
		t.Run(name, func(t *testing.T) {
			version, profiles := tc.version, tc.profiles
			if version == "" {
				version = "2.60.0"
			}
			if profiles == nil {
				profiles = locks{"small": small}
			}
			item, err := store.ParseItem([]byte(object(version)))
			if err != nil {
				t.Fatal(err)
			}
			r := clusters(Options{In: only(&patched{item: item}), Authorizer: authz.AllowAll{}, Profiles: profiles})
			r.Cluster = []string{"spec"}
			err = tc.do(t, r)
			got := ""
			if invalid, ok := errors.AsType[*rpcstatus.InvalidError](err); ok {
				got = invalid.Violations[0].Field
			} else if apierrors.IsForbidden(err) {
				got = "forbidden"
			} else if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("want %q, got %q: %v", tc.want, got, err)
			}
		})
	}
}
