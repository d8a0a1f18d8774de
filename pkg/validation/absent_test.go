package validation_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/raygate/raygate/pkg/validation"
)

func TestGroupsWithoutName(t *testing.T) {
	const groups = `{"workerGroupSpecs":[{"groupName":""},{},{"groupName":null},"odd",{"groupName":7}]}`
	for name, tc := range map[string]struct {
		json string
		want []string
	}{
		"RayCluster": {`{"spec":` + groups + `}`, []string{"spec.workerGroupSpecs[1].groupName", "spec.workerGroupSpecs[2].groupName"}},
		"RayJob": {`{"spec":{"rayClusterSpec":` + groups + `}}`,
			[]string{"spec.rayClusterSpec.workerGroupSpecs[1].groupName", "spec.rayClusterSpec.workerGroupSpecs[2].groupName"}},
		"RayService": {`{"spec":{"rayClusterConfig":` + groups + `}}`,
			[]string{"spec.rayClusterConfig.workerGroupSpecs[1].groupName", "spec.rayClusterConfig.workerGroupSpecs[2].groupName"}},
		"RayCronJob": {`{"spec":{"jobTemplate":{"rayClusterSpec":` + groups + `}}}`,
			[]string{"spec.jobTemplate.rayClusterSpec.workerGroupSpecs[1].groupName", "spec.jobTemplate.rayClusterSpec.workerGroupSpecs[2].groupName"}},
		"no spec":           {`{}`, nil},
		"a text for spec":   {`{"spec":"odd"}`, nil},
		"a text for a list": {`{"spec":{"workerGroupSpecs":"odd","jobTemplate":[]}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var tree map[string]any
			if err := json.Unmarshal([]byte(tc.json), &tree); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, v := range validation.Violations(validation.GroupsWithoutName(tree)) {
				if v.Rule != "RC-003" {
					t.Errorf("%s has the rule %s", v.Field, v.Rule)
				}
				got = append(got, v.Field)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}
