package convert_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	kjson "sigs.k8s.io/json"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/clients/go/convert"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

func TestNothingBecomesNothing(t *testing.T) {
	m, err := convert.RayJob.Message(nil)
	if m != nil || err != nil {
		t.Errorf("message of nil: %v, %v", m, err)
	}
	o, err := convert.RayJob.Object(nil)
	if o != nil || err != nil {
		t.Errorf("object of nil: %v, %v", o, err)
	}
}

func TestKindIsFilledIn(t *testing.T) {
	m, err := convert.RayCronJob.Message(&rayv1.RayCronJob{})
	if err != nil || m.GetKind() != "RayCronJob" || m.GetApiVersion() != "ray.io/v1" {
		t.Errorf("message %v, %v", m, err)
	}
	o, err := convert.RayCronJob.Object(&raygatev2.RayCronJob{})
	if err != nil || o.Kind != "RayCronJob" || o.APIVersion != "ray.io/v1" {
		t.Errorf("object %v, %v", o, err)
	}
}

func TestMistakesHavePaths(t *testing.T) {
	template, err := structpb.NewStruct(map[string]any{"spec": map[string]any{"ofTheFuture": []any{}, "nodeName": 5, "hostNetwork": "yes"}})
	if err != nil {
		t.Fatal(err)
	}
	m := &raygatev2.RayCluster{Spec: &raygatev2.RayClusterSpec{HeadGroupSpec: &raygatev2.HeadGroupSpec{Template: template}}}
	_, err = convert.RayCluster.Object(m)
	for _, want := range []string{"spec.headGroupSpec.template.spec.nodeName:", "spec.headGroupSpec.template.spec.hostNetwork:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
	spec := template.GetFields()["spec"].GetStructValue().GetFields()
	delete(spec, "nodeName")
	delete(spec, "hostNetwork")
	if _, err := convert.RayCluster.Object(m); err != nil {
		t.Errorf("a field of a newer Kubernetes: %v", err)
	}
}

func TestFillNamesWhatDoesNotFit(t *testing.T) {
	tests := map[string]string{
		`{"spec":5}`: "spec: 5 is not an object",
		`{"spec":{"workerGroupSpecs":[{},{"replicas":3000000000}]}}`:        "spec.workerGroupSpecs[1].replicas: 3000000000 is not a 32-bit integer",
		`{"spec":{"workerGroupSpecs":[{"replicas":1.5}]}}`:                  "spec.workerGroupSpecs[0].replicas: 1.5 is not a 32-bit integer",
		`{"spec":{"workerGroupSpecs":{}}}`:                                  "spec.workerGroupSpecs: map[] is not a list",
		`{"metadata":{"labels":{"a":true}}}`:                                "metadata.labels[a]: true is not a string",
		`{"metadata":{"labels":[]}}`:                                        "metadata.labels: [] is not an object",
		`{"metadata":{"creationTimestamp":"noon"}}`:                         "metadata.creationTimestamp: noon is not a time in RFC 3339",
		`{"metadata":{"generation":"1"}}`:                                   "metadata.generation: 1 is not an integer",
		`{"spec":{"suspend":"yes"}}`:                                        "spec.suspend: yes is not a boolean",
		`{"spec":null,"new":{"a":1},"metadata":{"name":"a","labels":null}}`: "",
	}
	for document, want := range tests {
		var tree map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts([]byte(document), &tree); err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := convert.Fill(&raygatev2.RayCluster{}, tree); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", document, got, want)
		}
	}
}

// FuzzTree: any message of a kind, from any bytes, has JSON that fills an equal message.
func FuzzTree(f *testing.F) {
	// A small seed: large ones keep the fuzzer busy shrinking them.
	data, err := proto.Marshal(&raygatev2.RayJob{Spec: &raygatev2.RayJobSpec{Entrypoint: "true", EntrypointNumCpus: 0.1, BackoffLimit: new(int32(0))}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &raygatev2.RayJob{}
		if proto.Unmarshal(data, m) != nil {
			return
		}
		printed, err := json.Marshal(convert.Tree(m))
		if err != nil {
			t.Fatal(err)
		}
		var tree map[string]any
		if err := kjson.UnmarshalCaseSensitivePreserveInts(printed, &tree); err != nil {
			t.Fatal(err)
		}
		first, second := &raygatev2.RayJob{}, &raygatev2.RayJob{}
		if convert.Fill(first, tree) != nil {
			return // a number that JSON does not have, or a time out of range
		}
		if err := convert.Fill(second, convert.Tree(first)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, second, protocmp.Transform()); diff != "" {
			t.Errorf("message (-first +second):\n%s", diff)
		}
	})
}
