package raycluster

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/podexec"
	"github.com/raygate/raygate/operator/internal/podplan"
	"github.com/raygate/raygate/operator/internal/reconcile"
)

const (
	// maxUnscheduled is the number of unscheduled Pods of a cluster above which no more are created. The scheduler works in order
	// of arrival, so more Pods would not be scheduled sooner and would delay those of other clusters.
	maxUnscheduled = 32
	// unscheduledCheck is the interval of checks whether Pods have been scheduled.
	unscheduledCheck = 50 * time.Millisecond
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete;patch
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create

// pods creates and deletes Pods: package podplan decides, package pod builds, and package podexec writes.
func (r *Reconciler) pods(ctx context.Context, s *scope) {
	plan := podplan.For(r.podInput(s))
	s.headRestartDisabled = plan.HeadRestartDisabled
	if plan.AwaitSuspending {
		s.after(reconcile.Soon) // the status is saved right after the steps
		return
	}
	s.upgrade = plan.Upgrade
	r.adoptHead(ctx, s, plan.AdoptHead)
	r.markPods(ctx, s, plan.Mark)
	w := r.podWork(s, plan)
	w.Delete = r.drainFirst(ctx, s, w.Delete)
	result := r.executor.Run(ctx, w)
	s.pods = append(slices.Clone(s.pods), result.Created...)
	s.failures = append(s.failures, slices.Concat(result.Failures, result.Earlier)...)
	s.more, s.held = result.More, s.held || result.Held
	if w.Room != nil && *w.Room <= 0 && result.More {
		s.more = false
		s.after(unscheduledCheck)
	}
	made := ""
	if slices.ContainsFunc(result.Created, isHead) {
		made, s.madeService = s.madeService, "" // one event is enough for a new cluster
	}
	s.events = append(s.events, eventsForPods(result, made)...)
	if len(result.Created)+len(result.Deleted)+len(result.Failures) > 0 {
		ctrllog.FromContext(ctx).Info("Changed Pods", "created", len(result.Created), "deleted", len(result.Deleted), "refused", len(result.Failures))
	}
	if result.Err != nil {
		s.errs = append(s.errs, result.Err)
	}
	s.after(result.After)
}

func (r *Reconciler) podInput(s *scope) podplan.Input {
	in := podplan.Input{
		Cluster:              s.cluster,
		Pods:                 s.pods,
		ShrinkWithAutoscaler: r.config.ShrinkWithAutoscaler,
		Replicas:             r.config.ReplicaIndices,
		Refused:              func(group string) bool { return r.executor.Unfinished(s.cluster, group) },
		Version:              r.config.Pod.OperatorVersion,
	}
	if u := s.cluster.RollingUpdate(); u != nil {
		s.hashes = pod.TemplateHashes(&s.cluster.Spec)
		in.Rolling = &podplan.Rolling{RollingUpdate: u, Hashes: s.hashes}
	}
	if in.Rolling != nil || podplan.Recreates(s.cluster) {
		in.Hash = pod.SpecHash(&s.cluster.Spec) // only if needed, because it encodes the whole spec
	}
	return in
}

// podWork returns the plan with the Pods to create.
func (r *Reconciler) podWork(s *scope, plan podplan.Plan) podexec.Work {
	w := podexec.Work{Cluster: s.cluster, Delete: plan.Delete, Hold: len(s.holds) > 0, Evict: guarded(s.cluster)}
	if s.workload == nil { // a gang scheduler may wait for all Pods
		w.Room = new(maxUnscheduled - podplan.Unscheduled(s.pods, s.now))
	}
	if plan.CreateHead && !s.awaitsClaims[rayv1.HeadGroupName] {
		w.Head = pod.Head(s.cluster, r.podOptions(s))
		nameHead(w.Head, s.cluster)
		s.mark(rayv1.HeadGroupName, w.Head)
		r.decorate(s, rayv1.HeadGroupName, w.Head)
	}
	for _, c := range plan.CreateWorkers {
		g := &s.cluster.Spec.WorkerGroupSpecs[c.Group]
		if s.awaitsClaims[g.GroupName] {
			continue
		}
		w.Groups = append(w.Groups, podexec.Group{Name: g.GroupName, Model: r.workerModel(s, g), Places: places(g, c, pod.SliceOf(s.cluster, g, r.podOptions(s)))})
	}
	return w
}

// workerModel returns the template of which all workers of the group are copies, because building is more expensive than copying.
// With the upgrade strategy Recreate, workers have the spec's hash like the head, because they can outlive it.
func (r *Reconciler) workerModel(s *scope, g *rayv1.WorkerGroupSpec) *corev1.Pod {
	model := pod.Worker(s.cluster, g, r.podOptions(s))
	if podplan.Recreates(s.cluster) {
		for key, value := range r.origin(s.cluster) {
			metav1.SetMetaDataAnnotation(&model.ObjectMeta, key, value)
		}
	}
	s.mark(g.GroupName, model)
	r.decorate(s, g.GroupName, model)
	return model
}

// origin returns the annotations of a Pod by which changes of the spec are detected.
func (r *Reconciler) origin(rc *rayv1.RayCluster) map[string]string {
	return map[string]string{
		rayv1.AnnotationUpgradeStrategyRecreateHash: pod.SpecHash(&rc.Spec),
		rayv1.AnnotationKubeRayVersion:              r.config.Pod.OperatorVersion,
	}
}

// places returns the places of the Pods to create, replica by replica, so that a rejected create leaves few replicas incomplete.
// Nil is a Pod without a place.
func places(g *rayv1.WorkerGroupSpec, c podplan.Create, slice *pod.Slice) []*pod.Replica {
	list := make([]*pod.Replica, c.Plain, c.Pods())
	for _, replica := range c.Replicas {
		if replica.Hosts == nil {
			list = append(list, &pod.Replica{Index: replica.Index, Slice: slice})
			continue
		}
		name := cmp.Or(replica.Name, names.LabelValue(g.GroupName+"-"+utilrand.String(5)))
		for _, host := range replica.Hosts {
			list = append(list, &pod.Replica{Index: replica.Index, Name: name, Host: host, Slice: slice})
		}
	}
	return list
}

// mark gives a new Pod the hash of its template if the cluster has a rolling upgrade.
func (s *scope) mark(group string, p *corev1.Pod) {
	if hash := s.hashes[group]; hash != "" {
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, rayv1.AnnotationTemplateHash, hash)
	}
}

// markPods gives Pods the hash of their template.
func (r *Reconciler) markPods(ctx context.Context, s *scope, list []*corev1.Pod) {
	for _, p := range list {
		if !r.annotate(ctx, s, p, map[string]string{rayv1.AnnotationTemplateHash: s.hashes[p.Labels[rayv1.LabelGroup]]}) {
			return
		}
	}
}

// adoptHead replaces the hash of another operator version, so that later changes of the spec are detected.
func (r *Reconciler) adoptHead(ctx context.Context, s *scope, head *corev1.Pod) {
	if head != nil && r.annotate(ctx, s, head, r.origin(s.cluster)) {
		s.events = append(s.events, eventAdopted(s.cluster, head.Name, s.cluster.Status.ObservedGeneration))
	}
}

// podMarks are annotations and labels that a Pod gets.
type podMarks struct {
	Annotations map[string]string `json:"annotations,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
}

// annotate sets annotations of a Pod that does not have them yet, and reports whether that succeeded.
func (r *Reconciler) annotate(ctx context.Context, s *scope, p *corev1.Pod, annotations map[string]string) bool {
	return r.mark(ctx, s, p, podMarks{Annotations: annotations})
}

// mark sets annotations and labels of a Pod that does not have them yet, and reports whether that succeeded. It sends a patch, because cached
// Pods are incomplete.
func (r *Reconciler) mark(ctx context.Context, s *scope, p *corev1.Pod, marks podMarks) bool {
	body, err := json.Marshal(map[string]any{"metadata": struct {
		UID types.UID `json:"uid"` // protects a newer Pod of the same name
		podMarks
	}{p.UID, marks}})
	if err == nil {
		target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name}}
		if err = r.config.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, body)); err == nil {
			r.executor.Marked(s.cluster.UID, target)
		}
	}
	if err != nil {
		// A drain is tried again; a hash matters only for the next change of the spec.
		ctrllog.FromContext(ctx).Error(err, "Marking a Pod", "pod", p.Name)
		s.after(reconcile.LastRetry)
	}
	return err == nil
}

// nameHead replaces the generated name of the head Pod by a fixed one of the same form. The API server then rejects a second head
// of the cluster, even after a crash, with a stale cache or with two leaders. A replacement waits until the old head is gone,
// which the plan requires anyway. The suffix is derived from the UID, because names of clusters may be cut to the same prefix.
func nameHead(p *corev1.Pod, rc *rayv1.RayCluster) {
	if p.Name == "" {
		p.Name, p.GenerateName = p.GenerateName+suffix(rc.UID), ""
	}
}

// suffixLetters are those of generated names: no vowels, no digits that look like letters.
const suffixLetters = "bcdfghjklmnpqrstvwxz2456789"

func suffix(uid types.UID) string {
	sum := sha256.Sum256([]byte(uid))
	s := make([]byte, 5)
	for i := range s {
		s[i] = suffixLetters[int(sum[i])%len(suffixLetters)]
	}
	return string(s)
}
