package podplan

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Rolling is how Pods with an outdated template are replaced.
type Rolling struct {
	*rayv1.RollingUpdate
	// Hashes are the hashes of the templates by group; that of the head is under rayv1.HeadGroupName.
	Hashes map[string]string
}

// Upgrade is the progress of a rolling upgrade.
type Upgrade struct {
	// InProgress means that Pods with an outdated template are left and will be replaced, or that the last replacements of an upgrade are not ready.
	InProgress bool
	// Groups are the groups that have or want workers, in the order of the spec.
	Groups []GroupUpgrade
	// HeadFollows means that the head is outdated and is replaced after the workers.
	HeadFollows bool
	// HeadStays means that the head is outdated and is not replaced: its loss would end all work, or an annotation forbids it.
	HeadStays bool
}

// GroupUpgrade is the progress of one group.
type GroupUpgrade struct {
	Name string
	// Updated are the ready Pods with the current template, and Wanted all that the spec asks for.
	Updated, Wanted int64
}

const outdatedMessage = "its template is outdated, and the upgrade strategy is RollingUpdate"

// maxMark limits the Pods of a plan that get the hash of their template: each is a request.
const maxMark = 50

// rollout is the part of a planner that is about a rolling upgrade.
type rollout struct {
	// head is the only head, which is not being deleted; nil if there is none or several.
	head *corev1.Pod
	// unchanged is when the head was created, if it was created from the current spec. Workers since then were, too.
	unchanged *metav1.Time
	// moves means that Pods may be replaced now.
	moves bool
	// outdated means that there are outdated workers, and pending that some are left after the plan or that a needed Pod is not ready.
	outdated, pending bool
}

// begin looks at the head before the groups are planned. Nothing is replaced while the head is not ready: new workers could not join it.
func (p *planner) begin(own pods) {
	if p.Rolling == nil {
		return
	}
	p.Upgrade = &Upgrade{}
	p.roll.pending = true
	if len(own.heads) != 1 || len(own.leavingHeads) > 0 {
		return
	}
	head := own.heads[0]
	p.roll.head = head
	p.roll.pending = !available(head)
	p.roll.moves = !p.roll.pending && !p.Rolling.Paused
	if a := head.Annotations; p.Hash != "" && a[rayv1.AnnotationUpgradeStrategyRecreateHash] == p.Hash && a[rayv1.AnnotationKubeRayVersion] == p.Version {
		p.roll.unchanged = &head.CreationTimestamp
	}
}

// outdated reports whether the Pod has another template than the spec. A Pod without a hash was created before the cluster had a rolling
// upgrade, or by another operator. Its template counts as outdated, unless the spec has certainly not changed since.
func (p *planner) outdated(pod *corev1.Pod) bool {
	if p.Rolling == nil {
		return false
	}
	if hash := pod.Annotations[rayv1.AnnotationTemplateHash]; hash != "" {
		return hash != p.Rolling.Hashes[pod.Labels[rayv1.LabelGroup]]
	}
	return p.roll.unchanged == nil || pod.CreationTimestamp.Before(p.roll.unchanged)
}

// available reports whether Ray runs in the Pod and is ready.
func available(pod *corev1.Pod) bool { return progress(pod) == 3 }

// standing are the replicas of a group by template.
type standing struct {
	current, old []replica
	// ready are those of both whose hosts all are ready, and updated those of current.
	ready, updated int64
}

// whole reports whether all of so many hosts are available.
func (r replica) whole(hosts int64) bool { return int64(len(r.pods)) == hosts && available(r.least()) }

func standingOf(list []replica, hosts int64) standing {
	var s standing
	for _, r := range list {
		up := int64(0)
		if r.whole(hosts) {
			up = 1
		}
		s.ready += up
		if r.outdated {
			s.old = append(s.old, r)
		} else {
			s.current = append(s.current, r)
			s.updated += up
		}
	}
	slices.SortFunc(s.old, byWorthOfReplica)
	return s
}

func (s *standing) len() int64 { return int64(len(s.current) + len(s.old)) }

// replace plans the next step of the upgrade of a group with these replicas. It returns the replicas that stay, and how many the group is to have
// now, with the surge. A replica has so many hosts.
func (p *planner) replace(g *rayv1.WorkerGroupSpec, list []replica, desired, hosts int64) (stay []replica, wanted int64) {
	if p.Rolling == nil {
		return list, desired
	}
	s, before := standingOf(list, hosts), int64(len(list))
	p.roll.outdated = p.roll.outdated || len(s.old) > 0
	unavailable, surge := p.Rolling.Limits(int(desired))
	most := int64(surge)
	if p.roll.moves {
		p.deleteOutdated(&s, desired-int64(unavailable), hosts)
	} else { // an earlier surge stays, but does not grow
		most = min(most, max(0, before-desired))
	}
	p.noteProgress(g, s, desired, hosts)
	wanted = desired + min(most, int64(len(s.old)))
	if s.len() < wanted {
		// The next plan creates the replacements: a deletion that is refused over and over must not add Pods.
		wanted = max(s.len(), wanted-(before-s.len()))
	}
	return append(s.current, s.old...), wanted
}

// deleteOutdated deletes outdated replicas while at least needed replicas are ready.
//
// As for a Deployment, replacements that are not ready yet use up the limit. So never more replicas are in transition than allowed, even if
// outdated ones lose their readiness for another reason.
func (p *planner) deleteOutdated(s *standing, needed, hosts int64) {
	starting := int64(len(s.current)) - s.updated
	for len(s.old) > 0 && s.len()-starting > needed {
		next := s.old[0]
		if next.whole(hosts) {
			if s.ready <= needed {
				return
			}
			s.ready--
		}
		p.deleteReplica(next, ReasonRollingUpdate, outdatedMessage)
		s.old = s.old[1:]
	}
}

// noteProgress records what the plan for a group leaves. With the autoscaler, the group only needs minReplicas: the others may wait for nodes
// without end.
func (p *planner) noteProgress(g *rayv1.WorkerGroupSpec, s standing, desired, hosts int64) {
	needed := desired
	if ptr.Deref(p.Cluster.Spec.EnableInTreeAutoscaling, false) {
		needed = min(needed, MinPods(g)/hosts)
	}
	p.roll.pending = p.roll.pending || len(s.old) > 0 || s.updated < needed
	if desired > 0 {
		p.Upgrade.Groups = append(p.Upgrade.Groups, GroupUpgrade{Name: g.GroupName, Updated: s.updated * hosts, Wanted: desired * hosts})
	}
}

// finishUpgrade marks Pods, and replaces an outdated head after the workers. Only with GCS fault tolerance does its work survive that.
func (p *planner) finishUpgrade() {
	if p.Rolling == nil {
		return
	}
	p.Mark = slices.DeleteFunc(slices.Clone(p.Keep), func(pod *corev1.Pod) bool {
		return pod.Annotations[rayv1.AnnotationTemplateHash] != "" || p.outdated(pod)
	})
	p.Mark = p.Mark[:min(len(p.Mark), maxMark)]
	head, u := p.roll.head, p.Upgrade
	begun := meta.IsStatusConditionTrue(p.Cluster.Status.Conditions, rayv1.RayClusterUpgradeInProgress)
	u.InProgress = p.roll.outdated || begun && p.roll.pending
	switch {
	case head == nil || !p.outdated(head):
	case head.Annotations[rayv1.AnnotationFTEnabled] != "true" || headRestartDisabled(p.Cluster):
		u.HeadStays = true
	default:
		u.HeadFollows, u.InProgress = true, true
		if p.roll.moves && !p.roll.pending {
			p.Keep = slices.DeleteFunc(p.Keep, func(pod *corev1.Pod) bool { return pod == head })
			p.Delete = append(deleteAll([]*corev1.Pod{head}, ReasonRollingUpdate, outdatedMessage), p.Delete...)
		}
	}
}
