package webhook

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/validation"
)

// validator is what the validating webhook of a kind asks.
type validator struct {
	kind    kind
	options validation.Options
	stage   Stage
	clock   clock.PassiveClock
	schemas func(kind string) (*hubSchema, error)
}

// handle answers with every error at once, each at its field.
func (w *validator) handle(ctx context.Context, req admission.Request) answer {
	v, mine := w.verdict(req)
	if fromOldClient(req) && (len(v.Errors) == 0 || v.Errors[0].Origin == "") { // the schema names the field that cannot be read
		if errs := w.bySchema(ctx, req); len(errs) > 0 {
			v.Errors = errs
		}
	}
	if !mine && len(v.Errors) == 0 {
		return allow(outcomeSkipped)
	}
	a := allow(outcomeAllowed, warningTexts(v.Warnings)...)
	if len(v.Errors) > 0 {
		a = deny(w.kind, req, v.Errors, a.response.Warnings)
	}
	return w.stage.soften(a, v)
}

// verdict is that of the rules. It is not ours to give on an object that another controller looks after.
func (w *validator) verdict(req admission.Request) (v validation.Verdict, mine bool) {
	obj, err := w.kind.decode(req.Object.Raw)
	if err != nil {
		return unreadable(w.kind, err, req.OldObject.Raw), true
	}
	if validation.ManagedElsewhere(obj) && !w.handsOver(req) {
		return validation.Verdict{}, false
	}
	return w.kind.validate(obj, req.OldObject.Raw, about(req, w.options, w.clock.Now())), true
}

// handsOver reports whether the object was ours before the update.
func (w *validator) handsOver(req admission.Request) bool {
	was, err := w.kind.decode(req.OldObject.Raw)
	return err == nil && !validation.ManagedElsewhere(was)
}

// unreadable is the verdict on an object that the schema has accepted and that holds texts which no program can read, such as
// quantities. An update does not bring that in when what is stored cannot be read either, in the same way.
func unreadable(k kind, err error, before []byte) validation.Verdict {
	problem := field.ErrorList{field.Invalid(nil, field.OmitValueType{}, "cannot be read: "+err.Error())}
	if len(before) > 0 {
		if _, was := k.decode(before); was != nil && was.Error() == err.Error() {
			return validation.Verdict{Warnings: problem}
		}
	}
	return validation.Verdict{Errors: problem}
}

// bySchema is what the API server says of a write through v1.
func (w *validator) bySchema(ctx context.Context, req admission.Request) field.ErrorList {
	schema, err := w.schemas(w.kind.Kind)
	var errs field.ErrorList
	if err == nil {
		errs, err = schema.validate(ctx, req.Object.Raw, req.OldObject.Raw)
	}
	if err != nil {
		// A fault of this program, which must not stop writes; the controller looks at the object again.
		klog.FromContext(ctx).Error(err, "Validating a write through an old version by the schema of v1")
		return nil
	}
	return errs
}

// about adds what only the request tells: when it came, from whom, and in which version of the API.
func about(req admission.Request, o validation.Options, now time.Time) validation.Options {
	o.Now = now
	// Controllers and the autoscaler have ServiceAccounts; people who edit an object by hand rarely do.
	o.ByController = strings.HasPrefix(req.UserInfo.Username, "system:serviceaccount:")
	if fromOldClient(req) {
		o.RequestVersion = req.RequestKind.Version
	}
	return o
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

// warningTexts are "path: text (rule)", few and short enough to reach the user whole.
func warningTexts(warnings field.ErrorList) []string {
	violations := validation.Violations(warnings)
	var texts []string
	for i, v := range violations {
		if i == report.MaxWarnings-1 && len(violations) > report.MaxWarnings {
			texts = append(texts, fmt.Sprintf("and %d more warnings; `raygate validate` prints all", len(violations)-i))
			break
		}
		texts = append(texts, report.Clip(v.Field+": "+v.Message, report.MaxWarning-len(v.Rule)-3)+" ("+v.Rule+")")
	}
	return texts
}
