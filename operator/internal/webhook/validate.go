package webhook

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/raygate/raygate/pkg/validation"
)

const (
	// The API server cuts warnings once they are longer than 4096 bytes together.
	maxWarnings      = 10
	maxWarningLength = 255
)

// validate answers with every error at once, each at its field.
func validate(k kind, o validation.Options, stage Stage, clk clock.PassiveClock) func(admission.Request) answer {
	return func(req admission.Request) answer {
		v, err := k.judge(req.Object.Raw, req.OldObject.Raw, about(req, o, clk.Now()))
		if err != nil {
			// The schema has accepted the object; what is left are texts in it that no program can read, such as quantities.
			v = validation.Verdict{Errors: field.ErrorList{field.Invalid(nil, field.OmitValueType{}, "cannot be read: "+err.Error())}}
		}
		a := allow(outcomeAllowed, warningTexts(v.Warnings)...)
		if len(v.Errors) > 0 {
			a = deny(k, req, v.Errors, a.response.Warnings)
		}
		return stage.soften(a, v)
	}
}

// about adds what only the request tells: when it came, from whom, and in which version of the API.
func about(req admission.Request, o validation.Options, now time.Time) validation.Options {
	o.Now = now
	// Controllers and the autoscaler have ServiceAccounts; people who edit an object by hand rarely do.
	o.ByController = strings.HasPrefix(req.UserInfo.Username, "system:serviceaccount:")
	if req.RequestKind != nil && req.RequestKind.Version != req.Kind.Version {
		o.RequestVersion = req.RequestKind.Version
	}
	return o
}

func deny(k kind, req admission.Request, errs field.ErrorList, warnings []string) answer {
	name := req.Name
	violations := validation.Violations(errs)
	status := &metav1.Status{
		Status: metav1.StatusFailure,
		Code:   http.StatusUnprocessableEntity,
		Reason: metav1.StatusReasonInvalid,
		Details: &metav1.StatusDetails{
			Group: group,
			Kind:  k.Kind,
			Name:  name,
		},
	}
	types := causeTypes(errs)
	var ids, texts []string
	for _, v := range violations {
		message := v.Message
		if v.Rule != "" {
			message += " (" + v.Rule + ")"
			ids = append(ids, v.Rule)
		}
		path := v.Field
		if path == "<nil>" {
			path = ""
		}
		status.Details.Causes = append(status.Details.Causes, metav1.StatusCause{Type: types[v], Message: message, Field: path})
		texts = append(texts, strings.TrimPrefix(path+": "+message, ": "))
	}
	status.Message = fmt.Sprintf("%s.%s %q is invalid: %s", k.Kind, group, name, strings.Join(texts, "; "))
	slices.Sort(ids)
	a := allow(outcomeDenied, warnings...)
	a.response.Allowed, a.response.Result, a.rules = false, status, slices.Compact(ids)
	return a
}

// causeTypes finds the type of each violation again, which a Violation does not carry.
func causeTypes(errs field.ErrorList) map[validation.Violation]metav1.CauseType {
	types := map[validation.Violation]metav1.CauseType{}
	for _, err := range errs {
		if err != nil {
			types[validation.Violation{Field: err.Field, Message: err.ErrorBody(), Rule: err.Origin}] = metav1.CauseType(err.Type)
		}
	}
	return types
}

// warningTexts are "path: text (rule)", few and short enough to reach the user whole.
func warningTexts(warnings field.ErrorList) []string {
	violations := validation.Violations(warnings)
	var texts []string
	for i, v := range violations {
		if i == maxWarnings-1 && len(violations) > maxWarnings {
			texts = append(texts, fmt.Sprintf("and %d more warnings; `raygate validate` prints all", len(violations)-i))
			break
		}
		texts = append(texts, shorten(v.Field+": "+v.Message, maxWarningLength-len(v.Rule)-3)+" ("+v.Rule+")")
	}
	return texts
}

func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-3], "") + "..."
}
