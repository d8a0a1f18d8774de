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
	Client client.Client      // writes
	Live   client.Reader      // reads from the API server
	Clock  clock.PassiveClock // tells the time
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
	Cluster *rayv1.RayCluster  // controls the Pods
	Delete  []podplan.Deletion // Pods to delete, all controlled by the cluster; those of one group stand together
	// Head is the head Pod to create, with its name; nil for none. If it cannot be had no workers are created: they would only use
	// up what the head needs.
	Head   *corev1.Pod
	Groups []Group // the workers to create
	Hold   bool    // nothing may be created yet, whatever Head and Groups say
	Room   *int    // bounds the workers to create, where that is fewer than a run may; nil does not
}

// Group are workers of one group to create.
type Group struct {
	Name   string         // that of the group
	Model  *corev1.Pod    // what all of them are copies of
	Places []*pod.Replica // has an entry for each Pod, replica by replica; nil is a Pod without a place in a replica
}

// Result is what one run did.
type Result struct {
	Created    []*corev1.Pod      // as the server has them
	Deleted    []podplan.Deletion // those that were deleted
	DeletedAll bool               // all Pods of the cluster were to be deleted
	// Failures are what the API server refused, Earlier what it refused before and is too early to be tried again.
	Failures, Earlier []Failure
	More              bool          // the run ended because it is bounded, so that the next is due at once
	After             time.Duration // asks for another run after this time; zero for none
	Err               error         // the API server did not answer, or has too much to do
}

// Failure is an operation that the API server refused.
type Failure struct {
	Reason  string // that of the condition ReplicaFailure
	Message string // does not change from one attempt to the next while the refusal is the same
	Refusal string // report.Refusal of the answer
	Event   string // the reason of the event; empty where the condition's tells it
}
