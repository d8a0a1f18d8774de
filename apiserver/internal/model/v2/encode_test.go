package v2_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	modelv2 "github.com/raygate/raygate/apiserver/internal/model/v2"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

func TestAppendJSON(t *testing.T) {
	m := &raygatev2.RayCluster{
		Metadata: &raygatev2.ObjectMeta{Generation: 1 << 60, Labels: map[string]string{"b": "<&>", "a": "\u2028\x01\xff"}},
		Spec:     &raygatev2.RayClusterSpec{Suspend: new(false), RayVersion: "yes"},
		Status: &raygatev2.RayClusterStatus{
			DesiredCpu:     "8",
			LastUpdateTime: &timestamppb.Timestamp{Seconds: 1769860800},
			Conditions:     []*raygatev2.Condition{{Type: "Ready"}},
		},
	}
	want := `{"metadata":{"generation":1152921504606846976,"labels":{"a":"\u2028\u0001\ufffd","b":"<&>"}},"spec":{"rayVersion":"yes","suspend":false},` +
		`"status":{"desiredCPU":"8","lastUpdateTime":"2026-01-31T12:00:00Z","conditions":[{"type":"Ready","status":"","reason":"","message":""}]}}`
	got, err := modelv2.AppendJSON(nil, m)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("JSON (-want +got):\n%s", diff)
	}
	for name, m := range map[string]proto.Message{
		"a number that JSON does not have":   &raygatev2.HeadGroupSpec{Template: &structpb.Struct{Fields: map[string]*structpb.Value{"a": structpb.NewNumberValue(math.NaN())}}},
		"a fraction that JSON does not have": &raygatev2.RayJobSpec{EntrypointNumCpus: float32(math.Inf(1))},
		"a time out of range":                &raygatev2.RayClusterStatus{LastUpdateTime: &timestamppb.Timestamp{Seconds: math.MaxInt64}},
	} {
		if got, err := modelv2.AppendJSON(nil, m); err == nil {
			t.Errorf("%s becomes %s", name, got)
		}
	}
}
