package podplan

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
)

// MaxCreates bounds the workers of one group that a single plan creates. More come with the next plan; without a bound
// a group with a slip of the finger in replicas would make the plan itself fill the memory.
const MaxCreates = 5000

// Input is what a plan depends on.
type Input struct {
	// Cluster is the RayCluster, valid or not. Its status tells about suspension and whether it was ever provisioned.
	Cluster *rayv1.RayCluster
	// Pods are the observed Pods. Those of other clusters do no harm. A caller that reads from a cache adds the Pods that
	// it created a moment ago and the cache may not show yet, and those that it deleted with a deletion timestamp, or
	// they are created or deleted twice. Of several Pods of one name the one with a deletion timestamp counts, else any.
	Pods []*corev1.Pod
	// ShrinkWithAutoscaler lets the plan choose the workers of a group that is too large also when the autoscaler is on,
	// which otherwise names them itself.
	ShrinkWithAutoscaler bool
}

// Plan is what to do to the Pods of one cluster. Pods in it are those of the Input and must not be changed.
type Plan struct {
	// CreateHead asks for a head Pod.
	CreateHead bool
	// CreateWorkers asks for workers, at most one entry per group, in the order of the spec.
	CreateWorkers []Create
	// Delete are Pods to delete: the head first, then by group in the order of the spec.
	Delete []Deletion
	// Keep are the Pods that stay. Pods that are already being deleted are in no list.
	Keep []*corev1.Pod
	// HeadRestartDisabled says that nothing is done because the head of the cluster is gone and an annotation forbids to
	// replace it.
	HeadRestartDisabled bool
}

// Empty reports whether there is nothing to do.
func (p Plan) Empty() bool {
	return !p.CreateHead && len(p.CreateWorkers) == 0 && len(p.Delete) == 0
}

// Create asks for workers of one group.
type Create struct {
	// Group is the index of the group in spec.workerGroupSpecs.
	Group int
	// Count is the number of Pods, above zero.
	Count int
	// ReplicaIndices are Count indices of replicas that no kept worker has, ascending. Nil for groups of several hosts
	// per replica, whose Pods are interchangeable here.
	ReplicaIndices []int
}

// Deletion is a Pod to delete and why.
type Deletion struct {
	Pod *corev1.Pod
	// Group is the name of the worker group, or headgroup.
	Group string
	// Reason is one word for metrics and decisions.
	Reason Reason
	// Message completes "deleted because", for events; it does not change between runs over the same Pod.
	Message string
}

// Reason says why a Pod is deleted.
type Reason string

const (
	// ReasonSuspended means that the cluster is suspended.
	ReasonSuspended Reason = "Suspended"
	// ReasonGroupSuspended means that the worker group is suspended.
	ReasonGroupSuspended Reason = "GroupSuspended"
	// ReasonGroupRemoved means that the worker group is no longer in the spec.
	ReasonGroupRemoved Reason = "GroupRemoved"
	// ReasonUnhealthy means that the Pod, or Ray in it, ended and will not be restarted. A caller should slow down when
	// the same group keeps losing Pods this way.
	ReasonUnhealthy Reason = "Unhealthy"
	// ReasonRequested means that scaleStrategy.workersToDelete names the Pod.
	ReasonRequested Reason = "Requested"
	// ReasonScaleDown means that the group has more workers than wanted.
	ReasonScaleDown Reason = "ScaleDown"
	// ReasonExtraHead means that the cluster has another, better head.
	ReasonExtraHead Reason = "ExtraHead"
)

// For decides. It depends on nothing but the Input, and not on the order of its Pods.
func For(in Input) Plan {
	rc := in.Cluster
	own := ownPods(rc, in.Pods)
	if !rc.DeletionTimestamp.IsZero() {
		return Plan{Keep: own.all} // garbage collection removes the Pods
	}
	if suspending(rc) {
		return Plan{Delete: deleteAll(own.all, ReasonSuspended, "the cluster is suspended")}
	}
	if len(own.heads) == 0 && !own.headLeaving && headRestartDisabled(rc) {
		return Plan{Keep: own.all, HeadRestartDisabled: true}
	}
	var plan Plan
	plan.head(own)
	known := map[string]bool{}
	for i := range rc.Spec.WorkerGroupSpecs {
		// Two groups of one name are refused by validation; here the first counts, or they would fight over the Pods.
		if g := &rc.Spec.WorkerGroupSpecs[i]; !known[g.GroupName] {
			known[g.GroupName] = true
			plan.group(i, g, own.workers[g.GroupName], in.mayShrink())
		}
	}
	plan.orphans(own, known)
	return plan
}

// mayShrink reports whether the plan chooses the workers to remove from a group that is too large.
func (in Input) mayShrink() bool {
	on := in.Cluster.Spec.EnableInTreeAutoscaling
	return on == nil || !*on || in.ShrinkWithAutoscaler
}

// suspending reports whether all Pods have to go. A suspension that has begun runs to its end even when the user changed
// his mind.
func suspending(rc *rayv1.RayCluster) bool {
	return rc.Spec.Suspend != nil && *rc.Spec.Suspend ||
		meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterSuspending)
}

// headRestartDisabled reports whether a head that is gone stays gone: the RayJob that runs in it must not start again.
func headRestartDisabled(rc *rayv1.RayCluster) bool {
	return rc.Annotations[rayv1.AnnotationDisableProvisionedHeadRestart] == "true" &&
		meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterProvisioned)
}

// head plans the head Pod. A head that is leaving is waited for: two of them would share the Service, and the stored
// metadata if there are any.
func (p *Plan) head(own pods) {
	var healthy []*corev1.Pod
	for _, pod := range own.heads {
		if why, bad := unhealthy(pod); bad {
			p.delete(pod, ReasonUnhealthy, why)
		} else {
			healthy = append(healthy, pod)
		}
	}
	if len(healthy) == 0 {
		p.CreateHead = len(own.heads) == 0 && !own.headLeaving
		return
	}
	slices.SortFunc(healthy, byWorth)
	best := healthy[len(healthy)-1]
	p.Keep = append(p.Keep, best)
	for _, pod := range healthy[:len(healthy)-1] {
		p.delete(pod, ReasonExtraHead, "the cluster already has the head "+best.Name)
	}
}

// group plans the workers of one group.
func (p *Plan) group(index int, g *rayv1.WorkerGroupSpec, workers []*corev1.Pod, mayShrink bool) {
	if suspended(g) {
		p.Delete = append(p.Delete, deleteAll(workers, ReasonGroupSuspended, "the worker group is suspended")...)
		return
	}
	var healthy []*corev1.Pod
	for _, pod := range workers {
		if why, bad := unhealthy(pod); bad {
			p.delete(pod, ReasonUnhealthy, why)
		} else if slices.Contains(g.ScaleStrategy.WorkersToDelete, pod.Name) {
			p.delete(pod, ReasonRequested, "the scale strategy names it")
		} else {
			healthy = append(healthy, pod)
		}
	}
	desired := DesiredPods(g)
	if missing := desired - int64(len(healthy)); missing > 0 {
		p.CreateWorkers = append(p.CreateWorkers, create(index, g, healthy, int(min(missing, MaxCreates))))
	}
	if surplus := int64(len(healthy)) - desired; surplus > 0 && mayShrink {
		slices.SortFunc(healthy, byWorth)
		for _, pod := range healthy[:surplus] {
			p.delete(pod, ReasonScaleDown, "the worker group has more workers than wanted")
		}
		healthy = healthy[surplus:]
	}
	p.Keep = append(p.Keep, healthy...)
}

// orphans deletes the workers of groups that were removed from the spec.
func (p *Plan) orphans(own pods, known map[string]bool) {
	for _, group := range own.groups {
		if !known[group] {
			p.Delete = append(p.Delete, deleteAll(own.workers[group], ReasonGroupRemoved, "the worker group is no longer in the spec")...)
		}
	}
}

func (p *Plan) delete(pod *corev1.Pod, reason Reason, message string) {
	p.Delete = append(p.Delete, Deletion{Pod: pod, Group: pod.Labels[rayv1.LabelGroup], Reason: reason, Message: message})
}

func deleteAll(list []*corev1.Pod, reason Reason, message string) []Deletion {
	var p Plan
	for _, pod := range list {
		p.delete(pod, reason, message)
	}
	return p.Delete
}

// pods are the Pods of one cluster that are not being deleted yet, sorted by name.
type pods struct {
	all     []*corev1.Pod
	heads   []*corev1.Pod
	workers map[string][]*corev1.Pod // by group
	groups  []string                 // keys of workers, sorted

	headLeaving bool // a head exists that is being deleted
}

// Owned reports whether the Pod belongs to the cluster: the labels say so and the cluster is its controller. A Pod of an
// earlier cluster of the same name does not belong, nor does one whose label a user changed to look at it in peace.
func Owned(rc *rayv1.RayCluster, pod *corev1.Pod) bool {
	return pod.Namespace == rc.Namespace && pod.Labels[rayv1.LabelCluster] == rc.Name && metav1.IsControlledBy(pod, rc)
}

func ownPods(rc *rayv1.RayCluster, observed []*corev1.Pod) pods {
	own := pods{workers: map[string][]*corev1.Pod{}}
	sorted := slices.SortedFunc(slices.Values(observed), byName)
	sameName := func(a, b *corev1.Pod) bool { return a.Namespace == b.Namespace && a.Name == b.Name }
	for _, pod := range slices.CompactFunc(sorted, sameName) {
		if !Owned(rc, pod) {
			continue
		}
		leaving := !pod.DeletionTimestamp.IsZero()
		switch rayv1.RayNodeType(pod.Labels[rayv1.LabelNodeType]) {
		case rayv1.HeadNode:
			if leaving {
				own.headLeaving = true
				continue
			}
			own.heads = append(own.heads, pod)
		case rayv1.WorkerNode:
			if leaving {
				continue
			}
			group := pod.Labels[rayv1.LabelGroup]
			if own.workers[group] == nil {
				own.groups = append(own.groups, group)
			}
			own.workers[group] = append(own.workers[group], pod)
		default:
			continue // such as the Pod that cleans up Redis: not part of the running cluster
		}
		own.all = append(own.all, pod)
	}
	slices.Sort(own.groups)
	return own
}

// byName sorts by namespace and name; of equal ones the Pod that is being deleted comes first.
func byName(a, b *corev1.Pod) int {
	return cmp.Or(
		strings.Compare(a.Namespace, b.Namespace),
		strings.Compare(a.Name, b.Name),
		cmp.Compare(staying(a), staying(b)),
	)
}

func staying(pod *corev1.Pod) int {
	if pod.DeletionTimestamp.IsZero() {
		return 1
	}
	return 0
}
