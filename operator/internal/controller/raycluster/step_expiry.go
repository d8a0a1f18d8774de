package raycluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/expiryplan"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/dashboard"
)

// expiryManager is the field manager of spec.suspend of a cluster that is suspended here.
const expiryManager = "raygate-expiry"

// reasonOfUse are the reasons of the condition Idle for the uses of a cluster.
var reasonOfUse = map[dashboard.Use]string{
	dashboard.UseDriver: rayv1.ReasonDriverRuns, dashboard.UseJob: rayv1.ReasonJobActive, dashboard.UseServe: rayv1.ReasonServeActive,
	dashboard.UseActor: rayv1.ReasonActorAlive, dashboard.UseComponent: rayv1.ReasonComponentActive,
}

// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=patch;delete

// expiry suspends or deletes a cluster that is idle or old, and suspends and resumes it by schedules; package expiryplan decides. A
// suspension of an earlier reconcile is not repeated: the plan of a suspended cluster has no action.
func (r *Reconciler) expiry(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	known := r.activities.known(s.cluster.UID)
	in := expiryplan.Input{Cluster: s.cluster, Policy: r.config.Expiry.For(s.cluster.Namespace), Now: s.now, Usage: expiryplan.Usage{
		AskedAt: known.AskedAt, FailingSince: known.FailingSince, Active: reasonOfUse[known.Value.Use], LastEnd: known.Value.LastEnd,
	}}
	var err error
	if in.Job, err = r.interactiveJob(ctx, s.cluster); err != nil {
		return reconcile.Outcome{}, err
	}
	head := readyHead(s)
	if head != nil {
		in.HeadSince = podplan.Condition(head, corev1.PodReady).LastTransitionTime.Time
	}
	s.expiry = expiryplan.For(in)
	if s.expiry.Interval == 0 && guarded(s.cluster) {
		s.expiry.Interval = guardInterval
	}
	s.after(s.expiry.After)
	if r.activities.watch(s.cluster, head, s.headService, s.expiry, known) {
		s.after(reconcile.Soon)
	}
	if s.expiry.Action == "" && !s.expiry.Resume {
		return reconcile.Outcome{}, nil
	}
	return r.expire(ctx, s)
}

// +kubebuilder:rbac:groups=ray.io,resources=rayjobs,verbs=get;list;watch

// interactiveJob returns the RayJob in InteractiveMode that controls the cluster; nil if there is none.
func (r *Reconciler) interactiveJob(ctx context.Context, rc *rayv1.RayCluster) (*rayv1.RayJob, error) {
	name := expiryplan.InteractiveJob(rc)
	if name == "" {
		return nil, nil
	}
	j := &rayv1.RayJob{}
	err := r.config.Client.Get(ctx, client.ObjectKey{Namespace: rc.Namespace, Name: name}, j)
	switch {
	case apierrors.IsNotFound(err), err == nil && !metav1.IsControlledBy(rc, j):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading RayJob %s: %w", name, err)
	}
	return j, nil
}

// readyHead returns the head Pod if its dashboard can be asked, nil otherwise.
func readyHead(s *scope) *corev1.Pod {
	i := slices.IndexFunc(s.pods, func(p *corev1.Pod) bool { return isHead(p) && p.DeletionTimestamp == nil && podReady(p) })
	if i < 0 || s.headService == nil {
		return nil
	}
	return s.pods[i]
}

// expire suspends, deletes or resumes the cluster, unless it has changed since it was read: somebody may have decided to keep it.
func (r *Reconciler) expire(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	version, uid := s.cluster.ResourceVersion, s.cluster.UID
	target := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.cluster.Namespace, Name: s.cluster.Name}}
	event := report.Normal("SuspendedExpired", actionUpdate, "Suspended the cluster: %s", s.expiry.Expired.Message)
	if s.expiry.Resume {
		event = report.Normal("ResumedBySchedule", actionUpdate, "Resumed the cluster: it is time by the annotation %s", rayv1.AnnotationResumeSchedule)
	}
	var err error
	if s.expiry.Action == rayv1.ExpiryDelete {
		event = report.Normal("DeletedExpired", actionDelete, "Deleted the cluster: %s", s.expiry.Expired.Message)
		err = r.config.Client.Delete(ctx, target, client.Preconditions{UID: &uid, ResourceVersion: &version})
	} else {
		var body []byte
		if body, err = json.Marshal(map[string]any{
			"metadata": map[string]any{"uid": uid, "resourceVersion": version}, "spec": map[string]any{"suspend": !s.expiry.Resume},
		}); err == nil {
			err = r.config.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, body), client.FieldOwner(expiryManager))
		}
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		r.versions.Replaced(s.stored)
		return reconcile.Outcome{Stop: true, After: reconcile.Soon}, nil
	case err != nil:
		s.errs = append(s.errs, fmt.Errorf("expiring the cluster: %w", err))
		return reconcile.Outcome{}, nil
	}
	r.versions.Replaced(s.stored)
	ctrllog.FromContext(ctx).Info("Expired the cluster", "action", s.expiry.Action, "resume", s.expiry.Resume, "cause", s.expiry.Expired.Reason)
	s.events = append(s.events, event)
	if s.expiry.Action == rayv1.ExpiryDelete {
		s.deleting = true // there may be no status to save any more
		return reconcile.Outcome{}, nil
	}
	s.cluster.ResourceVersion, s.cluster.Generation, s.cluster.Spec.Suspend = target.ResourceVersion, target.Generation, new(!s.expiry.Resume)
	return reconcile.Outcome{After: reconcile.Soon}, nil
}

// setExpiry sets the conditions Idle and Expired with the times of the plan. A warning also sends an event.
func setExpiry(s *scope, _ tally) {
	for _, c := range []struct {
		kind string
		want *metav1.Condition
	}{{rayv1.RayClusterIdle, s.expiry.Idle}, {rayv1.RayClusterExpired, s.expiry.Expired}} {
		if c.want == nil {
			s.conditions().Remove(c.kind)
			continue
		}
		warned := meta.IsStatusConditionFalse(s.cluster.Status.Conditions, c.kind)
		s.conditions().Set(c.kind, c.want.Status, c.want.Reason, c.want.Message)
		s.conditions().Find(c.kind).LastTransitionTime = c.want.LastTransitionTime
		if c.kind == rayv1.RayClusterExpired && c.want.Status == metav1.ConditionFalse && !warned {
			s.events = append(s.events, report.Warning("AboutToExpire", actionReconcile, c.want.Message))
		}
	}
}
