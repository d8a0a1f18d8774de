package deviceadmission

import (
	"bytes"
	"context"
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
	"sigs.k8s.io/json"

	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/devices/plan"
)

// Outcomes are a label of the metrics.
const (
	outcomeNothing = "nothing" // no device, or nothing to do
	outcomePatched = "patched"
	outcomeAllowed = "allowed"
	outcomeDenied  = "denied"
	outcomeFailed  = "failed" // the call, by a fault of ours
)

// answer is a response on its way to the metrics and the API server.
type answer struct {
	admission.Response
	outcome, reason string
	vendors         []string
	pod             plan.Identity // for the log
}

// hook is one of the webhooks: what they have in common.
type hook struct {
	name     string
	registry Registry
	metrics  *Metrics
	handle   func(context.Context, admission.Request, *plan.Program) answer
}

// Handle implements admission.Handler.
func (h *hook) Handle(ctx context.Context, req admission.Request) admission.Response {
	start := h.metrics.clock.Now()
	a := h.answer(ctx, req)
	h.metrics.answered(h.name, &a, h.metrics.clock.Since(start))
	return a.Response
}

func (h *hook) answer(ctx context.Context, req admission.Request) answer {
	if req.SubResource != "" || req.Operation != admissionv1.Create || req.Kind.Group != corev1.GroupName || req.Kind.Kind != "Pod" {
		return allowed(outcomeNothing) // not registered; somebody else's configuration sent it here
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
	if len(warnings) > report.MaxWarnings {
		warnings = warnings[:report.MaxWarnings]
	}
	clipped := make([]string, len(warnings))
	for i, w := range warnings {
		clipped[i] = report.Clip(w, report.MaxWarning)
	}
	return answer{outcome: outcome, Response: admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: true, Warnings: clipped}}}
}

// undecodable answers about what is no Pod.
func undecodable(err error) answer {
	return answer{Response: admission.Errored(http.StatusBadRequest, err), outcome: outcomeDenied, reason: "undecodable"}
}

// refused answers with all problems, a line each: 422 for what is wrong in itself, 403 if only policies are against it.
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
	a.Result = &metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: report.Clip(message, maxMessage)}
	return a
}

// maxMessage bounds what a Pod of very many containers makes of itself in answers and in the log.
const maxMessage = 16 << 10

// outer makes a failed call of what is no answer. A well-formed answer would be final, whatever the failure policy says.
type outer struct {
	name    string
	metrics *Metrics
	ready   func() error // nil means always
	inner   http.Handler
}

// ServeHTTP implements http.Handler.
func (o *outer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
			panic(p)
		}
		id := uuid.NewUUID()
		klog.FromContext(r.Context()).Error(fmt.Errorf("panic: %v", p), "Webhook failed", "webhook", o.name, "correlationID", id, "stack", string(debug.Stack()))
		o.metrics.panicked(o.name)
		http.Error(w, "internal error, correlation id "+string(id), http.StatusInternalServerError)
	}()
	if o.ready != nil {
		if err := o.ready(); err != nil {
			o.metrics.answered(o.name, &answer{outcome: outcomeFailed, reason: "not ready"}, 0)
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReview))
	if err != nil {
		http.Error(w, "reading the review: "+err.Error(), http.StatusBadRequest)
		return
	}
	if err := supported(body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	c := &call{ResponseWriter: w}
	o.inner.ServeHTTP(c, r.WithContext(context.WithValue(r.Context(), callKey{}, c)))
	if c.failure != nil {
		klog.FromContext(r.Context()).Error(c.failure, "Webhook has no answer", "webhook", o.name)
		http.Error(w, "no answer: "+c.failure.Error(), http.StatusServiceUnavailable)
	}
}

// call is a response that is not written once there is no answer.
type call struct {
	http.ResponseWriter
	failure error
}

type callKey struct{}

// Write implements http.ResponseWriter.
func (c *call) Write(data []byte) (int, error) {
	if c.failure == nil {
		return c.ResponseWriter.Write(data)
	}
	return len(data), nil
}

// WriteHeader implements http.ResponseWriter.
func (c *call) WriteHeader(code int) {
	if c.failure == nil {
		c.ResponseWriter.WriteHeader(code)
	}
}

// unanswered makes a failed call of this one.
func unanswered(ctx context.Context, err error) answer {
	if c, ok := ctx.Value(callKey{}).(*call); ok {
		c.failure = err
	}
	return answer{Response: admission.Errored(http.StatusServiceUnavailable, err), outcome: outcomeFailed, reason: "unavailable"}
}

// maxReview is above what the API server takes of a client, for an object and its predecessor.
const maxReview = 8 << 20

// supported looks at the version, which the decoder of the library does not.
func supported(body []byte) error {
	var t metav1.TypeMeta
	if err := json.UnmarshalCaseSensitivePreserveInts(body, &t); err != nil {
		return fmt.Errorf("reading the review: %w", err)
	}
	if t.APIVersion != admissionv1.SchemeGroupVersion.String() || t.Kind != "AdmissionReview" {
		return fmt.Errorf("this webhook answers AdmissionReview of %s, not %s of %s", admissionv1.SchemeGroupVersion, t.Kind, t.APIVersion)
	}
	return nil
}
