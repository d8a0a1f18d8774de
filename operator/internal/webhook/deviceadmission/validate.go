package deviceadmission

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/json"

	"github.com/raygate/raygate/operator/internal/devicequota"
	"github.com/raygate/raygate/pkg/devices/plan"
)

// Quota decides whether Pods fit.
type Quota interface {
	// Ready reports whether all Pods and quotas are known.
	Ready() bool
	// Check returns a verdict, or an error if there is none.
	Check(ctx context.Context, p *plan.Program, pod *corev1.Pod, d *plan.Demand, reserve bool) (devicequota.Verdict, error)
}

// validator checks Pods in their final form.
type validator struct {
	quota   Quota // nil without quotas
	metrics *Metrics
}

// ready keeps a replica that does not know the current usage from admitting Pods.
func (v *validator) ready() error {
	if v.quota == nil || v.quota.Ready() {
		return nil
	}
	return errors.New("the Pods and quotas of the cluster are not known yet")
}

func (v *validator) handle(ctx context.Context, req admission.Request, program *plan.Program) answer {
	var pod corev1.Pod
	if err := json.UnmarshalCaseSensitivePreserveInts(req.Object.Raw, &pod); err != nil {
		return undecodable(err)
	}
	a := v.check(ctx, req, program, &pod)
	a.pod = plan.IdentityOf(&pod.ObjectMeta)
	return a
}

func (v *validator) check(ctx context.Context, req admission.Request, program *plan.Program, pod *corev1.Pod) answer {
	r := program.Plan(plan.FromPod(pod.Annotations, &pod.Spec).WithLabels(pod.Labels))
	if r.Refused() {
		r.Warnings = nil // the mutating webhook has returned them
		return refused(r)
	}
	if text := program.ForbidsOptOut(req.Namespace, pod.Labels); text != "" && len(r.Devices) > 0 {
		r.Warnings = nil
		return denied(http.StatusForbidden, metav1.StatusReasonForbidden, text, r)
	}
	if len(r.Devices) == 0 || v.quota == nil {
		return allowed(outcomeNothing)
	}
	pod.Namespace = req.Namespace
	if pod.UID == "" {
		pod.UID = req.UID // for an API server that calls before it assigns a UID
	}
	dryRun := req.DryRun != nil && *req.DryRun
	verdict, err := v.quota.Check(ctx, program, pod, &r.Demand, !dryRun)
	if err != nil {
		return answer{failure: err, outcome: outcomeFailed, reason: "unavailable"}
	}
	if len(verdict.Exceeded) == 0 {
		a := allowed(outcomeAllowed, verdict.Warnings...)
		a.vendors = r.Vendors
		return a
	}
	slices.Sort(verdict.Resources)
	if !dryRun {
		v.metrics.overQuota(req.Namespace, slices.Compact(verdict.Resources))
	}
	r.Warnings = verdict.Warnings
	return denied(http.StatusForbidden, metav1.StatusReasonForbidden, "exceeded quota: "+strings.Join(verdict.Exceeded, "\n"), r)
}
