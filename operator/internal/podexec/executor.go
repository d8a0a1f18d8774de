package podexec

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/backoff"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/overlay"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

// FirstRetry is the first wait between attempts for Pods that are refused, and between replacements of Pods that end by themselves; the longest is
// reconcile.LastRetry.
const FirstRetry = time.Second

// Config is what an Executor needs. All of it is required.
type Config struct {
	// Client writes. Live reads from the API server.
	Client client.Client
	Live   client.Reader
	// Clock tells the time.
	Clock clock.PassiveClock
}

// Executor creates and deletes the Pods of clusters. It may be used from several goroutines, for one cluster by one at a time.
type Executor struct {
	client  client.Client
	live    client.Reader
	written *overlay.Overlay[*corev1.Pod]
	refused *backoff.Limiter[[]Failure] // by operation and group: what the API server refuses, or did not answer
	ended   *backoff.Limiter[struct{}]  // by group: Pods that ended by themselves
}

// New returns an Executor.
func New(c Config) *Executor {
	waits := backoff.Config{First: FirstRetry, Last: reconcile.LastRetry}
	return &Executor{
		client:  c.Client,
		live:    c.Live,
		written: overlay.New(c.Clock, terminating),
		refused: backoff.New[[]Failure](c.Clock, waits),
		ended:   backoff.New[struct{}](c.Clock, waits),
	}
}

// terminating copies no more than the field that is replaced: the rest is shared with the cache.
func terminating(p *corev1.Pod, since metav1.Time) *corev1.Pod {
	c := *p
	c.DeletionTimestamp = &since
	return &c
}

// View returns the Pods of a cluster as if the cache had seen all writes of the Executor. The Pods are not copied.
func (x *Executor) View(cluster types.UID, cached []*corev1.Pod) []*corev1.Pod {
	return x.written.List(cluster, cached)
}

// Pending reports whether the cache lacks writes of the Executor.
func (x *Executor) Pending(cluster types.UID) bool { return x.written.Pending(cluster) }

// Gone is called by the watch when a Pod is gone.
func (x *Executor) Gone(cluster, pod types.UID) { x.written.Gone(cluster, pod) }

// Forget drops what is known of a cluster that is gone.
func (x *Executor) Forget(cluster types.UID) {
	x.written.Forget(cluster)
	x.refused.Forget(cluster)
	x.ended.Forget(cluster)
}

// Unfinished reports whether the last attempt at workers of the group did not get all of them, so that a replica may lack hosts
// that it never had.
func (x *Executor) Unfinished(cluster metav1.Object, group string) bool {
	_, unfinished := x.refused.Last(attempt{creating, group}.key(cluster), cluster.GetGeneration())
	return unfinished
}

// Work is what one run is to do for a cluster.
type Work struct {
	// Cluster controls the Pods.
	Cluster *rayv1.RayCluster
	// Delete are Pods to delete, all controlled by the cluster; those of one group stand together.
	Delete []podplan.Deletion
	// Head is the head Pod to create, with its name; nil for none. If it cannot be had no workers are created: they would only use
	// up what the head needs.
	Head *corev1.Pod
	// Groups are the workers to create.
	Groups []Group
	// Hold says that nothing may be created yet, whatever Head and Groups say.
	Hold bool
	// Room bounds the workers to create, where that is fewer than a run may; nil does not.
	Room *int
}

// Group are workers of one group to create.
type Group struct {
	// Name is that of the group.
	Name string
	// Model is what all of them are copies of.
	Model *corev1.Pod
	// Places has an entry for each Pod, replica by replica; nil is a Pod without a place in a replica.
	Places []*pod.Replica
}

// Result is what one run did.
type Result struct {
	// Created are the Pods as the server has them, and Deleted those that were deleted.
	Created []*corev1.Pod
	Deleted []podplan.Deletion
	// DeletedAll says that all Pods of the cluster were to be deleted.
	DeletedAll bool
	// Failures are what the API server refused, Earlier what it refused before and is too early to be tried again.
	Failures, Earlier []Failure
	// More says that the run ended because it is bounded, so that the next is due at once.
	More bool
	// After asks for another run after this time; zero for none.
	After time.Duration
	// Err says that the API server did not answer, or has too much to do.
	Err error
}

// Failure is an operation that the API server refused.
type Failure struct {
	// Reason is that of the condition ReplicaFailure.
	Reason string
	// Message does not change from one attempt to the next while the refusal is the same.
	Message string
	// Refusal is report.Refusal of the answer.
	Refusal string
	// Event is the reason of the event; empty where the condition's tells it.
	Event string
}
