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

// Quota says whether Pods fit.
type Quota interface {
	// Ready reports whether all Pods and quotas are known.
	Ready() bool
	Check(p *plan.Program, pod *corev1.Pod, d *plan.Demand, reserve bool) devicequota.Verdict
}

// validator looks at Pods as they will be stored.
type validator struct {
	quota   Quota // nil means that there is none
	metrics *Metrics
}

// ready keeps a replica that does not know what is used from admitting anything.
func (v *validator) ready() error {
	if v.quota == nil || v.quota.Ready() {
		return nil
	}
	return errors.New("the Pods and quotas of the cluster are not known yet")
}

func (v *validator) handle(_ context.Context, req admission.Request, program *plan.Program, pod *plan.Pod) answer {
	r := program.Plan(pod)
	if r.Refused() {
		r.Warnings = nil // the other webhook gave them
		return refused(r)
	}
	if len(r.Devices) == 0 || v.quota == nil {
		return allowed(outcomeNothing)
	}
	var typed corev1.Pod
	if err := json.UnmarshalCaseSensitivePreserveInts(req.Object.Raw, &typed); err != nil {
		return answer{Response: admission.Errored(http.StatusBadRequest, err), outcome: outcomeDenied, reason: "undecodable"}
	}
	typed.Namespace = req.Namespace
	if typed.UID == "" {
		typed.UID = req.UID // an API server that asks before it has given one
	}
	dryRun := req.DryRun != nil && *req.DryRun
	verdict := v.quota.Check(program, &typed, &r.Demand, !dryRun)
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
