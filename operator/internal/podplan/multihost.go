package podplan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// replica contains the Pods of one multi-host replica that are not being deleted.
type replica struct {
	// name is the value of the label; empty for Pods that were created before replicas had names.
	name string
	// index within the group; meaningless without a name.
	index int
	// pods in the order of their hosts.
	pods []*corev1.Pod
	// leaving means that some Pods of the replica are being deleted.
	leaving bool
	// outdated means that some of the Pods have an outdated template.
	outdated bool
}

// podsOf returns the Pods of the replicas.
func podsOf(list []replica) []*corev1.Pod {
	pods := make([]*corev1.Pod, 0, len(list))
	for _, r := range list {
		pods = append(pods, r.pods...)
	}
	return pods
}

// multiHost plans a group with multi-host replicas. A replica lives and dies as a whole, because the hosts of an accelerator are
// useless if one of them is missing.
//
// Workers without a replica name were created before the feature gate was enabled. They stay, grouped by the number of hosts, and
// are replaced one by one as before: which ones form a replica is unknown.
func (p *planner) multiHost(index int, g *rayv1.WorkerGroupSpec, w workers) {
	var whole, unfinished []replica
	list, desired := p.replace(g, p.survivors(g, w), DesiredReplicas(g), hosts(g))
	for _, r := range list {
		if int64(len(r.pods)) == hosts(g) {
			whole = append(whole, r)
		} else {
			unfinished = append(unfinished, r)
		}
	}
	slices.SortFunc(whole, byWorthOfReplica)
	slices.SortFunc(unfinished, byWorthOfReplica)
	refused := p.refused(g.GroupName)
	if refused && len(unfinished) > 1 {
		// Two incomplete replicas hold the resources of a complete one. Delete the smaller one, so that the other can be completed.
		p.deleteReplica(unfinished[0], ReasonScaleDown, "other replicas of the worker group need its room to become complete")
		unfinished = unfinished[1:]
	}
	whole, unfinished = p.shrink(desired, whole, unfinished)
	p.Keep = append(p.Keep, podsOf(slices.Concat(whole, unfinished))...)
	missing := desired - int64(len(whole)+len(unfinished))
	if missing < 0 {
		return // nothing to create, and nothing more may be deleted
	}
	if refused && len(unfinished) > 0 {
		// Complete one replica at a time; otherwise none may become complete.
		unfinished, missing = unfinished[len(unfinished)-1:], 0
	}
	slices.SortFunc(unfinished, func(a, b replica) int { return cmp.Compare(a.index, b.index) })
	c := creation{Create: Create{Group: index}, hosts: hosts(g), room: MaxCreates}
	for _, r := range unfinished {
		c.finish(r)
	}
	// Indices of replicas that are being deleted are still in use: their hosts still run.
	c.begin(missing, indicesOf(slices.Concat(w.staying, w.leaving)))
	if c.Pods() > 0 {
		p.CreateWorkers = append(p.CreateWorkers, c.Create)
	}
}

// shrink plans the deletion of surplus replicas from the start of each list, and returns the others.
func (p *planner) shrink(desired int64, whole, unfinished []replica) (keepWhole, keepUnfinished []replica) {
	surplus := int64(len(whole)+len(unfinished)) - desired
	for ; surplus > 0 && len(unfinished) > 0 && (p.mayShrink() || unfinished[0].name != ""); surplus-- {
		// An incomplete replica is unusable; replace it without waiting for the autoscaler.
		p.deleteReplica(unfinished[0], ReasonScaleDown, scaleDownMessage)
		unfinished = unfinished[1:]
	}
	for ; surplus > 0 && len(whole) > 0 && p.mayShrink(); surplus-- {
		p.deleteReplica(whole[0], ReasonScaleDown, scaleDownMessage)
		whole = whole[1:]
	}
	return whole, unfinished
}

// survivors plans the deletion of replicas that cannot stay and of extra Pods in a replica. It returns the remaining replicas.
func (p *planner) survivors(g *rayv1.WorkerGroupSpec, w workers) []replica {
	named, plain := replicasOf(w)
	var list []replica
	for _, name := range slices.Sorted(maps.Keys(named)) {
		r := named[name]
		r.outdated = slices.ContainsFunc(r.pods, p.outdated)
		if reason, why := p.replicaMustGo(g, r); reason != "" {
			p.deleteReplica(*r, reason, why)
			continue
		}
		for _, pod := range r.trim(int(min(hosts(g), MaxCreates))) {
			p.delete(pod, ReasonScaleDown, "its replica has all its hosts without it")
		}
		list = append(list, *r)
	}
	healthy := p.healthy(g, plain)
	slices.SortFunc(healthy, func(a, b *corev1.Pod) int { return byWorth(b, a) }) // the Pods that are left over at the end are the least valuable
	for chunk := range slices.Chunk(healthy, int(min(hosts(g), MaxCreates))) {
		list = append(list, replica{pods: chunk, outdated: slices.ContainsFunc(chunk, p.outdated)})
	}
	return list
}

// replicaMustGo returns why the whole replica must be deleted; an empty reason means that it may stay.
func (p *planner) replicaMustGo(g *rayv1.WorkerGroupSpec, r *replica) (Reason, string) {
	for _, pod := range r.pods {
		if reason, why := p.mustGo(g, pod); reason != "" {
			return reason, fmt.Sprintf("its replica goes as a whole with %s: %s", pod.Name, why)
		}
	}
	complete := int64(len(r.pods)) >= hosts(g)
	switch {
	case complete:
		return "", ""
	case r.outdated:
		return ReasonReplicaIncomplete, "another host of its replica is gone, and new hosts would have another template"
	case r.leaving:
		return ReasonReplicaIncomplete, "another host of its replica is being deleted"
	case !p.refused(g.GroupName) && slices.ContainsFunc(r.pods, running):
		// A Pod that runs belonged to a complete replica. If the replica had never been complete, Unfinished would report that.
		return ReasonReplicaIncomplete, "another host of its replica is gone"
	}
	return "", ""
}

// running reports whether Ray runs in the Pod. Readiness does not work here: hosts of a broken replica may not be ready, and a new
// host must not join them.
func running(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning }

func (p *planner) deleteReplica(r replica, reason Reason, message string) {
	for _, pod := range r.pods {
		p.delete(pod, reason, message)
	}
}

// replicasOf groups the workers of a group by replica. Workers without a replica name are plain.
func replicasOf(w workers) (named map[string]*replica, plain []*corev1.Pod) {
	named = map[string]*replica{}
	for _, pod := range w.staying {
		name := pod.Labels[rayv1.LabelWorkerGroupReplicaName]
		if name == "" {
			plain = append(plain, pod)
			continue
		}
		r := named[name]
		if r == nil {
			r = &replica{name: name}
			named[name] = r
		}
		if i, ok := number(pod, rayv1.LabelWorkerGroupReplicaIndex); ok && len(r.pods) == 0 {
			r.index = i
		}
		r.pods = append(r.pods, pod)
	}
	for _, pod := range w.leaving {
		if r := named[pod.Labels[rayv1.LabelWorkerGroupReplicaName]]; r != nil {
			r.leaving = true
		}
	}
	return named, plain
}

// trim removes the Pods beyond n from the replica and returns them, first those with an invalid or duplicate host index. Such Pods
// exist after the number of hosts was lowered or the response to a create was lost.
func (r *replica) trim(n int) []*corev1.Pod {
	slices.SortFunc(r.pods, func(a, b *corev1.Pod) int { return byWorth(b, a) })
	var good, extra []*corev1.Pod
	seen := map[int]bool{}
	for _, pod := range r.pods {
		if i, ok := number(pod, rayv1.LabelReplicaHostIndex); ok && i < n && !seen[i] {
			seen[i] = true
			good = append(good, pod)
		} else {
			extra = append(extra, pod)
		}
	}
	r.pods = append(good, extra...)
	if len(r.pods) <= n {
		return nil
	}
	extra = r.pods[n:]
	r.pods = r.pods[:n:n]
	return extra
}

// byWorthOfReplica sorts the least valuable replica first: by number of Pods, then by the Pod that has made the least progress. Of equal
// progress, an outdated template comes first.
func byWorthOfReplica(a, b replica) int {
	x, y := a.least(), b.least()
	return cmp.Or(
		cmp.Compare(len(a.pods), len(b.pods)),
		cmp.Compare(progress(x), progress(y)),
		cmp.Compare(a.template(), b.template()),
		byWorth(x, y),
		strings.Compare(b.name, a.name),
	)
}

// template is 0 for an outdated template, and 1 for the current one.
func (r replica) template() int {
	if r.outdated {
		return 0
	}
	return 1
}

func (r replica) least() *corev1.Pod { return slices.MinFunc(r.pods, byWorth) }

// creation builds a Create for a group with multi-host replicas.
type creation struct {
	Create
	hosts int64
	room  int64 // Pods that may still be created
}

// finish requests the missing Pods of the replica.
func (c *creation) finish(r replica) {
	lacks := min(c.hosts-int64(len(r.pods)), c.room)
	if r.name == "" {
		c.Plain += int(lacks)
		c.room -= lacks
		return
	}
	taken := map[int]bool{}
	for _, pod := range r.pods {
		if i, ok := number(pod, rayv1.LabelReplicaHostIndex); ok {
			taken[i] = true
		}
	}
	c.add(Replica{Index: r.index, Name: r.name}, lacks, taken)
}

// begin requests n new replicas with the smallest unused indices. It does not begin a replica that it has no room to finish: the
// next plan would treat its running hosts as the rest of a lost replica.
func (c *creation) begin(n int64, used map[int]bool) {
	for i := 0; n > 0 && c.room > 0; i++ {
		if c.room < c.hosts && c.Pods() > 0 {
			return
		}
		if !used[i] {
			c.add(Replica{Index: i}, min(c.hosts, c.room), nil)
			n--
		}
	}
}

func (c *creation) add(r Replica, lacks int64, taken map[int]bool) {
	if lacks <= 0 {
		return
	}
	c.room -= lacks
	for i := 0; int64(len(r.Hosts)) < lacks; i++ {
		if !taken[i] {
			r.Hosts = append(r.Hosts, i)
		}
	}
	c.Replicas = append(c.Replicas, r)
}
