package resource

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/encoding"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/manifest"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// patched is a store of one object that keeps the patch that it gets.
type patched struct {
	Store
	item  *store.Item
	patch map[string]any
}

func (p *patched) Read(context.Context, types.NamespacedName) (*store.Item, error) {
	return p.item, nil
}

func (p *patched) Patch(_ context.Context, _ types.NamespacedName, patch map[string]any, _ store.PatchOptions) (*store.Item, error) {
	p.patch = patch
	return p.item, nil
}

// update changes the stored object by REST and returns the patch, or the description of what is wrong with the mask.
func update(t *testing.T, body, mask string) (patch map[string]any, problem string) {
	t.Helper()
	item, err := store.ParseItem([]byte(`{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"7","finalizers":["ray.io/gcs-ft-redis"],
		"ownerReferences":[{"apiVersion":"ray.io/v1","kind":"RayJob","name":"j","uid":"j"}],"labels":{"app.kubernetes.io/name":"x","team":"a"}},
		"spec":{"rayVersion":"2.46.0","headGroupSpec":{"rayStartParams":{"num-cpus":"1"},"template":{"metadata":{"labels":{"a.b/c":"d"}},"spec":{"containers":[{"name":"ray-head","image":"rayproject/ray:2.46.0"}]}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	p := &patched{item: item}
	r := clusters(Options{In: only(p), Authorizer: authz.AllowAll{}})
	ctx := encoding.WithExchange(t.Context(), &encoding.Exchange{Tree: treeOf(t, body)})
	err = r.Update(ctx, &raygatev2.UpdateClusterRequest{Namespace: "default", Name: "a", Cluster: &raygatev2.RayCluster{}, UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{mask}}}, &raygatev2.UpdateClusterResponse{})
	if invalid, ok := errors.AsType[*rpcstatus.InvalidError](err); ok && invalid.Violations[0].Field == "update_mask" {
		return nil, invalid.Violations[0].Description
	}
	if err != nil {
		t.Fatal(err)
	}
	delete(manifest.Nested(p.patch, "metadata"), "resourceVersion")
	return p.patch, ""
}

// A path of a mask means the key of a map that is there, dots or not, and one that means nothing is an error.
func TestMasksMeanSomething(t *testing.T) {
	const template = "spec.headGroupSpec.template."
	for _, tc := range []struct{ mask, body, patch, problem string }{
		{"metadata.labels.app.kubernetes.io/name", `{"metadata":{"labels":{"app.kubernetes.io/name":"y"}}}`, `{"metadata":{"labels":{"app.kubernetes.io/name":"y"}}}`, ""},
		{"metadata.labels.app.kubernetes.io/name", `{}`, `{"metadata":{"labels":{"app.kubernetes.io/name":null}}}`, ""},
		{"metadata.labels.new.key", `{"metadata":{"labels":{"new.key":"y","team":"b"}}}`, `{"metadata":{"labels":{"new.key":"y"}}}`, ""},
		{"metadata.annotations.new", `{"metadata":{"annotations":{"new":"y"}}}`, `{"metadata":{"annotations":{"new":"y"}}}`, ""},
		{template + "metadata.labels.a.b/c", `{"spec":{"headGroupSpec":{"template":{"metadata":{"labels":{"a.b/c":"e"}}}}}}`, `{"metadata":{},"spec":{"headGroupSpec":{"template":{"metadata":{"labels":{"a.b/c":"e"}}}}}}`, ""},
		{"spec.suspend", `{}`, `{"metadata":{}}`, ""}, // a field, which is unset already
		{"spec.autoscalerOptions.idleTimeoutSeconds", `{}`, `{"metadata":{}}`, ""},
		{"metadata.labels.teem", `{}`, "", "metadata.labels.teem"},
		{"metadata.labels.team.x", `{}`, "", "metadata.labels.team.x"},
		{"metadata.annotations.a", `{}`, "", "metadata.annotations.a"},
		{template + "spec.containers.image", `{"spec":{"headGroupSpec":{"template":{"spec":{"containers":[{"image":"x"}]}}}}}`, "", template + "spec.containers.image"},
		{template + "spec.nodeSelectr", `{"spec":{"headGroupSpec":{"template":{"spec":{"nodeSelector":{"a":"b"}}}}}}`, "", template + "spec.nodeSelectr"},
		{"spec.rayVersion.x", `{"spec":{"rayVersion":"2.47.0"}}`, "", "spec.rayVersion.x"},
	} {
		patch, problem := update(t, tc.body, tc.mask)
		if tc.problem != "" {
			if !strings.HasPrefix(problem, tc.problem+":") {
				t.Errorf("%s %s: %v %q, want an error that names the path", tc.mask, tc.body, patch, problem)
			}
			continue
		}
		if diff := cmp.Diff(treeOf(t, tc.patch), patch); problem != "" || diff != "" {
			t.Errorf("%s %s: %s (-want +got):\n%s", tc.mask, tc.body, problem, diff)
		}
	}
}

// An update of everything leaves finalizers and owners alone, as a replacement does, unless the body names them or carries the version that it was read with.
func TestMaskOfEverythingKeepsFinalizersAndOwners(t *testing.T) {
	const spec = `"spec":{"rayVersion":"2.46.0","headGroupSpec":{"rayStartParams":{"num-cpus":"1"},"template":{"metadata":{"labels":{"a.b/c":"d"}},"spec":{"containers":[{"name":"ray-head","image":"rayproject/ray:2.46.0"}]}}}}`
	for _, tc := range []struct{ metadata, patch string }{
		{`{"labels":{"team":"b"}}`, `{"metadata":{"labels":{"team":"b","app.kubernetes.io/name":null}}}`},
		{`{"labels":{"app.kubernetes.io/name":"x","team":"a"},"finalizers":["other"]}`, `{"metadata":{"finalizers":["other"]}}`},
		{`{"labels":{"app.kubernetes.io/name":"x","team":"a"},"resourceVersion":"7"}`, `{"metadata":{"finalizers":null,"ownerReferences":null}}`},
	} {
		patch, problem := update(t, `{"metadata":`+tc.metadata+`,`+spec+`}`, "*")
		if diff := cmp.Diff(treeOf(t, tc.patch), patch); problem != "" || diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", tc.metadata, problem, diff)
		}
	}
}
