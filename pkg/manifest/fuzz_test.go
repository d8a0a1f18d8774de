package manifest

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	kjson "sigs.k8s.io/json"
)

// FuzzDecode reads whatever is JSON: no panic, every mistake says what is wrong, and an object without one survives the way
// to the wire and back.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`,
		`{"metadata":{"labels":{"a":null,"b":1},"creationTimestamp":"2026-01-01T00:00:00Z"}}`,
		`{"spec":{"containers":[{"name":"a","image":"b","ports":[{"containerPort":80}],"resources":{"limits":{"cpu":"1e-999999999","memory":2}}}]}}`,
		`{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":"http"}}},null,7],"terminationGracePeriodSeconds":9223372036854775807}}`,
		`{"spec":{"volumes":[{"name":"v","emptyDir":{"sizeLimit":"1Gi"}}],"activeDeadlineSeconds":1.5,"Containers":[]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var tree map[string]any
		if kjson.UnmarshalCaseSensitivePreserveInts(data, &tree) != nil {
			return
		}
		var first, second corev1.PodTemplateSpec
		if errs := Decode(tree, &first, nil); len(errs) > 0 {
			for _, err := range errs {
				if err.Detail == "" || err.Origin == "" {
					t.Errorf("mistake %+v says nothing", err)
				}
			}
			return
		}
		wire, err := json.Marshal(&first)
		if err != nil {
			t.Fatalf("encoding: %v", err)
		}
		again, errs := Read(wire, false)
		if errs = append(errs, Decode(again, &second, nil)...); len(errs) > 0 {
			t.Fatalf("decoding what was encoded: %v", errs.ToAggregate())
		}
		if !equality.Semantic.DeepEqual(first, second) {
			t.Errorf("the object changed:\n%+v\n%+v", first, second)
		}
	})
}
