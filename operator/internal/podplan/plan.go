// Package podplan decides which Pods of a RayCluster to create, delete and keep, from the spec and the observed Pods, and computes
// the totals of the spec. It is pure and separate from the controller, so that tests can cover scaling, failures and suspension
// with a table.
//
// The rules are those of KubeRay 1.7 with these deliberate differences. Each makes a cluster recover sooner or protects objects of
// other owners:
//
//   - A Pod belongs to the cluster if the cluster is its controller by UID, besides the labels. No other Pod is counted or
//     deleted, even if scaleStrategy.workersToDelete contains it.
//   - A worker that is being deleted no longer counts, so its replacement is created at once. Heads differ: two heads must never
//     run at the same time.
//   - The deletion of a worker does not delay other groups or its own replacement.
//   - Workers of groups that are no longer in the spec are deleted.
//   - A group removes the least valuable workers first.
//   - A multi-host replica that a quota cut short is completed instead of recreated, its successor does not get the index of hosts
//     that still run, and Pods without a replica name count.
//   - Under the upgrade strategy Recreate, workers have the spec's hash too, since they can outlive the head.
package podplan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// MaxCreates limits the workers of one group that a single plan creates; the next plan creates more. Without a limit, a typing
// error in replicas would fill the memory.
const MaxCreates = 5000

// Input contains everything that a plan depends on.
type Input struct {
	// Cluster is the RayCluster, valid or not. Its status contains the suspension, rejected creates and whether it was ever
	// provisioned.
	Cluster *rayv1.RayCluster
	// Pods are the observed Pods; those of other clusters are ignored. A caller that reads from a cache must include its own
	// writes that the cache does not show yet: created Pods, and deleted Pods with a deletion timestamp. Otherwise Pods are created
	// or deleted twice. If several Pods have the same name, the one with a deletion timestamp counts, else any of them.
	Pods []*corev1.Pod
	// ShrinkWithAutoscaler lets the plan choose the workers to remove even if the autoscaler is enabled, which otherwise names
	// them.
	ShrinkWithAutoscaler bool
	// Replicas assigns each worker to a replica and keeps the Pods of a multi-host replica together. Without it, all workers of a
	// group are interchangeable.
	Replicas bool
	// Refused reports whether a recent create of workers of the group was rejected. Nil means that only the status counts.
	Refused func(group string) bool
	// Hash is the hash of the spec, and Version the operator version that computed it, as in annotations of Pods. They matter only
	// for the upgrade strategy Recreate, and for Rolling.
	Hash, Version string
	// Rolling replaces Pods whose template is outdated. Nil means that they stay.
	Rolling *Rolling
}

// Plan contains the actions on the Pods of one cluster. Its Pods are those of the Input and must not be modified.
type Plan struct {
	// CreateHead requests a head Pod.
	CreateHead bool
	// CreateWorkers requests workers, at most one entry per group, in the order of the spec.
	CreateWorkers []Create
	// Delete are Pods to delete: the head first, then by group in the order of the spec.
	Delete []Deletion
	// Keep are the Pods that stay. Pods that are already being deleted are in neither list.
	Keep []*corev1.Pod
	// AdoptHead is the head if another operator version created it under the upgrade strategy Recreate. Its hash cannot be compared
	// and must be replaced by that of the Input. It is also in Keep.
	AdoptHead *corev1.Pod
	// Mark are Pods without the hash of their template that were certainly created from the current one, at most maxMark. They need
	// the hash before the next change. They are also in Keep.
	Mark []*corev1.Pod
	// Upgrade is the progress of a rolling upgrade. Nil means that Rolling is nil or that the Pods are not compared.
	Upgrade *Upgrade
	// HeadRestartDisabled means that nothing is done because the head is gone and an annotation forbids its replacement.
	HeadRestartDisabled bool
	// AwaitSuspending means that nothing is done until the status records the suspension. A suspension always completes, so it must
	// be recorded before the first Pod is deleted.
	AwaitSuspending bool
}

// Create requests workers of one group.
type Create struct {
	// Group is the index of the group in spec.workerGroupSpecs.
	Group int
	// Plain is the number of Pods without a place in a replica.
	Plain int
	// Replicas are the replicas that get Pods: incomplete ones first, then new ones, each by ascending index.
	Replicas []Replica
}

// Replica is one replica of a group and the Pods that it needs.
type Replica struct {
	// Index is the index of the replica, unique within its group.
	Index int
	// Name is the name of a replica that already has Pods. It is empty for a new replica, which the caller names, and in groups
	// with one host per replica.
	Name string
	// Hosts are the indices of the missing Pods, ascending. Nil means the single Pod of a one-host replica.
	Hosts []int
}

// Pods returns the number of Pods to create.
func (c Create) Pods() int {
	n := c.Plain
	for _, r := range c.Replicas {
		n += max(len(r.Hosts), 1)
	}
	return n
}

// Deletion is a Pod to delete with the reason.
type Deletion struct {
	Pod *corev1.Pod
	// Group is the name of the worker group, or headgroup.
	Group string
	// Reason is one word, for metrics and decisions.
	Reason Reason
	// Message completes "deleted because", for events. It is stable between runs for the same Pod.
	Message string
}

// Reason is the reason why a Pod is deleted.
type Reason string

const (
	// ReasonSuspended means that the cluster is suspended.
	ReasonSuspended Reason = "Suspended"
	// ReasonRecreate means that the Pod was built from another spec and the upgrade strategy is Recreate.
	ReasonRecreate Reason = "Recreate"
	// ReasonGroupSuspended means that the worker group is suspended.
	ReasonGroupSuspended Reason = "GroupSuspended"
	// ReasonGroupRemoved means that the worker group is no longer in the spec.
	ReasonGroupRemoved Reason = "GroupRemoved"
	// ReasonUnhealthy means that the Pod, or Ray in it, ended and will not be restarted, or that this happened to another host of
	// its replica. The caller should back off if a group keeps losing Pods this way.
	ReasonUnhealthy Reason = "Unhealthy"
	// ReasonReplicaIncomplete means that another host of the Pod's replica is gone, so the Pod is useless.
	ReasonReplicaIncomplete Reason = "ReplicaIncomplete"
	// ReasonRequested means that scaleStrategy.workersToDelete contains the Pod or another host of its replica.
	ReasonRequested Reason = "Requested"
	// ReasonScaleDown means that the group has more workers than wanted.
	ReasonScaleDown Reason = "ScaleDown"
	// ReasonRollingUpdate means that the Pod, or another host of its replica, was created from an outdated template.
	ReasonRollingUpdate Reason = "RollingUpdate"
	// ReasonDraining means that the Pod was to be deleted before, and that Ray drains its node until the deletion.
	ReasonDraining Reason = "Draining"
	// ReasonExtraHead means that the cluster has another, better head.
	ReasonExtraHead Reason = "ExtraHead"
)

// For computes the plan. It depends only on the Input, not on the order of its Pods.
func For(in Input) Plan {
	own := ownPods(in.Cluster, in.Pods)
	if !in.Cluster.DeletionTimestamp.IsZero() {
		return Plan{Keep: own.all} // garbage collection removes the Pods
	}
	plan := in.planFor(own)
	plan.Delete = append(plan.Delete, deleteAll(own.draining, ReasonDraining, "Ray has drained its node, or had the time for it")...)
	return plan
}

// planFor plans all but the deletion of workers that are being drained.
func (in Input) planFor(own pods) Plan {
	rc := in.Cluster
	switch {
	case suspending(rc):
		return Plan{Delete: deleteAll(own.all, ReasonSuspended, "the cluster is suspended")}
	case rc.Suspended():
		return Plan{Keep: own.all, AwaitSuspending: true}
	case in.staleHead(own):
		// Nothing is created before the old head is gone: new workers would join it.
		return Plan{Delete: deleteAll(own.all, ReasonRecreate, recreateMessage)}
	case len(own.heads) == 0 && len(own.leavingHeads) == 0 && headRestartDisabled(rc):
		return Plan{Keep: own.all, HeadRestartDisabled: true}
	}
	plan := planner{Input: in}
	plan.begin(own)
	plan.head(own)
	known := map[string]bool{}
	for i := range rc.Spec.WorkerGroupSpecs {
		// Validation rejects two groups of one name. Here the first counts, so that they do not compete for the Pods.
		if g := &rc.Spec.WorkerGroupSpecs[i]; !known[g.GroupName] {
			known[g.GroupName] = true
			plan.group(i, g, own.workers[g.GroupName])
		}
	}
	plan.orphans(own, known)
	plan.finishUpgrade()
	return plan.Plan
}

// planner builds a Plan.
type planner struct {
	Input
	Plan
	roll rollout
}

// mayShrink reports whether the plan chooses the workers to remove from a group that is too large.
func (in Input) mayShrink() bool {
	on := in.Cluster.Spec.EnableInTreeAutoscaling
	return on == nil || !*on || in.ShrinkWithAutoscaler
}

// refused reports whether a recent create of workers of the group was rejected. The condition ReplicaFailure names no group and
// applies to all: it is all that a restarted operator knows.
func (in Input) refused(group string) bool {
	return in.Refused != nil && in.Refused(group) ||
		meta.IsStatusConditionTrue(in.Cluster.Status.Conditions, rayv1.RayClusterReplicaFailure)
}

// suspending reports whether all Pods must be deleted. A suspension that has begun completes even if the user withdraws it.
func suspending(rc *rayv1.RayCluster) bool {
	return meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterSuspending) ||
		rc.Suspended() && meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterSuspended)
}

// headRestartDisabled reports whether a lost head must not be replaced, because its RayJob must not run again. KubeRay replaces a
// head until all Pods were ready once, even if the submitter has already submitted the job.
func headRestartDisabled(rc *rayv1.RayCluster) bool {
	return rc.Annotations[rayv1.AnnotationDisableProvisionedHeadRestart] == "true" &&
		(meta.IsStatusConditionTrue(rc.Status.Conditions, rayv1.RayClusterProvisioned) || HoldsSubmitter(rc) && rc.Status.Head.PodIP != "")
}

// HoldsSubmitter reports whether the submitter of a RayJob is a container of the head. The status keeps the address of such a head
// after it is gone.
func HoldsSubmitter(rc *rayv1.RayCluster) bool {
	return rc.Labels[rayv1.LabelJobSubmissionMode] == string(rayv1.SidecarMode)
}

// head plans the head Pod. It waits until a deleted head is gone, because two heads would share the Service and the stored
// metadata.
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

// interchangeable plans a group whose workers are independent of each other.
func (p *planner) interchangeable(index int, g *rayv1.WorkerGroupSpec, list []*corev1.Pod) {
	healthy := p.healthy(g, list)
	units := make([]replica, len(healthy))
	for i := range healthy {
		units[i] = replica{pods: healthy[i : i+1 : i+1], outdated: p.outdated(healthy[i])}
	}
	units, desired := p.replace(g, units, DesiredPods(g), 1)
	if missing := desired - int64(len(units)); missing > 0 {
		c := Create{Group: index}
		if n := int(min(missing, MaxCreates)); p.Replicas {
			c.Replicas = newReplicas(n, indicesOf(podsOf(units)))
		} else {
			c.Plain = n
		}
		p.CreateWorkers = append(p.CreateWorkers, c)
	}
	if surplus := int64(len(units)) - desired; surplus > 0 && p.mayShrink() {
		slices.SortFunc(units, byWorthOfReplica)
		for _, r := range units[:surplus] {
			p.deleteReplica(r, ReasonScaleDown, scaleDownMessage)
		}
		units = units[surplus:]
	}
	p.Keep = append(p.Keep, podsOf(units)...)
}

// healthy plans the deletion of workers that must go, each on its own, and returns the others.
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
