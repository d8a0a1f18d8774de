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

// defaultCleanUpTimeout is how long deletion waits for Redis to be emptied, counted from the deletion.
const defaultCleanUpTimeout = 300 * time.Second

// cleanUpRetry is how often a clean-up that is refused is tried again. Redis may come back any moment, and time is short.
const cleanUpRetry = 5 * time.Second

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create

// finalize ends the list for an object that is being deleted. Its children carry owner references, and garbage
// collection removes them. A finalizer of ours is always resolved, whatever the spec says by now: Pods first, then the Job that
// empties Redis, and at the latest when the time is up the object goes.
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
		return again, nil // the GCS writes to Redis until it is gone; the watch tells when it is
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

// withoutCleanUp says why there is nothing to clean up, or no way to; empty if there is.
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

// letGo takes the finalizer away, which lets the object go, and tells the event, if any, after it succeeded.
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

// deletePods deletes what still runs, the head first. Workers are deleted but not waited for.
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
		return errors.New(failure.Message) // they are alike
	}
	return result.Err
}

func isHead(p *corev1.Pod) bool { return p.Labels[rayv1.LabelNodeType] == string(rayv1.HeadNode) }

// cleanUpJob returns the Job that empties Redis, making it if there is none.
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

// ended is how the Job ended, if in one of these ways; else nil.
func ended(j *batchv1.Job, ways ...batchv1.JobConditionType) *batchv1.JobCondition {
	for _, c := range j.Status.Conditions {
		if c.Status == corev1.ConditionTrue && slices.Contains(ways, c.Type) {
			return &c
		}
	}
	return nil
}

// timeout is how long to wait for Redis to be emptied.
func timeout(rc *rayv1.RayCluster) time.Duration {
	if n, err := strconv.ParseInt(rc.Annotations[rayv1.AnnotationGCSFTDeletionTimeout], 10, 32); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	return defaultCleanUpTimeout
}

// warn tells of something that goes wrong, once for every text: of a cluster that is being deleted no condition is saved.
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

// eventCleanUpSkipped is none for a cluster whose metadata never was in Redis, as far as anybody knows.
func eventCleanUpSkipped(rc *rayv1.RayCluster, why string) report.Event {
	if gcs.Backend(rc) == rayv1.GcsFTBackendRocksDB {
		return report.Event{}
	}
	return report.Warning("RedisCleanupSkipped", actionCleanup, fmt.Sprintf(
		"Let the cluster go without emptying Redis, because %s; metadata may be left in the storage namespace %s", why, gcs.StorageNamespace(rc)))
}

// +kubebuilder:rbac:groups=ray.io,resources=rayclusters,verbs=patch

// ensureFinalizer keeps a cluster whose metadata is in Redis from vanishing before that is cleaned up. The finalizer is there before the
// first Pod is. It is not taken away again while the cluster lives: finalize knows what to do with one that is not needed.
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

// awaitsCleanUp reports whether the cluster is being deleted and waits for us, who once promised to clean up. Nobody else can let it
// go, whoever manages it now.
func awaitsCleanUp(rc *rayv1.RayCluster) bool {
	return rc.DeletionTimestamp != nil && controllerutil.ContainsFinalizer(rc, rayv1.FinalizerGCSFTRedisCleanup)
}
