package webhook

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/raygate/raygate/operator/internal/conversion"
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
		var restored []conversion.Addition
		if req.Operation == admissionv1.Update && fromOldClient(req) {
			before := map[string]any{}
			if err := utiljson.Unmarshal(req.OldObject.Raw, &before); err != nil {
				return undecodable(err)
			}
			restored = conversion.Restore(obj, before, onlyDefaults(k, obj))
		}
		additions := append(slices.Clone(restored), missingDefaults(k, req.Object.Raw, obj)...)
		a := allow(outcomeAllowed)
		for _, add := range additions {
			a.response.Patches = append(a.response.Patches, jsonpatch.NewOperation("add", add.Pointer, add.Value))
		}
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
	return allow(outcomeFailed, shorten("the webhook of the operator could not read this object and filled nothing in: "+err.Error(), maxWarningLength))
}

// fromOldClient reports whether the client wrote another version than the one that the webhook was sent.
func fromOldClient(req admission.Request) bool {
	return req.RequestKind != nil && req.RequestKind.Version != hubVersion
}

func restoreWarning(restored []conversion.Addition) string {
	var fields []string
	for _, add := range restored {
		fields = append(fields, strings.ReplaceAll(strings.TrimPrefix(add.Pointer, "/"), "/", "."))
	}
	return shorten("this write left out fields that only ray.io/v1 has, and they were kept; write through v1 to change them: "+strings.Join(fields, ", "), maxWarningLength)
}

// missingDefaults compares the object as its Go type writes it without and with defaults, so that what the type adds by
// itself cancels out, and keeps what the object itself does not have. obj is the object, with what was restored.
func missingDefaults(k kind, raw []byte, obj map[string]any) []conversion.Addition {
	plain, filled, err := k.defaulted(raw)
	if err != nil {
		return nil // it cannot be read as its type; the validating webhook and the controller say so
	}
	var was, is map[string]any
	if utiljson.Unmarshal(plain, &was) != nil || utiljson.Unmarshal(filled, &is) != nil {
		return nil
	}
	var additions []conversion.Addition
	collectMissing(obj["spec"], was["spec"], is["spec"], "/spec", &additions)
	return additions
}

func collectMissing(obj, was, is any, at string, additions *[]conversion.Addition) {
	switch is := is.(type) {
	case map[string]any:
		if obj, ok := obj.(map[string]any); ok {
			was, _ := was.(map[string]any)
			collectMissingFields(obj, was, is, at, additions)
		}
	case []any:
		obj, ok := obj.([]any)
		was, same := was.([]any)
		if !ok || !same || len(obj) != len(is) || len(was) != len(is) {
			return
		}
		for i := range is {
			collectMissing(obj[i], was[i], is[i], fmt.Sprintf("%s/%d", at, i), additions)
		}
	}
}

func collectMissingFields(obj, was, is map[string]any, at string, additions *[]conversion.Addition) {
	for _, name := range slices.Sorted(maps.Keys(is)) {
		pointer := at + "/" + pointerEscaper.Replace(name)
		switch {
		case was[name] != nil:
			collectMissing(obj[name], was[name], is[name], pointer, additions)
		case obj[name] == nil && is[name] != nil:
			*additions = append(*additions, conversion.Addition{Pointer: pointer, Value: is[name]})
		}
	}
}

var pointerEscaper = strings.NewReplacer("~", "~0", "/", "~1")
