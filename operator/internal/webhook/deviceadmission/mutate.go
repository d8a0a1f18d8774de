package deviceadmission

import (
	"context"

	"gomodules.xyz/jsonpatch/v2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/devices/plan"
)

// complete returns a patch with the missing fields of the Pod.
func complete(_ context.Context, req admission.Request, program *plan.Program) answer {
	pod, err := plan.FromJSON(req.Object.Raw)
	if err != nil {
		return undecodable(err)
	}
	r := program.Plan(pod)
	if pod.HasLabel(rayv1.LabelNodeType) {
		r.Warnings = append(r.Warnings, program.RayWarnings(r.Devices)...)
	}
	a := completed(r)
	a.pod = pod.Identity()
	return a
}

func completed(r *plan.Result) answer {
	if r.Refused() {
		return refused(r)
	}
	ops := r.Operations()
	if len(ops) == 0 && len(r.Warnings) == 0 {
		return allowed(outcomeNothing)
	}
	outcome := outcomeAllowed
	if len(ops) > 0 {
		outcome = outcomePatched
	}
	a := allowed(outcome, r.Warnings...)
	a.vendors = r.Vendors
	for _, op := range ops {
		a.Patches = append(a.Patches, jsonpatch.NewOperation(op.Op, op.Path, op.Value))
	}
	return a
}
