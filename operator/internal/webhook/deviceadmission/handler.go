// Package deviceadmission serves the webhooks for Pods that request shared accelerators. The mutating webhook completes the Pod
// according to the registry of package pkg/devices; it does not check quotas. The validating webhook checks the finished Pod
// against the rules and against the quotas of its namespace.
//
// The package is an adapter: pkg/devices/plan computes what a Pod needs. Unlike in the webhooks for Ray objects, an internal error
// fails the call, so that the failure policy of the registration decides.
package deviceadmission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	kjson "sigs.k8s.io/json"

	"github.com/raygate/raygate/operator/internal/conditions"
	"github.com/raygate/raygate/operator/internal/devicequota"
	"github.com/raygate/raygate/pkg/devices/plan"
)

// Outcomes are values of a metric label.
const (
	outcomeNothing = "nothing" // no device, or no change needed
	outcomePatched = "patched"
	outcomeAllowed = "allowed"
	outcomeDenied  = "denied"
	outcomeFailed  = "failed" // an internal error failed the call
)

// answer is a response with its values for the metrics and the log.
type answer struct {
	admission.Response
	failure         error // why there is no response; nil if there is one
	outcome, reason string
	vendors         []string
	pod             plan.Identity // for the log
}

// hook is one of the webhooks. It is not an admission.Handler, because such a handler always answers, so the failure policy never
// applies. Without a verdict the call has to fail.
type hook struct {
	name     string
	registry devicequota.Registry
	metrics  *Metrics
	ready    func() error // nil means always
	handle   func(context.Context, admission.Request, *plan.Program) answer
}

// ServeHTTP implements http.Handler.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer h.recovered(w, r)
	if h.ready != nil {
		if err := h.ready(); err != nil {
			h.metrics.answered(h.name, &answer{outcome: outcomeFailed, reason: "not ready"}, 0)
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	review, err := readReview(w, r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	req, start := admission.Request{AdmissionRequest: *review.Request}, h.metrics.clock.Now()
	a := h.answer(r.Context(), req)
	h.metrics.answered(h.name, &a, h.metrics.clock.Since(start))
	if a.failure == nil {
		a.failure = a.Complete(req)
	}
	if a.failure != nil {
		klog.FromContext(r.Context()).Error(a.failure, "Webhook has no answer", "webhook", h.name)
		http.Error(w, "no answer: "+a.failure.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: &a.AdmissionResponse}); err != nil {
		klog.FromContext(r.Context()).V(2).Info("The API server did not wait for the answer", "err", err)
	}
}

// recovered turns a panic into a failed call.
func (h *hook) recovered(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(p)
	}
	id := uuid.NewUUID()
	klog.FromContext(r.Context()).Error(fmt.Errorf("panic: %v", p), "Webhook failed", "webhook", h.name, "correlationID", id, "stack", string(debug.Stack()))
	h.metrics.panicked(h.name)
	http.Error(w, "internal error, correlation id "+string(id), http.StatusInternalServerError)
}

// maxReview is above the API server's limit for a request with an object and its old version, in bytes.
const maxReview = 8 << 20

func readReview(w http.ResponseWriter, r *http.Request) (*admissionv1.AdmissionReview, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReview))
	if err != nil {
		return nil, fmt.Errorf("reading the review: %w", err)
	}
	review := &admissionv1.AdmissionReview{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, review); err != nil {
		return nil, fmt.Errorf("reading the review: %w", err)
	}
	want := admissionv1.SchemeGroupVersion.WithKind("AdmissionReview")
	if got := review.GroupVersionKind(); got != want || review.Request == nil {
		return nil, fmt.Errorf("this webhook answers requests in an AdmissionReview of %s, not %s of %s", want.GroupVersion(), got.Kind, got.GroupVersion())
	}
	return review, nil
}

func (h *hook) answer(ctx context.Context, req admission.Request) answer {
	if req.SubResource != "" || req.Operation != admissionv1.Create || req.Kind.Group != corev1.GroupName || req.Kind.Kind != "Pod" {
		return allowed(outcomeNothing) // not registered; another configuration sent it here
	}
	program := h.registry.Program()
	a := h.handle(ctx, req, program)
	if a.outcome == outcomeNothing || a.outcome == outcomeFailed {
		return a
	}
	a.AuditAnnotations = map[string]string{"registry": program.Hash, "vendors": strings.Join(a.vendors, ","), "decision": a.outcome}
	values := []any{"webhook", h.name, "outcome", a.outcome, "namespace", req.Namespace, "generateName", a.pod.GenerateName, "name", a.pod.Name,
		"uid", req.UID, "vendors", a.vendors, "registry", program.Hash}
	if a.pod.Controller != "" {
		values = append(values, "owner", a.pod.Controller)
	}
	if a.Result != nil {
		values = append(values, "reason", a.Result.Message)
	}
	klog.FromContext(ctx).Info("Decided about the devices of a Pod", values...)
	return a
}

func allowed(outcome string, warnings ...string) answer {
	if len(warnings) > conditions.MaxWarnings {
		warnings = warnings[:conditions.MaxWarnings]
	}
	clipped := make([]string, len(warnings))
	for i, w := range warnings {
		clipped[i] = conditions.Clip(w, conditions.MaxWarning)
	}
	return answer{outcome: outcome, Response: admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true, Warnings: clipped}}}
}

// undecodable returns the answer for a body that is not a Pod.
func undecodable(err error) answer {
	return answer{Response: admission.Errored(http.StatusBadRequest, err), outcome: outcomeDenied, reason: "undecodable"}
}

// refused returns the answer with all problems, one per line: 422 for an invalid Pod, 403 if only policies forbid it.
func refused(r *plan.Result) answer {
	code, reason := int32(http.StatusForbidden), metav1.StatusReasonForbidden
	lines := make([]string, len(r.Problems))
	for i, p := range r.Problems {
		lines[i] = p.String()
		if !p.Forbidden {
			code, reason = http.StatusUnprocessableEntity, metav1.StatusReasonInvalid
		}
	}
	return denied(code, reason, strings.Join(lines, "\n"), r)
}

func denied(code int32, reason metav1.StatusReason, message string, r *plan.Result) answer {
	a := allowed(outcomeDenied, r.Warnings...)
	a.Allowed, a.reason, a.vendors = false, string(reason), r.Vendors
	a.Result = &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: conditions.Clip(message, maxMessage)}
	return a
}

// maxMessage limits the text about a Pod with very many containers in answers and logs, in bytes.
const maxMessage = 16 << 10
