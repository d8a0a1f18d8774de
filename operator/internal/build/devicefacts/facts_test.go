package devicefacts_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/devicefacts"
)

const ownsOfGroup = `{"f:spec":{"f:workerGroupSpecs":{"k:{\"groupName\":\"gpu\"}":{"f:rayStartParams":{%s}}}}}`

func entry(manager, fields string) metav1.ManagedFieldsEntry {
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "ray.io/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
}

// withFacts is a cluster with a group that has these parameters, of which the operator owns some.
func withFacts(params map[string]string, entries ...metav1.ManagedFieldsEntry) *rayv1.RayCluster {
	rc := raytest.RayCluster("ns/demo", raytest.Workers("cpu", 1), raytest.Workers("gpu", 1))
	rc.ResourceVersion, rc.ManagedFields = "7", entries
	rc.Spec.WorkerGroupSpecs[1].RayStartParams = params
	return rc
}

func gpus(n string) devicefacts.Facts {
	return devicefacts.Facts{{Group: "gpu", Field: devicefacts.StartParams, Name: "num-gpus"}: n}
}

// TestPatch: keys are set, changed and removed one by one, with a map that only the operator made, and for one version of the object.
func TestPatch(t *testing.T) {
	const (
		group   = "/spec/workerGroupSpecs/1/rayStartParams"
		version = ` replace /metadata/resourceVersion "7"`
	)
	mine := entry(devicefacts.Manager, fmt.Sprintf(ownsOfGroup, `"f:num-gpus":{}`))
	mineWithMap := entry(devicefacts.Manager, fmt.Sprintf(ownsOfGroup, `".":{},"f:num-gpus":{}`))
	user := entry("kubectl", fmt.Sprintf(ownsOfGroup, `"f:num-gpus":{}`))
	for name, tc := range map[string]struct {
		rc   *rayv1.RayCluster
		want devicefacts.Facts
		ops  string
	}{
		"nothing to store":             {withFacts(nil), nil, ""},
		"a key in a map":               {withFacts(map[string]string{"num-cpus": "1"}), gpus("1"), `add ` + group + `/num-gpus "1"` + version},
		"a key and its map":            {withFacts(nil), gpus("1"), `add ` + group + ` {} add ` + group + `/num-gpus "1"` + version},
		"stored already":               {withFacts(map[string]string{"num-gpus": "1"}, mine), gpus("1"), ""},
		"another number":               {withFacts(map[string]string{"num-gpus": "1"}, mine), gpus("2"), `add ` + group + `/num-gpus "2"` + version},
		"not needed any more":          {withFacts(map[string]string{"num-gpus": "1"}, mine), nil, `remove ` + group + `/num-gpus` + version},
		"nor its map":                  {withFacts(map[string]string{"num-gpus": "1"}, mineWithMap), nil, `remove ` + group + version},
		"its map has more":             {withFacts(map[string]string{"num-gpus": "1", "num-cpus": "1"}, mineWithMap), nil, `remove ` + group + `/num-gpus` + version},
		"the user's":                   {withFacts(map[string]string{"num-gpus": "8"}, user), gpus("1"), ""},
		"of both, which is the user's": {withFacts(map[string]string{"num-gpus": "1"}, user, mine), gpus("2"), `remove /metadata/managedFields/1` + version},
		"a group that is not there":    {withFacts(nil), devicefacts.Facts{{Group: "gone", Field: devicefacts.StartParams, Name: "x"}: "1"}, ""},
		"a name that needs escapes":    {withFacts(map[string]string{}), devicefacts.Facts{{Group: "gpu", Field: devicefacts.StartParams, Name: "a/b~c"}: "1"}, `add ` + group + `/a~1b~0c "1"` + version},
		"the head":                     {withFacts(nil), devicefacts.Facts{{Field: devicefacts.Resources, Name: "GPU"}: "1"}, `add /spec/headGroupSpec/resources {} add /spec/headGroupSpec/resources/GPU "1"` + version},
	} {
		t.Run(name, func(t *testing.T) {
			before := tc.rc.DeepCopy()
			body, err := devicefacts.Patch(tc.rc, tc.want)
			if err != nil {
				t.Fatal(err)
			}
			if got := shown(t, body); got != tc.ops {
				t.Errorf("patch\n%s\nwant\n%s", got, tc.ops)
			}
			if diff := cmp.Diff(before, tc.rc); diff != "" {
				t.Errorf("the cluster was changed:\n%s", diff)
			}
		})
	}
}

func shown(t *testing.T, body []byte) string {
	t.Helper()
	if body == nil {
		return ""
	}
	var ops []struct {
		Op, Path string
		Value    json.RawMessage
	}
	if err := json.Unmarshal(body, &ops); err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, op := range ops {
		parts = append(parts, strings.TrimSpace(op.Op+" "+op.Path+" "+string(op.Value)))
	}
	return strings.Join(parts, " ")
}

// TestStrip: what is left is what the user wrote.
func TestStrip(t *testing.T) {
	rc := withFacts(map[string]string{"num-gpus": "1", "num-cpus": "2"}, entry(devicefacts.Manager, fmt.Sprintf(ownsOfGroup, `"f:num-gpus":{}`)))
	devicefacts.Strip(rc)
	if diff := cmp.Diff(map[string]string{"num-cpus": "2"}, rc.Spec.WorkerGroupSpecs[1].RayStartParams); diff != "" || rc.ManagedFields != nil {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	rc = withFacts(map[string]string{"num-gpus": "1"}, entry(devicefacts.Manager, fmt.Sprintf(ownsOfGroup, `".":{},"f:num-gpus":{}`)))
	if devicefacts.Strip(rc); rc.Spec.WorkerGroupSpecs[1].RayStartParams != nil {
		t.Error("the map that the operator made is left")
	}
	rc = withFacts(map[string]string{"num-gpus": "8"}, entry("kubectl", fmt.Sprintf(ownsOfGroup, `"f:num-gpus":{}`)))
	if devicefacts.Strip(rc); rc.Spec.WorkerGroupSpecs[1].RayStartParams["num-gpus"] != "8" {
		t.Error("what the user wrote is gone")
	}
}

// TestKeepManagers: a cache keeps the managed fields of clusters with facts only.
func TestKeepManagers(t *testing.T) {
	rc := withFacts(nil, entry("kubectl", `{}`))
	if devicefacts.KeepManagers(rc); rc.ManagedFields != nil {
		t.Error("managed fields are kept that nobody looks at")
	}
	rc = withFacts(nil, entry("kubectl", `{}`), entry(devicefacts.Manager, `{"f:spec":{}}`))
	if devicefacts.KeepManagers(rc); len(rc.ManagedFields) != 2 {
		t.Error("managed fields are dropped that tell whose a key is")
	}
}

// FuzzFacts holds that no managed fields end in a panic, and that a patch is for a version.
func FuzzFacts(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(ownsOfGroup, `".":{},"f:num-gpus":{}`)), "num-gpus", "1")
	f.Add([]byte(`{"f:spec":{"f:workerGroupSpecs":{"k:{\"groupName\":1}":{"f:rayStartParams":{"f:x":{}}},"i:3":{},"v:\"a\"":{}},"f:headGroupSpec":{"f:resources":{"f:x":{}}}}}`), "x", "")
	f.Add([]byte(`[]`), "", "")
	f.Fuzz(func(t *testing.T, fields []byte, name, value string) {
		rc := withFacts(map[string]string{name: value}, entry("kubectl", string(fields)), entry(devicefacts.Manager, string(fields)), entry(devicefacts.Manager, string(fields)))
		after := withFacts(nil, entry(devicefacts.Manager, string(fields)))
		devicefacts.Restore(rc, after)
		body, err := devicefacts.Patch(rc, devicefacts.Facts{{Group: "gpu", Field: devicefacts.StartParams, Name: name}: value})
		if err != nil || body != nil && !strings.Contains(string(body), "/metadata/resourceVersion") {
			t.Errorf("patch %s, %v", body, err)
		}
		devicefacts.Shared(rc)
		devicefacts.Strip(rc)
	})
}
