package podplan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// MaxCreates bounds the workers of one group that a single plan creates. More come with the next plan; without a bound
// a group with a typing error in replicas would make the plan itself fill the memory.
const MaxCreates = 5000

// Input is what a plan depends on.
type Input struct {
	// Cluster is the RayCluster, valid or not. Its status tells about suspension, refused creates and whether it was ever
	// provisioned.
	Cluster *rayv1.RayCluster
	// Pods are the observed Pods. Those of other clusters do no harm. A caller that reads from a cache adds the Pods that
	// it created a moment ago and the cache may not show yet, and those that it deleted with a deletion timestamp, or
	// they are created or deleted twice. Of several Pods of one name the one with a deletion timestamp counts, else any.
	Pods []*corev1.Pod
	// ShrinkWithAutoscaler lets the plan choose the workers of a group that is too large also when the autoscaler is on,
	// which otherwise names them itself.
	ShrinkWithAutoscaler bool
	// Replicas gives each worker its place in a replica, and keeps the Pods of a replica of several hosts together. Without
	// it all workers of a group are interchangeable.
	Replicas bool
	// Refused reports whether creating workers of the group has been refused lately. Nil means never, besides what the
	// status says.
	Refused func(group string) bool
	// Hash is the fingerprint of the spec, and Version that of the program which computed it, as Pods carry them. Only
	// looked at where the upgrade strategy is Recreate.
	Hash, Version string
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
	// AdoptHead is the head, if it was made by another version of the operator under the upgrade strategy Recreate: its
	// hash cannot be compared and is to be replaced by that of the Input. It is among Keep.
	AdoptHead *corev1.Pod
	// HeadRestartDisabled says that nothing is done because the head of the cluster is gone and an annotation forbids to
	// replace it.
	HeadRestartDisabled bool
	// AwaitSuspending says that nothing is done until the status says that the cluster is being suspended. A suspension
	// runs to its end once it has begun, so its beginning must be on record before the first Pod goes.
	AwaitSuspending bool
}

// Create asks for workers of one group.
type Create struct {
	// Group is the index of the group in spec.workerGroupSpecs.
	Group int
	// Plain is the number of Pods without a place in a replica.
	Plain int
	// Replicas are those that get Pods: unfinished ones first, new ones then, each part by ascending index.
	Replicas []Replica
}

// Replica is one replica of a group and the Pods that it needs.
type Replica struct {
	// Index of the replica within its group, which no other replica has.
	Index int
	// Name of the replica if it has Pods already. Empty for a new one, whose name the caller makes up, and for groups of one
	// host per replica, which have none.
	Name string
	// Hosts are the indices of the missing Pods, ascending. Nil stands for the single Pod of a replica of one host.
	Hosts []int
}

// Pods is the number of Pods to create.
func (c Create) Pods() int {
	n := c.Plain
	for _, r := range c.Replicas {
		n += max(len(r.Hosts), 1)
	}
	return n
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
	// ReasonRecreate means that the Pod was made from another spec and the upgrade strategy is Recreate.
	ReasonRecreate Reason = "Recreate"
	// ReasonGroupSuspended means that the worker group is suspended.
	ReasonGroupSuspended Reason = "GroupSuspended"
	// ReasonGroupRemoved means that the worker group is no longer in the spec.
	ReasonGroupRemoved Reason = "GroupRemoved"
	// ReasonUnhealthy means that the Pod, or Ray in it, ended and will not be restarted, or that this happened to another
	// host of its replica. A caller should slow down when the same group keeps losing Pods this way.
	ReasonUnhealthy Reason = "Unhealthy"
	// ReasonReplicaIncomplete means that another host of the replica of the Pod is gone, without which it is of no use.
	ReasonReplicaIncomplete Reason = "ReplicaIncomplete"
	// ReasonRequested means that scaleStrategy.workersToDelete names the Pod, or another host of its replica.
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
	switch {
	case !rc.DeletionTimestamp.IsZero():
		return Plan{Keep: own.all} // garbage collection removes the Pods
	case suspending(rc):
		return Plan{Delete: deleteAll(own.all, ReasonSuspended, "the cluster is suspended")}
	case rc.Suspended():
		return Plan{Keep: own.all, AwaitSuspending: true}
	case in.staleHead(own):
		// Nothing is made before the old head is gone: new workers would join it.
		return Plan{Delete: deleteAll(own.all, ReasonRecreate, recreateMessage)}
	case len(own.heads) == 0 && len(own.leavingHeads) == 0 && headRestartDisabled(rc):
		return Plan{Keep: own.all, HeadRestartDisabled: true}
	}
	plan := planner{Input: in}
	plan.head(own)
	known := map[string]bool{}
	for i := range rc.Spec.WorkerGroupSpecs {
		// Two groups of one name are refused by validation; here the first counts, or they would fight over the Pods.
		if g := &rc.Spec.WorkerGroupSpecs[i]; !known[g.GroupName] {
			known[g.GroupName] = true
			plan.group(i, g, own.workers[g.GroupName])
		}
	}
	plan.orphans(own, known)
	return plan.Plan
}

// planner is a Plan in the making.
type planner struct {
	Input
	Plan
}

// mayShrink reports whether the plan chooses the workers to remove from a group that is too large.
func (in Input) mayShrink() bool {
	on := in.Cluster.Spec.EnableInTreeAutoscaling
	return on == nil || !*on || in.ShrinkWithAutoscaler
}

// refused reports whether workers of the group could not be created lately. The condition does not say of which group, and counts
// for all: it is what a restarted operator knows.
func (in Input) refused(group string) bool {
	return in.Refused != nil && in.Refused(group) ||
		meta.IsStatusConditionTrue(in.Cluster.Status.Conditions, rayv1.RayClusterReplicaFailure)
}

// suspending reports whether all Pods have to go. A suspension that has begun runs to its end even when the user changed
// his mind.
func suspending(rc *rayv1.RayCluster) bool {
	return meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterSuspending) ||
		rc.Suspended() && meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterSuspended)
}

// headRestartDisabled reports whether a head that is gone stays gone: the RayJob that runs in it must not start again. With KubeRay a head is replaced
// until all Pods were ready once, also one whose submitter has submitted the job.
func headRestartDisabled(rc *rayv1.RayCluster) bool {
	return rc.Annotations[rayv1.AnnotationDisableProvisionedHeadRestart] == "true" &&
		(meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterProvisioned) || HoldsSubmitter(rc) && rc.Status.Head.PodIP != "")
}

// HoldsSubmitter reports whether the submitter of a RayJob is a container of the head. The address of such a head stays in the status when it is gone.
func HoldsSubmitter(rc *rayv1.RayCluster) bool {
	return rc.Labels[rayv1.LabelJobSubmissionMode] == string(rayv1.SidecarMode)
}

// head plans the head Pod. A head that is leaving is waited for: two of them would share the Service, and the stored
// metadata if there are any.
func (p *planner) head(own pods) {
	var healthy []*corev1.Pod
	for _, pod := range own.heads {
		if why, bad := unhealthy(pod); bad {
			p.delete(pod, ReasonUnhealthy, why)
		} else {
			healthy = append(healthy, pod)
		}
	}
	if len(healthy) == 0 {
		p.CreateHead = len(own.heads) == 0 && len(own.leavingHeads) == 0
		return
	}
	slices.SortFunc(healthy, byWorth)
	best := healthy[len(healthy)-1]
	p.Keep = append(p.Keep, best)
	if p.foreign(best) {
		p.AdoptHead = best
	}
	for _, pod := range healthy[:len(healthy)-1] {
		p.delete(pod, ReasonExtraHead, "the cluster already has the head "+best.Name)
	}
}

// group plans the workers of one group.
func (p *planner) group(index int, g *rayv1.WorkerGroupSpec, workers workers) {
	switch {
	case suspended(g):
		p.Delete = append(p.Delete, deleteAll(workers.staying, ReasonGroupSuspended, "the worker group is suspended")...)
	case p.Replicas && hosts(g) > 1:
		p.multiHost(index, g, workers)
	default:
		p.interchangeable(index, g, workers.staying)
	}
}

// interchangeable plans a group whose workers have nothing to do with each other.
func (p *planner) interchangeable(index int, g *rayv1.WorkerGroupSpec, list []*corev1.Pod) {
	healthy := p.healthy(g, list)
	desired := DesiredPods(g)
	if missing := desired - int64(len(healthy)); missing > 0 {
		c := Create{Group: index}
		if n := int(min(missing, MaxCreates)); p.Replicas {
			c.Replicas = newReplicas(n, indicesOf(healthy))
		} else {
			c.Plain = n
		}
		p.CreateWorkers = append(p.CreateWorkers, c)
	}
	if surplus := int64(len(healthy)) - desired; surplus > 0 && p.mayShrink() {
		slices.SortFunc(healthy, byWorth)
		for _, pod := range healthy[:surplus] {
			p.delete(pod, ReasonScaleDown, scaleDownMessage)
		}
		healthy = healthy[surplus:]
	}
	p.Keep = append(p.Keep, healthy...)
}

// healthy plans the end of workers that have to go, each for itself, and returns the others.
func (p *planner) healthy(g *rayv1.WorkerGroupSpec, list []*corev1.Pod) []*corev1.Pod {
	var healthy []*corev1.Pod
	for _, pod := range list {
		if reason, why := p.mustGo(g, pod); reason != "" {
			p.delete(pod, reason, why)
		} else {
			healthy = append(healthy, pod)
		}
	}
	return healthy
}

const scaleDownMessage = "the worker group has more workers than wanted"

// orphans deletes the workers of groups that were removed from the spec.
func (p *planner) orphans(own pods, known map[string]bool) {
	for _, group := range own.groups() {
		if !known[group] {
			p.Delete = append(p.Delete, deleteAll(own.workers[group].staying, ReasonGroupRemoved, "the worker group is no longer in the spec")...)
		}
	}
}

func (p *planner) delete(pod *corev1.Pod, reason Reason, message string) {
	p.Delete = append(p.Delete, Deletion{Pod: pod, Group: pod.Labels[rayv1.LabelGroup], Reason: reason, Message: message})
}

func deleteAll(list []*corev1.Pod, reason Reason, message string) []Deletion {
	var p planner
	for _, pod := range list {
		p.delete(pod, reason, message)
	}
	return p.Delete
}
