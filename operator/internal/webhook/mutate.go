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

	"github.com/raygate/raygate/operator/internal/conversion"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/validation"
)

// mutate adds what is missing and changes nothing that is there: first what an old client is about to lose, then the
// defaults that the CRD documents. The API server has filled the latter in itself for clients of v1, so that this answers
// with an empty patch; the schema of v1alpha1 does not know them all. Adding only is what makes it idempotent and
// indifferent to the order of webhooks.
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
		a.response.Patches = append(slices.Clone(restored), missingDefaults(k, req.Object.Raw, obj)...)
		if len(restored) > 0 {
			a.response.Warnings = []string{restoreWarning(restored)}
		}
		return a
	}
}

// onlyDefaults is the object with nothing but defaults in the fields that only v1 has; nil when it cannot be read.
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

// undecodable cannot happen: the API server encoded what it sent.
func undecodable(err error) answer {
	return allow(outcomeFailed, report.Clip("the webhook of the operator could not read this object and filled nothing in: "+err.Error(), report.MaxWarning))
}

// fromOldClient reports whether the client wrote another version than the one that the webhook was sent.
func fromOldClient(req admission.Request) bool {
	return req.RequestKind != nil && req.RequestKind.Version != hubVersion
}

func restoreWarning(restored []jsonpatch.Operation) string {
	var fields []string
	for _, op := range restored {
		fields = append(fields, strings.ReplaceAll(strings.TrimPrefix(op.Path, "/"), "/", "."))
	}
	return report.Clip("this write left out fields that only ray.io/v1 has, and they were kept; write through v1 to change them: "+strings.Join(fields, ", "), report.MaxWarning)
}

// missingDefaults compares the object as its Go type writes it without and with defaults, so that what the type adds by
// itself cancels out, and keeps what the object itself does not have. obj is the object, with what was restored.
func missingDefaults(k kind, raw []byte, obj map[string]any) []jsonpatch.Operation {
	plain, filled, err := k.defaulted(raw)
	if err != nil {
		return nil // it cannot be read as its type; the validating webhook and the controller say so
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

// lookup returns what a JSON pointer points at, nil for nothing.
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
