package crd_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/raygate/raygate/pkg/validation/examples"
)

var idInMessage = regexp.MustCompile(`[A-Z]{2}-\d{3}`)

// BenchmarkRuleAlone is what each CEL rule of RayCluster costs by itself at a create of a good object. Allocations do not depend on what else
// the machine does: `go test -run '^$' -bench RuleAlone -benchtime 20x -benchmem ./operator/config/crd | sort -k7 -n` ranks the rules.
func BenchmarkRuleAlone(b *testing.B) {
	structural := checkerFor(b, "rayclusters").structural
	raw, err := json.Marshal(examples.Base())
	if err != nil {
		b.Fatal(err)
	}
	object := map[string]any{}
	if err := utiljson.Unmarshal(raw, &object); err != nil {
		b.Fatal(err)
	}
	var messages []string
	onlyRules(structural, func(message string) bool {
		messages = append(messages, message)
		return false
	})
	for i, message := range messages {
		b.Run(fmt.Sprintf("%s/%d", idInMessage.FindString(message), i), func(b *testing.B) {
			seen := -1
			alone := onlyRules(structural, func(string) bool {
				seen++
				return seen == i
			})
			rules := cel.NewValidator(alone, true, celconfig.PerCallLimit)
			for b.Loop() {
				if errs, _ := rules.Validate(b.Context(), nil, alone, object, nil, celconfig.RuntimeCELCostBudget); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
		})
	}
}

// onlyRules is a copy of the schema with the rules that are wanted by their messages, which it asks in a fixed order.
func onlyRules(s *structuralschema.Structural, want func(message string) bool) *structuralschema.Structural {
	if s == nil {
		return nil
	}
	out := *s
	out.XValidations = nil
	for _, r := range s.XValidations {
		if want(r.Message) {
			out.XValidations = append(out.XValidations, r)
		}
	}
	out.Items = onlyRules(s.Items, want)
	if s.AdditionalProperties != nil {
		values := *s.AdditionalProperties
		values.Structural = onlyRules(values.Structural, want)
		out.AdditionalProperties = &values
	}
	out.Properties = maps.Clone(s.Properties)
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		out.Properties[name] = *onlyRules(&property, want)
	}
	return &out
}
