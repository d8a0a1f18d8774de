package convert_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/pkg/manifest"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

func TestTree(t *testing.T) {
	m := &raygatev2.RayCluster{
		Metadata: &raygatev2.ObjectMeta{Generation: 1 << 60, Labels: map[string]string{"b": "x", "a": "\u2028"}},
		Spec:     &raygatev2.RayClusterSpec{Suspend: new(false), RayVersion: "yes"},
		Status: &raygatev2.RayClusterStatus{
			DesiredCpu:     "8",
			LastUpdateTime: &timestamppb.Timestamp{Seconds: 1769860800},
			Conditions:     []*raygatev2.Condition{{Type: "Ready"}},
		},
	}
	want := map[string]any{
		"metadata": map[string]any{"generation": int64(1 << 60), "labels": map[string]any{"a": "\u2028", "b": "x"}},
		"spec":     map[string]any{"rayVersion": "yes", "suspend": false},
		"status": map[string]any{
			"desiredCPU": "8", "lastUpdateTime": "2026-01-31T12:00:00Z",
			"conditions": []any{map[string]any{"type": "Ready", "status": "", "reason": "", "message": ""}},
		},
	}
	if diff := cmp.Diff(want, convert.Tree(m)); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

// Values that a message can hold and JSON cannot become text, so that a reader finds the problem at its path.
func TestTreeOfWhatJSONDoesNotHave(t *testing.T) {
	nan := &structpb.Struct{Fields: map[string]*structpb.Value{"spec": structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
		"terminationGracePeriodSeconds": structpb.NewNumberValue(math.NaN()),
	}})}}
	for want, tc := range map[string]struct {
		kind    int
		message proto.Message
	}{
		"spec.headGroupSpec.template.spec.terminationGracePeriodSeconds": {0, &raygatev2.RayCluster{Spec: &raygatev2.RayClusterSpec{HeadGroupSpec: &raygatev2.HeadGroupSpec{Template: nan}}}},
		"spec.entrypointNumCpus":     {1, &raygatev2.RayJob{Spec: &raygatev2.RayJobSpec{EntrypointNumCpus: float32(math.Inf(1))}}},
		"status.lastUpdateTime":      {0, &raygatev2.RayCluster{Status: &raygatev2.RayClusterStatus{LastUpdateTime: &timestamppb.Timestamp{Seconds: math.MaxInt64}}}},
		"metadata.deletionTimestamp": {0, &raygatev2.RayCluster{Metadata: &raygatev2.ObjectMeta{DeletionTimestamp: &timestamppb.Timestamp{Seconds: math.MinInt64}}}},
	} {
		tree := convert.Tree(tc.message)
		if _, err := json.Marshal(tree); err != nil {
			t.Errorf("%s: %v", want, err)
		}
		errs := manifest.Decode(tree, kinds[tc.kind].object(), nil)
		if len(errs) != 1 || errs[0].Field != want {
			t.Errorf("%s: the mistakes are %v", want, errs)
		}
	}
}
