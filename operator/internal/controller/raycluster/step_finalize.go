package raycluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/gcs"
	"github.com/raygate/raygate/operator/internal/build/job"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/podexec"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
)

// defaultCleanUpTimeout is how long a deletion waits for the cleanup of Redis, counted from the deletion timestamp.
const defaultCleanUpTimeout = 300 * time.Second

// cleanUpRetry is the retry interval of a rejected cleanup. It is short because Redis may recover at any moment and the deletion
// has a deadline.
const cleanUpRetry = 5 * time.Second

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create

// finalize ends the list for an object that is being deleted. Its children have owner references, so garbage collection removes
// them. The operator's finalizer is always removed, whatever the spec contains: after the Pods are deleted and the Job has cleaned
// up Redis, or after the timeout.
func (r *Reconciler) finalize(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	rc := s.cluster
	s.deleting = rc.DeletionTimestamp != nil
	if !s.deleting {
		return reconcile.Outcome{}, nil
	}
	if !awaitsCleanUp(rc) {
		return reconcile.Outcome{Stop: true}, nil
	}
	o, err := r.cleanUp(ctx, s)
	o.Stop = true
	return o, err
}

func (r *Reconciler) cleanUp(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	rc := s.cluster
	left := timeout(rc) - r.config.Clock.Since(rc.DeletionTimestamp.Time)
	switch why := r.withoutCleanUp(rc); {
	case why != "":
		return r.letGo(ctx, s, eventCleanUpSkipped(rc, why))
	case left <= 0:
		return r.letGo(ctx, s, eventForceDeleted(rc, r.config.Clock.Since(rc.DeletionTimestamp.Time)))
	}
	again := reconcile.Outcome{After: left}
	if err := r.deletePods(ctx, s); err != nil {
		s.warn("FailedToDeletePodCollection", actionDelete, fmt.Sprintf("deleting the Pods before Redis is cleaned up: %v", err))
		again.After = min(left, cleanUpRetry)
	}
	if slices.ContainsFunc(s.pods, isHead) {
		return again, nil // the GCS writes to Redis until it ends; the watch reports the end
	}
	found, err := r.cleanUpJob(ctx, s)
	if err != nil {
		s.warn("FailedToCreateRedisCleanupJob", actionCreate, err.Error())
		again.After = min(left, cleanUpRetry)
		return again, nil
	}
	if ended(found, batchv1.JobComplete) != nil {
		return r.letGo(ctx, s, report.Event{})
	}
	if how := ended(found, batchv1.JobFailed, batchv1.JobFailureTarget); how != nil {
		return r.letGo(ctx, s, eventCleanUpFailed(rc, found.Name, how))
	}
	return again, nil
}

// withoutCleanUp returns why no cleanup is needed or possible; empty if it is needed.
func (r *Reconciler) withoutCleanUp(rc *rayv1.RayCluster) string {
	switch backend := gcs.Backend(rc); {
	case backend == rayv1.GcsFTBackendRocksDB:
		return "the metadata is on a volume now"
	case backend == "":
		return "fault tolerance was turned off, and with it went the address of Redis"
	case !r.config.CleanUpRedis:
		return "the operator is configured not to"
	case len(rc.Spec.HeadGroupSpec.Template.Spec.Containers) == 0:
		return "the head has no container to do it with"
	}
	return ""
}

// letGo removes the finalizer and then adds the event, unless it is empty.
func (r *Reconciler) letGo(ctx context.Context, s *scope, e report.Event) (reconcile.Outcome, error) {
	saved, err := r.versions.SetFinalizer(ctx, r.config.Client, s.cluster, rayv1.FinalizerGCSFTRedisCleanup, false)
	if err != nil || !saved {
		return reconcile.Outcome{After: reconcile.Soon}, err
	}
	ctrllog.FromContext(ctx).Info("Let the cluster go", "event", e.Note)
	if e.Reason != "" {
		s.events = append(s.events, e)
	}
	return reconcile.Outcome{}, nil
}

// deletePods deletes the remaining Pods, the head first. It does not wait for workers.
func (r *Reconciler) deletePods(ctx context.Context, s *scope) error {
	var list []podplan.Deletion
	for _, p := range s.pods {
		if p.DeletionTimestamp == nil && p.Labels[rayv1.LabelNodeType] != string(rayv1.RedisCleanupNode) {
			list = append(list, podplan.Deletion{Pod: p, Group: p.Labels[rayv1.LabelGroup], Reason: podplan.ReasonSuspended})
		}
	}
	slices.SortStableFunc(list, func(a, b podplan.Deletion) int {
		return strings.Compare(a.Pod.Labels[rayv1.LabelNodeType], b.Pod.Labels[rayv1.LabelNodeType]) // head comes before worker
	})
	result := r.executor.Run(ctx, podexec.Work{Cluster: s.cluster, Delete: list})
	s.more = result.More
	s.after(result.After)
	for _, failure := range result.Failures {
		return errors.New(failure.Message) // all failures have the same cause
	}
	return result.Err
}

func isHead(p *corev1.Pod) bool { return p.Labels[rayv1.LabelNodeType] == string(rayv1.HeadNode) }

// cleanUpJob returns the Job that cleans up Redis, and creates it if it is missing.
func (r *Reconciler) cleanUpJob(ctx context.Context, s *scope) (*batchv1.Job, error) {
	result := r.children.Ensure(ctx, s.cluster, children.Child{Desired: job.RedisCleanup(s.cluster, r.config.Pod), AsFound: true})
	s.after(result.After)
	switch {
	case result.Err != nil:
		return nil, result.Err
	case result.Failure != nil:
		return nil, errors.New(result.Failure.Message)
	case result.Done == children.Create:
		s.events = append(s.events, report.Normal("CreatedRedisCleanupJob", actionCreate, "Created Job %s, which empties Redis", result.Name))
	}
	return result.Object.(*batchv1.Job), nil
}

// ended returns the condition of the Job among the given types that is true, or nil.
func ended(j *batchv1.Job, ways ...batchv1.JobConditionType) *batchv1.JobCondition {
	for _, c := range j.Status.Conditions {
		if c.Status == corev1.ConditionTrue && slices.Contains(ways, c.Type) {
			return &c
		}
	}
	return nil
}

// timeout returns how long to wait for the cleanup of Redis.
func timeout(rc *rayv1.RayCluster) time.Duration {
	if n, err := strconv.ParseInt(rc.Annotations[rayv1.AnnotationGCSFTDeletionTimeout], 10, 32); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	return defaultCleanUpTimeout
}

// warn sends each warning text once, because no condition is saved for a cluster that is being deleted.
func (s *scope) warn(reason, action, message string) {
	if s.said.News(s.cluster.UID, "deletion "+reason, message) {
		s.events = append(s.events, report.Warning(reason, action, message))
	}
}

func eventForceDeleted(rc *rayv1.RayCluster, age time.Duration) report.Event {
	return report.Warning("ForceDeletedStuckCluster", actionCleanup, fmt.Sprintf(
		"Let the cluster go %s after its deletion although Redis was not emptied; its metadata is left in the storage namespace %s",
		age.Round(time.Second), gcs.StorageNamespace(rc)))
}

func eventCleanUpFailed(rc *rayv1.RayCluster, job string, how *batchv1.JobCondition) report.Event {
	return report.Warning("RedisCleanupFailed", actionCleanup, fmt.Sprintf(
		"Let the cluster go although Job %s could not empty Redis (%s); its metadata is left in the storage namespace %s",
		job, cmp.Or(how.Message, how.Reason, "its Pod failed"), gcs.StorageNamespace(rc)))
}

// eventCleanUpSkipped returns an empty event for a cluster whose metadata is not in Redis.
func eventCleanUpSkipped(rc *rayv1.RayCluster, why string) report.Event {
	if gcs.Backend(rc) == rayv1.GcsFTBackendRocksDB {
		return report.Event{}
	}
	return report.Warning("RedisCleanupSkipped", actionCleanup, fmt.Sprintf(
		"Let the cluster go without emptying Redis, because %s; metadata may be left in the storage namespace %s", why, gcs.StorageNamespace(rc)))
}

// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=patch

// ensureFinalizer adds the finalizer to a cluster with metadata in Redis before its first Pod exists. It never removes the
// finalizer from a live cluster: finalize handles one that is no longer needed.
func (r *Reconciler) ensureFinalizer(ctx context.Context, s *scope) (reconcile.Outcome, error) {
	rc := s.cluster
	if !r.config.CleanUpRedis || gcs.Backend(rc) != rayv1.GcsFTBackendRedis || controllerutil.ContainsFinalizer(rc, rayv1.FinalizerGCSFTRedisCleanup) {
		return reconcile.Outcome{}, nil
	}
	saved, err := r.versions.SetFinalizer(ctx, r.config.Client, rc, rayv1.FinalizerGCSFTRedisCleanup, true)
	if err != nil || saved {
		return reconcile.Outcome{}, err
	}
	return reconcile.Outcome{Stop: true, After: reconcile.Soon}, nil
}

// awaitsCleanUp reports whether the cluster is being deleted and has the operator's finalizer. Only the operator removes it, even
// if the cluster has another manager now.
func awaitsCleanUp(rc *rayv1.RayCluster) bool {
	return rc.DeletionTimestamp != nil && controllerutil.ContainsFinalizer(rc, rayv1.FinalizerGCSFTRedisCleanup)
}
