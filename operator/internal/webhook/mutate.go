package webhook

import (
	"context"
	"slices"
	"strings"

	"github.com/go-openapi/jsonpointer"
	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/raygate/raygate/operator/internal/conditions"
	"github.com/raygate/raygate/operator/internal/conversion"
	"github.com/raygate/raygate/pkg/validation"
)

// mutate adds missing fields and changes no existing ones: first those that an old client would lose, then the defaults that the
// CRD documents. For clients of v1 the API server has set the defaults, so the patch is empty; the schema of v1alpha1 does not
// have all of them. Because it only adds, it is idempotent and independent of the order of webhooks.
func mutate(k kind) func(context.Context, admission.Request) answer {
	return func(_ context.Context, req admission.Request) answer {
		obj := map[string]any{}
		if err := utiljson.Unmarshal(req.Object.Raw, &obj); err != nil {
			return undecodable(err)
		}
		if typed, err := k.decode(req.Object.Raw); err == nil && validation.ManagedElsewhere(typed) {
			return allow(outcomeSkipped)
		}
		var restored []jsonpatch.Operation
		if req.Operation == admissionv1.Update && fromOldClient(req) {
			before := map[string]any{}
			if err := utiljson.Unmarshal(req.OldObject.Raw, &before); err != nil {
				return undecodable(err)
			}
			conversion.Restore(obj, before, onlyDefaults(k, obj))
			full, err := utiljson.Marshal(obj)
			if err == nil {
				restored, err = jsonpatch.CreatePatch(req.Object.Raw, full)
			}
			if err != nil {
				return undecodable(err)
			}
			slices.SortFunc(restored, func(a, b jsonpatch.Operation) int { return strings.Compare(a.Path, b.Path) })
		}
		a := allow(outcomeAllowed)
		a.response.Patches = slices.Concat(restored, missingDefaults(k, req.Object.Raw, obj), keepFacts(k, req))
		if len(restored) > 0 {
			a.response.Warnings = []string{restoreWarning(restored)}
		}
		return a
	}
}

// onlyDefaults returns the object with only defaults in the fields that only v1 has; nil if it cannot be decoded.
func onlyDefaults(k kind, obj map[string]any) map[string]any {
	common := runtime.DeepCopyJSON(obj)
	conversion.Common(common)
	raw, err := utiljson.Marshal(common)
	if err != nil {
		return nil
	}
	_, filled, err := k.defaulted(raw)
	if err != nil {
		return nil
	}
	out := map[string]any{}
	if utiljson.Unmarshal(filled, &out) != nil {
		return nil
	}
	return out
}

// undecodable is not reached: the API server encoded the object.
func undecodable(err error) answer {
	return allow(outcomeFailed, conditions.Clip("the webhook of the operator could not read this object and filled nothing in: "+err.Error(), conditions.MaxWarning))
}

// fromOldClient reports whether the client used another version than the one sent to the webhook.
func fromOldClient(req admission.Request) bool {
	return req.RequestKind != nil && req.RequestKind.Version != hubVersion
}

func restoreWarning(restored []jsonpatch.Operation) string {
	var fields []string
	for _, op := range restored {
		fields = append(fields, strings.ReplaceAll(strings.TrimPrefix(op.Path, "/"), "/", "."))
	}
	return conditions.Clip("this write left out fields that only ray.io/v1 has, and they were kept; write through v1 to change them: "+strings.Join(fields, ", "), conditions.MaxWarning)
}

// missingDefaults compares the JSON of the object's Go type without and with defaults, so that additions of the type itself cancel
// out. It returns the defaults that obj lacks. obj is the object with restored fields.
func missingDefaults(k kind, raw []byte, obj map[string]any) []jsonpatch.Operation {
	plain, filled, err := k.defaulted(raw)
	if err != nil {
		return nil // the validating webhook and the controller report the error
	}
	defaults, err := jsonpatch.CreatePatch(plain, filled)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(defaults, func(op jsonpatch.Operation) bool {
		at := strings.LastIndex(op.Path, "/")
		parent, _ := lookup(obj, op.Path[:at]).(map[string]any)
		return op.Operation != "add" || parent == nil || parent[jsonpointer.Unescape(op.Path[at+1:])] != nil
	})
}

// lookup resolves a JSON pointer; nil if there is no value.
func lookup(obj map[string]any, pointer string) any {
	p, err := jsonpointer.New(pointer)
	if err != nil {
		return nil
	}
	found, _, err := p.Get(obj)
	if err != nil {
		return nil
	}
	return found
}
