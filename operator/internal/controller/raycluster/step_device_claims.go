package raycluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/devices/claims"
	"github.com/raygate/raygate/pkg/devices/raycount"
)

// Reasons of events about ResourceClaims. The first one is a reason of the condition ChildFailure, too.
const (
	reasonClaimNotFound    = "ResourceClaimNotFound"
	reasonClaimsNotCounted = "ResourceClaimsNotCounted"
)

// +kubebuilder:rbac:groups=resource.k8s.io,resources=resourceclaims;resourceclaimtemplates;deviceclasses,verbs=get;list;watch

// deviceClaims derives the devices of Pods from their ResourceClaims. Pods of a group wait for the objects that its claims name, unless the
// user gives Ray the numbers. If the objects cannot be read, Pods are created as by KubeRay, without the numbers.
func (r *Reconciler) deviceClaims(ctx context.Context, s *scope) {
	found, err := r.claims.Read(ctx, s.cluster)
	s.claims, s.awaitsClaims = found.Groups, map[string]bool{}
	s.after(found.Recheck)
	if err != nil {
		s.errs = append(s.errs, fmt.Errorf("reading what ResourceClaims request: %w", err))
		s.hold("the objects that ResourceClaims name cannot be read")
		return
	}
	if found.Unserved {
		s.warnOnce(reasonClaimsNotCounted, "the API server does not serve resource.k8s.io/v1, so Ray is started without the devices of ResourceClaims")
	}
	missing, unreadable, unknown := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for group, d := range s.claims {
		add(unreadable, d.Unreadable)
		add(unknown, d.Unknown)
		if len(d.Missing) > 0 && !givesDevices(s.cluster, group) {
			s.awaitsClaims[group] = true
			add(missing, d.Missing)
		}
	}
	if len(unreadable) > 0 {
		s.warnOnce(reasonClaimsNotCounted, "the operator may not read "+joined(unreadable)+", so Ray may be started without the devices of these ResourceClaims")
	}
	if len(unknown) > 0 {
		s.warnOnce(reasonClaimsNotCounted, "the devices of DeviceClass "+joined(unknown)+" count for Ray only with the annotation "+
			claims.AnnotationRayResource+" on the class: GPU, TPU, the name of a custom resource, or None")
	}
	if unseen := r.unseenByAutoscaler(s); len(unseen) > 0 {
		s.warnOnce(reasonClaimsNotCounted, "the autoscaler does not know the devices that workers of "+joined(unseen)+
			" claim, so it does not start nodes for them: set num-gpus or resources in rayStartParams, or run the operator with --device-autoscaler-facts")
	}
	if len(missing) > 0 {
		s.awaitClaims("Pods of " + strings.Join(slices.Sorted(maps.Keys(s.awaitsClaims)), ", ") + " wait for " + joined(missing) + ": without it, the number of their devices is unknown")
	}
}

// unseenByAutoscaler returns the worker groups whose claimed devices the autoscaler cannot know.
func (r *Reconciler) unseenByAutoscaler(s *scope) map[string]bool {
	unseen := map[string]bool{}
	if r.config.DeviceFacts || !ptr.Deref(s.cluster.Spec.EnableInTreeAutoscaling, false) {
		return unseen
	}
	for group, d := range s.claims {
		if group != rayv1.HeadGroupName && len(d.Ray) > 0 && !givesDevices(s.cluster, group) {
			unseen[group] = true
		}
	}
	return unseen
}

// awaitClaims reports missing objects in an event, and in a condition if they are still missing after the time in which files are applied.
func (s *scope) awaitClaims(message string) {
	s.warnOnce(reasonClaimNotFound, message)
	if left := podplan.TroubleAfter - s.now.Sub(s.cluster.CreationTimestamp.Time); left > 0 {
		s.after(left + time.Second)
		return
	}
	s.children = append(s.children, childFailure{reason: reasonClaimNotFound, message: message})
}

// warnOnce sends an event for each new message with this reason. It is repeated until the status was saved with it.
func (s *scope) warnOnce(reason, message string) {
	if !s.said.Has(s.cluster.UID, reason, message) {
		s.events = append(s.events, report.Warning(reason, actionCreate, message))
	}
	if s.warned == nil {
		s.warned = map[string][]string{}
	}
	s.warned[reason] = append(s.warned[reason], message)
}

func add(to map[string]bool, list []string) {
	for _, one := range list {
		to[one] = true
	}
}

func joined(set map[string]bool) string { return strings.Join(slices.Sorted(maps.Keys(set)), ", ") }

// givesDevices reports whether the user gives Ray the numbers of the group's GPUs or TPUs.
func givesDevices(rc *rayv1.RayCluster, group string) bool {
	h := &rc.Spec.HeadGroupSpec
	of := raycount.Group{StartParams: h.RayStartParams, Resources: h.Resources}
	if group != rayv1.HeadGroupName {
		i := slices.IndexFunc(rc.Spec.WorkerGroupSpecs, func(g rayv1.WorkerGroupSpec) bool { return g.GroupName == group })
		if i < 0 {
			return false
		}
		g := &rc.Spec.WorkerGroupSpecs[i]
		of = raycount.Group{StartParams: g.RayStartParams, Resources: g.Resources}
	}
	return of.SetsGPUs() || of.Sees(claims.TPU)
}

// podOptions returns the options of the builder for this cluster.
func (r *Reconciler) podOptions(s *scope) pod.Options {
	o := r.config.Pod
	o.Claims = s.claims
	return o
}
