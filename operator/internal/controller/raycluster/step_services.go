package raycluster

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/podexec"
	"github.com/raygate/raygate/operator/internal/report"
)

// withoutHeadService is the reason to hold Pods without a head Service: workers would not find the head.
const withoutHeadService = "the head Service does not exist and cannot be created"

// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch;delete

// headService creates the Service by which workers, the gateway and users reach the head.
func (r *Reconciler) headService(ctx context.Context, s *scope) {
	result := r.children.Ensure(ctx, s.cluster, children.Child{Desired: service.Head(s.cluster, r.config.Service)})
	s.after(result.After)
	svc, ok := result.Object.(*corev1.Service)
	ours := ok && s.cluster.Owns(svc)
	if ours {
		s.headService = svc
	}
	if result.Err != nil {
		s.errs = append(s.errs, result.Err)
		s.headServiceUnknown = !ours
	}
	if f := result.Failure; f != nil {
		s.failures = append(s.failures, podexec.Failure{Reason: rayv1.ReasonFailedCreateHeadService, Message: f.Message, Refusal: f.Refusal})
	}
	if !ours || svc.DeletionTimestamp != nil {
		s.hold(withoutHeadService)
	}
	switch result.Done {
	case children.Create:
		s.madeService = result.Name
	case children.Update:
		s.events = append(s.events, report.Normal("UpdatedService", actionUpdate, "Updated Service %s", result.Name))
	}
}

// headlessService gives the hosts of a multi-host replica DNS names.
func (r *Reconciler) headlessService(ctx context.Context, s *scope) {
	desired := service.Headless(s.cluster)
	multiHost := func(p *corev1.Pod) bool { return p.Labels[rayv1.LabelReplicaHostIndex] != "" }
	switch {
	case service.NeedsHeadless(s.cluster):
		s.dependent(r.children.Ensure(ctx, s.cluster, children.Child{Desired: desired}))
	case !slices.ContainsFunc(s.pods, multiHost):
		s.dependent(r.children.Remove(ctx, s.cluster, desired))
	}
}

// serveService creates the Service for Ray Serve on a plain cluster, if an annotation requests it.
func (r *Reconciler) serveService(ctx context.Context, s *scope) {
	if names.CreatorKind(s.cluster) == "RayService" {
		return // RayService creates a Service with this name for incremental upgrades
	}
	desired := service.Serve(s.cluster)
	switch {
	case !service.NeedsServe(s.cluster):
		s.dependent(r.children.Remove(ctx, s.cluster, desired))
	case len(desired.Spec.Ports) == 0:
		s.children = append(s.children, childFailure{reason: "FailedToCreateService", action: actionCreate, message: fmt.Sprintf(
			"Service %s would have no port: the Ray container of the head declares none named serve or beginning with serve-", desired.Name)})
	default:
		s.dependent(r.children.Ensure(ctx, s.cluster, children.Child{Desired: desired}))
	}
}
