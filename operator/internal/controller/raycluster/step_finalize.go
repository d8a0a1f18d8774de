package raycluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/apply"
	"github.com/raygate/raygate/operator/internal/build/gcs"
	"github.com/raygate/raygate/operator/internal/build/job"
	"github.com/raygate/raygate/operator/internal/build/pod"
)

// defaultCleanUpTimeout is how long deletion waits for Redis to be emptied, counted from the deletion.
const defaultCleanUpTimeout = 300 * time.Second

// cleanUpRetry is how often a clean-up that is refused is tried again. Redis may come back any moment, and time is short.
const cleanUpRetry = 5 * time.Second

// finalize ends the list for an object that is being deleted. Its children carry owner references, and garbage
// collection removes them. A finalizer of ours is always resolved, whatever the spec says by now: Pods first, then the Job that
// empties Redis, and at the latest when the time is up the object goes.
type finalize struct {
	client       client.Client
	children     *children
	clock        clock.PassiveClock
	expectations *expectations
	slots        *fairSlots
	cleanUp      bool
	options      pod.Options
}

// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create

// Run implements step.
func (f *finalize) Run(ctx context.Context, s *scope) (outcome, error) {
	rc := s.cluster
	s.deleting = rc.DeletionTimestamp != nil
	if !s.deleting {
		return outcome{}, nil
	}
	if !guarded(rc) {
		return outcome{stop: true}, nil
	}
	o, err := f.resolve(ctx, s)
	o.stop = true
	return o, err
}

func (f *finalize) resolve(ctx context.Context, s *scope) (outcome, error) {
	rc := s.cluster
	left := timeout(rc) - f.clock.Since(rc.DeletionTimestamp.Time)
	switch why := f.unneeded(rc); {
	case why != "":
		return f.release(ctx, s, eventCleanUpSkipped(rc, why))
	case left <= 0:
		return f.release(ctx, s, eventForceDeleted(rc, f.clock.Since(rc.DeletionTimestamp.Time)))
	}
	again := outcome{lookAgain: left}
	if err := f.deletePods(ctx, s); err != nil {
		f.warn(s, "FailedToDeletePodCollection", actionDelete, fmt.Sprintf("deleting the Pods before Redis is cleaned up: %v", err))
		again.lookAgain = soonest(left, cleanUpRetry)
	}
	if slices.ContainsFunc(s.pods, isHead) {
		return again, nil // the GCS writes to Redis until it is gone; the watch tells when it is
	}
	found, err := f.job(ctx, s)
	switch {
	case err != nil:
		f.warn(s, "FailedToCreateRedisCleanupJob", actionCreate, err.Error())
		again.lookAgain = soonest(left, cleanUpRetry)
	case finished(found, batchv1.JobComplete):
		return f.release(ctx, s, notice{})
	case finished(found, batchv1.JobFailed), finished(found, batchv1.JobFailureTarget):
		return f.release(ctx, s, eventCleanUpFailed(rc, found))
	}
	return again, nil
}

// unneeded says why there is nothing to clean up, or no way to; empty if there is.
func (f *finalize) unneeded(rc *rayv1.RayCluster) string {
	switch backend := gcs.Backend(rc); {
	case backend == rayv1.GcsFTBackendRocksDB:
		return "the metadata is on a volume now"
	case backend == "":
		return "fault tolerance was turned off, and with it went the address of Redis"
	case !f.cleanUp:
		return "the operator is configured not to"
	case len(rc.Spec.HeadGroupSpec.Template.Spec.Containers) == 0:
		return "the head has no container to do it with"
	}
	return ""
}

// release takes the finalizer away, which lets the object go, and tells the event, if any, after it succeeded.
func (f *finalize) release(ctx context.Context, s *scope, e notice) (outcome, error) {
	rc := s.cluster
	finalizers := slices.DeleteFunc(slices.Clone(rc.Finalizers), func(x string) bool { return x == rayv1.FinalizerGCSFTRedisCleanup })
	err := setFinalizers(ctx, f.client, rc, finalizers)
	switch {
	case apierrors.IsConflict(err):
		return outcome{lookAgain: cacheLag}, nil
	case apierrors.IsNotFound(err):
		return outcome{}, nil
	case err != nil:
		return outcome{}, fmt.Errorf("removing the finalizer: %w", err)
	}
	ctrllog.FromContext(ctx).Info("Let the cluster go", "event", e.note)
	if e.reason != "" {
		s.events = append(s.events, e)
	}
	return outcome{}, nil
}

// deletePods deletes what still runs, the head first. Workers are deleted but not waited for.
func (f *finalize) deletePods(ctx context.Context, s *scope) error {
	var running []*corev1.Pod
	for _, p := range s.pods {
		if p.DeletionTimestamp == nil && p.Labels[rayv1.LabelNodeType] != string(rayv1.RedisCleanupNode) {
			running = append(running, p)
		}
	}
	slices.SortStableFunc(running, func(a, b *corev1.Pod) int { return cmp.Compare(order(a), order(b)) })
	_, failed := burst{limit: f.slots, cluster: s.cluster.UID, n: len(running)}.run(ctx, func(ctx context.Context, i int) error {
		p := running[i]
		err := f.client.Delete(ctx, &corev1.Pod{ObjectMeta: objectKey(p)}, client.Preconditions{UID: &p.UID})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
		f.expectations.podDeleted(s.cluster.UID, p.UID)
		return nil
	})
	for _, err := range failed {
		return err // they are alike
	}
	return nil
}

func isHead(p *corev1.Pod) bool { return p.Labels[rayv1.LabelNodeType] == string(rayv1.HeadNode) }

func order(p *corev1.Pod) int {
	if isHead(p) {
		return 0
	}
	return 1
}

// job returns the Job that empties Redis, making it if there is none.
func (f *finalize) job(ctx context.Context, s *scope) (*batchv1.Job, error) {
	rc := s.cluster
	desired := job.RedisCleanup(rc, f.options)
	_, id, err := f.children.identify(desired)
	if err != nil {
		return nil, err
	}
	st := f.children.memory.of(rc.UID, id)
	found, err := f.children.find(ctx, desired)
	if err != nil {
		return nil, err
	}
	if found = st.believed(found, f.clock.Now()); found == nil {
		w := apply.Writer{Client: f.client, Live: f.children.live}
		taken, err := w.Create(ctx, desired)
		if err != nil {
			return nil, err
		}
		if taken == nil {
			st.made(desired, f.clock.Now())
			s.tell("CreatedRedisCleanupJob", actionCreate, "Created Job %s, which empties Redis", desired.Name)
			return desired, nil
		}
		found = taken
	}
	existing := found.(*batchv1.Job)
	if !metav1.IsControlledBy(existing, rc) {
		return nil, fmt.Errorf("a Job named %s exists and does not belong to this cluster; delete it", existing.Name)
	}
	return existing, nil
}

func finished(j *batchv1.Job, how batchv1.JobConditionType) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == how && c.Status == corev1.ConditionTrue
	})
}

// timeout is how long to wait for Redis to be emptied.
func timeout(rc *rayv1.RayCluster) time.Duration {
	if n, err := strconv.ParseInt(rc.Annotations[rayv1.AnnotationGCSFTDeletionTimeout], 10, 32); err == nil && n > 0 {
		return time.Duration(n) * time.Second
	}
	return defaultCleanUpTimeout
}

// warn tells of something that goes wrong, once for every text: of a cluster that is being deleted no condition is saved, so
// that memory has to do.
func (f *finalize) warn(s *scope, reason, action, message string) {
	st := f.children.memory.of(s.cluster.UID, "deletion "+reason)
	if st.failure != nil && st.failure.message == message {
		return
	}
	st.failure = &childFailure{reason: reason, action: action, message: message}
	s.events = append(s.events, newEvent(corev1.EventTypeWarning, reason, action, message))
}
