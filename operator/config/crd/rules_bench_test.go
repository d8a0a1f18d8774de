package crd_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"

	"github.com/raygate/raygate/pkg/validation/examples"
)

// BenchmarkRules is what the CEL rules of a CRD cost in the API server at a create, at an update and at a write of the status of a good object,
// without everything else that a write costs (BenchmarkRayClusterWrites in test/verdicts).
func BenchmarkRules(b *testing.B) {
	for plural, object := range map[string]any{"rayclusters": examples.Base(), "rayjobs": examples.BaseJob(), "rayservices": examples.BaseService(), "raycronjobs": examples.BaseCronJob()} {
		c := checkerFor(b, plural)
		raw, err := json.Marshal(object)
		if err != nil {
			b.Fatal(err)
		}
		before := map[string]any{}
		if err := utiljson.Unmarshal(raw, &before); err != nil {
			b.Fatal(err)
		}
		after := runtime.DeepCopyJSON(before)
		after["spec"].(map[string]any)["suspend"] = true
		b.Run(plural+"/create", func(b *testing.B) {
			for b.Loop() {
				if errs, _ := c.rules.Validate(b.Context(), nil, c.structural, before, nil, celconfig.RuntimeCELCostBudget); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
		})
		status := runtime.DeepCopyJSON(before)
		status["status"] = map[string]any{changing[plural]: "2026-01-01T00:00:01Z"}
		for name, after := range map[string]map[string]any{"update": after, "status": status} {
			b.Run(plural+"/"+name, func(b *testing.B) {
				for b.Loop() {
					correlated := common.NewCorrelatedObject(after, before, &model.Structural{Structural: c.structural})
					if errs, _ := c.rules.Validate(b.Context(), nil, c.structural, after, before, celconfig.RuntimeCELCostBudget, cel.WithRatcheting(correlated)); len(errs) > 0 {
						b.Fatal(errs)
					}
				}
			})
		}
	}
}

// changing is a time in the status that writes of the status change.
var changing = map[string]string{"rayclusters": "lastUpdateTime", "rayservices": "lastUpdateTime", "rayjobs": "startTime", "raycronjobs": "lastScheduleTime"}
