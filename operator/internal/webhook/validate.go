package webhook

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/raygate/raygate/operator/internal/conditions"
	"github.com/raygate/raygate/pkg/validation"
)

// validator is the validating webhook of a kind.
type validator struct {
	kind    kind
	options validation.Options
	stage   Stage
	clock   clock.PassiveClock
	schema  func() (*hubSchema, error)
	devices *Devices
}

// handle returns all errors at once, each with its field.
func (w *validator) handle(ctx context.Context, req admission.Request) answer {
	v, mine := w.verdict(req)
	if fromOldClient(req) && (len(v.Errors) == 0 || v.Errors[0].Origin == "") { // the schema reports the field that cannot be decoded
		if errs := w.bySchema(ctx, req); len(errs) > 0 {
			v.Errors = errs
		}
	}
	if !mine && len(v.Errors) == 0 {
		return allow(outcomeSkipped)
	}
	a := allow(outcomeAllowed, append(warningTexts(v.Warnings), w.devices.warnings(w.kind, req)...)...)
	if len(v.Errors) > 0 {
		a = deny(w.kind, req, v.Errors, a.response.Warnings)
	}
	return w.stage.soften(a, v)
}

// verdict applies the rules. mine is false for an object that another controller manages.
func (w *validator) verdict(req admission.Request) (v validation.Verdict, mine bool) {
	obj, err := w.kind.decode(req.Object.Raw)
	if err != nil {
		return unreadable(w.kind, err, req.OldObject.Raw), true
	}
	if validation.ManagedElsewhere(obj) && !w.handsOver(req) {
		return validation.Verdict{}, false
	}
	o := w.options
	o.Now = w.clock.Now()
	if fromOldClient(req) {
		o.RequestVersion = req.RequestKind.Version
	}
	return w.kind.validate(obj, req.OldObject.Raw, o), true
}

// handsOver reports whether this operator managed the object before the update.
func (w *validator) handsOver(req admission.Request) bool {
	was, err := w.kind.decode(req.OldObject.Raw)
	return err == nil && !validation.ManagedElsewhere(was)
}

// unreadable returns the verdict on an object that matches the schema but cannot be decoded, for example because of an invalid
// quantity. If the stored object has the same error, the update is not its cause and gets a warning.
func unreadable(k kind, err error, before []byte) validation.Verdict {
	problem := field.ErrorList{field.Invalid(nil, field.OmitValueType{}, "cannot be read: "+err.Error())}
	if len(before) > 0 {
		if _, was := k.decode(before); was != nil && was.Error() == err.Error() {
			return validation.Verdict{Warnings: problem}
		}
	}
	return validation.Verdict{Errors: problem}
}

// bySchema returns the errors of the v1 schema.
func (w *validator) bySchema(ctx context.Context, req admission.Request) field.ErrorList {
	schema, err := w.schema()
	var errs field.ErrorList
	if err == nil {
		errs, err = schema.validate(ctx, req.Object.Raw, req.OldObject.Raw)
	}
	if err != nil {
		// An internal error must not block writes; the controller validates the object again.
		klog.FromContext(ctx).Error(err, "Validating a write through an old version by the schema of v1")
		return nil
	}
	return errs
}

func deny(k kind, req admission.Request, errs field.ErrorList, warnings []string) answer {
	status := &metav1.Status{
		Status: metav1.StatusFailure,
		Code:   http.StatusUnprocessableEntity,
		Reason: metav1.StatusReasonInvalid,
		Details: &metav1.StatusDetails{
			Group: group,
			Kind:  k.Kind,
			Name:  req.Name,
		},
	}
	var ids, texts []string
	for _, v := range validation.Violations(errs) {
		message := v.Message
		if v.Rule != "" {
			message += " (" + v.Rule + ")"
			ids = append(ids, v.Rule)
		}
		path := v.Field
		if path == "<nil>" {
			path = ""
		}
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{Type: metav1.CauseType(v.Type), Message: message, Field: path})
		texts = append(texts, strings.TrimPrefix(path+": "+message, ": "))
	}
	status.Message = fmt.Sprintf("%s.%s %q is invalid: %s", k.Kind, group, req.Name, strings.Join(texts, "; "))
	slices.Sort(ids)
	a := allow(outcomeDenied, warnings...)
	a.response.Allowed, a.response.Result, a.rules = false, status, slices.Compact(ids)
	return a
}

// warningTexts formats warnings as "path: text (rule)", short enough that the API server does not cut them.
func warningTexts(warnings field.ErrorList) []string {
	violations := validation.Violations(warnings)
	var texts []string
	for i, v := range violations {
		if i == conditions.MaxWarnings-1 && len(violations) > conditions.MaxWarnings {
			texts = append(texts, fmt.Sprintf("and %d more warnings; `raygate validate` prints all", len(violations)-i))
			break
		}
		texts = append(texts, conditions.Clip(v.Field+": "+v.Message, conditions.MaxWarning-len(v.Rule)-3)+" ("+v.Rule+")")
	}
	return texts
}
