package validation_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/validation"
)

// TestMistakesOfDecodersStandAlone holds that a decoder says the same with and without rules beside it.
func TestMistakesOfDecodersStandAlone(t *testing.T) {
	mistake := &field.Error{Type: field.ErrorTypeTypeInvalid, Field: "spec.x", BadValue: field.OmitValueType{}, Detail: `unknown field "x"`, Origin: "unknown-field"}
	want := []validation.Violation{{Field: "spec.x", Message: `unknown field "x"`, Rule: "unknown-field", Type: field.ErrorTypeTypeInvalid}}
	if diff := cmp.Diff(want, validation.Violations(field.ErrorList{nil, mistake, mistake})); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
