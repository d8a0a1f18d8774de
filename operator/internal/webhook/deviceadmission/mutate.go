package deviceadmission

import (
	"context"

	"gomodules.xyz/jsonpatch/v2"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/pkg/devices/plan"
)

// complete answers with what the Pod lacks.
func complete(_ context.Context, _ admission.Request, program *plan.Program, pod *plan.Pod) answer {
	r := program.Plan(pod)
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

// metadata is that of a Pod that was read already.
func metadata(raw []byte) metav1.PartialObjectMetadata {
	var meta metav1.PartialObjectMetadata
	_ = json.UnmarshalCaseSensitivePreserveInts(raw, &meta) // it is for the log
	return meta
}
