package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// outcome is a metric label.
type outcome string

const (
	outcomeAllowed outcome = "allowed"
	outcomeDenied  outcome = "denied"
	outcomeSkipped outcome = "skipped" // the rules do not apply to the request
	outcomeFailed  outcome = "failed"  // an internal error; the object passed
	// outcomeTolerated means that the object would be denied in stage Enforce.
	outcomeTolerated outcome = "tolerated"
)

// answer is a response with its values for the metrics.
type answer struct {
	response admission.Response
	outcome  outcome
	rules    []string // ids of the broken rules
}

func allow(o outcome, warnings ...string) answer {
	return answer{outcome: o, response: admission.Response{
		AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true, Warnings: warnings},
	}}
}

// handler is a webhook for one kind; validating and mutating webhooks share it.
type handler struct {
	kind    kind
	name    string // value of the metric label: validate or mutate
	metrics *Metrics
	handle  func(context.Context, admission.Request) answer
}

// Handle implements admission.Handler.
func (h *handler) Handle(ctx context.Context, req admission.Request) (response admission.Response) {
	defer func() {
		if p := recover(); p != nil {
			klog.FromContext(ctx).Error(fmt.Errorf("panic: %v", p), "Webhook failed and let the object pass", "stack", string(debug.Stack()))
			h.metrics.admitted(h.name, h.kind.Kind, string(req.Operation), answer{outcome: outcomeFailed})
			response = allow(outcomeFailed, "the webhook of the operator failed on this object and let it pass unchecked; please report this").response
		}
	}()
	a := h.answer(ctx, req)
	h.metrics.admitted(h.name, h.kind.Kind, string(req.Operation), a)
	return a.response
}

func (h *handler) answer(ctx context.Context, req admission.Request) answer {
	if req.SubResource != "" || req.Operation != admissionv1.Create && req.Operation != admissionv1.Update {
		return allow(outcomeSkipped) // not registered; another configuration sent it here
	}
	if got := req.Kind.Kind; got != h.kind.Kind || req.Kind.Group != group || req.Kind.Version != hubVersion {
		return answer{outcome: outcomeFailed, response: admission.Errored(http.StatusBadRequest,
			fmt.Errorf("this webhook is for %s of %s/%s and was sent a %s of %s/%s; look at the rules of the webhook configuration",
				h.kind.Kind, group, hubVersion, got, req.Kind.Group, req.Kind.Version))}
	}
	var meta metav1.PartialObjectMetadata
	if err := json.Unmarshal(req.Object.Raw, &meta); err == nil && meta.DeletionTimestamp != nil {
		// An object that is being deleted must be able to lose its finalizers, even if it is invalid.
		return allow(outcomeSkipped)
	}
	return h.handle(ctx, req)
}
