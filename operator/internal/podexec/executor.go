// Package podexec carries out a podplan.Plan: it creates and deletes Pods in parallel batches, records its writes until the cache
// shows them, and backs off after rejected requests. A run makes a limited number of requests, so that a cluster with thousands of
// Pods does not block a worker of the controller. The package never sleeps or waits for a cache.
//
// It must not decide which Pods to create and delete (package podplan) or their content (package build/pod).
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

// FirstRetry is the first back-off after rejected Pods and after Pods that ended by themselves; the longest is
// reconcile.LastRetry.
const FirstRetry = time.Second

// Executor creates and deletes the Pods of clusters. It is safe for concurrent use by several goroutines, but by only one per
// cluster.
type Executor struct {
	client  client.Client
	live    client.Reader
	written *overlay.Overlay
	refused *backoff.Limiter[[]Failure] // by operation and group: rejected or unanswered requests
	ended   *backoff.Limiter[struct{}]  // by group: Pods that ended by themselves
}

// New returns an Executor that writes with c and reads from the API server with live.
func New(c client.Client, live client.Reader, k clock.PassiveClock) *Executor {
	waits := backoff.Config{First: FirstRetry, Last: reconcile.LastRetry}
	return &Executor{
		client:  c,
		live:    live,
		written: overlay.New(k),
		refused: backoff.New[[]Failure](k, waits),
		ended:   backoff.New[struct{}](k, waits),
	}
}

// Marked records a Pod as returned by a patch of its metadata, for View.
func (x *Executor) Marked(cluster types.UID, p *corev1.Pod) { x.written.Written(cluster, p) }

// View returns the Pods of a cluster as if the cache had seen all writes of the Executor and those of Marked. It does not copy the Pods.
func (x *Executor) View(cluster types.UID, cached []*corev1.Pod) []*corev1.Pod {
	return x.written.List(cluster, cached)
}

// Pending reports whether the cache lacks writes of the Executor.
func (x *Executor) Pending(cluster types.UID) bool { return x.written.Pending(cluster) }

// Gone is called by the watch after a Pod was deleted.
func (x *Executor) Gone(cluster, pod types.UID) { x.written.Gone(cluster, pod) }

// Forget drops all state of a deleted cluster.
func (x *Executor) Forget(cluster types.UID) {
	x.written.Forget(cluster)
	x.refused.Forget(cluster)
	x.ended.Forget(cluster)
}

// Unfinished reports whether the last attempt to create workers of the group did not create all of them. A replica may then lack
// hosts that it never had.
func (x *Executor) Unfinished(cluster metav1.Object, group string) bool {
	_, unfinished := x.refused.Last(attempt{creating, group}.key(cluster), cluster.GetGeneration())
	return unfinished
}

// Work is the input of one run for a cluster.
type Work struct {
	Cluster *rayv1.RayCluster  // controls the Pods
	Delete  []podplan.Deletion // Pods to delete, all controlled by the cluster, sorted by group
	// Head is the head Pod to create, with its name; nil for none. If its creation fails, no workers are created, because they
	// would use resources that the head needs.
	Head   *corev1.Pod
	Groups []Group // the workers to create
	Hold   bool    // creates nothing, whatever Head and Groups contain
	// Evict evicts Pods that are replaced by a rolling upgrade, so that a PodDisruptionBudget can hold them.
	Evict bool
	Room  *int // further limits the number of workers to create; nil does not
}

// Group describes the workers of one group to create.
type Group struct {
	Name   string         // of the group
	Model  *corev1.Pod    // template for all of them
	Places []*pod.Replica // one entry per Pod, replica by replica; nil is a Pod without a place in a replica
}

// Result is the result of one run.
type Result struct {
	Created    []*corev1.Pod      // as returned by the server
	Deleted    []podplan.Deletion // successful deletions
	DeletedAll bool               // all Pods of the cluster had to be deleted
	// Failures are requests that the API server rejected in this run, Earlier those that still wait for their back-off.
	Failures, Earlier []Failure
	Held              bool          // a PodDisruptionBudget does not allow an eviction now
	More              bool          // the run reached its limit, so the next one is due at once
	After             time.Duration // time until the next run; 0 for none
	Err               error         // the API server did not answer or is overloaded
}

// Failure is an operation that the API server rejected.
type Failure struct {
	Reason  string // reason of the condition ReplicaFailure
	Message string // stable between attempts as long as the cause is the same
	Refusal string // conditions.Refusal of the error
	Event   string // reason of the event; empty means that of the condition
}
