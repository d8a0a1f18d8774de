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

// replica is the Pods of one replica of several hosts that are not being deleted.
type replica struct {
	// name is that of the label, empty for Pods that were made before replicas had names.
	name string
	// index within the group; meaningless without a name.
	index int
	// pods in the order of their hosts.
	pods []*corev1.Pod
	// leaving says that some Pods of the replica are being deleted.
	leaving bool
}

// multiHost plans a group whose replicas span several hosts. A replica stands and falls as a whole: the hosts of an
// accelerator that have lost one of their number are of no use.
//
// Workers without the name of a replica are from before the feature gate was turned on. They stay, counted by the number
// of hosts at a time, and are replaced one for one as they were then: who belongs to whom is not known.
func (p *planner) multiHost(index int, g *rayv1.WorkerGroupSpec, w workers) {
	var whole, unfinished []replica
	for _, r := range p.survivors(g, w) {
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
		// Two halves hold what one whole needs. Let go of the smaller, and the better one can be finished.
		p.deleteReplica(unfinished[0], ReasonScaleDown, "other replicas of the worker group need its room to become complete")
		unfinished = unfinished[1:]
	}
	whole, unfinished = p.shrink(g, whole, unfinished)
	for _, r := range slices.Concat(whole, unfinished) {
		p.Keep = append(p.Keep, r.pods...)
	}
	missing := DesiredReplicas(g) - int64(len(whole)+len(unfinished))
	if missing < 0 {
		return // nothing more may be taken, and nothing has to be added
	}
	if refused && len(unfinished) > 0 {
		// One after the other, or none gets finished.
		unfinished, missing = unfinished[len(unfinished)-1:], 0
	}
	slices.SortFunc(unfinished, func(a, b replica) int { return cmp.Compare(a.index, b.index) })
	c := creation{Create: Create{Group: index}, hosts: hosts(g), room: MaxCreates}
	for _, r := range unfinished {
		c.finish(r)
	}
	// Indices of replicas that are on their way out are still taken: they name hosts that still run.
	c.begin(missing, indicesOf(slices.Concat(w.staying, w.leaving)))
	if c.Pods() > 0 {
		p.CreateWorkers = append(p.CreateWorkers, c.Create)
	}
}

// shrink plans the end of replicas beyond the desired number, the first of each list first, and returns the others.
func (p *planner) shrink(g *rayv1.WorkerGroupSpec, whole, unfinished []replica) (keepWhole, keepUnfinished []replica) {
	surplus := int64(len(whole)+len(unfinished)) - DesiredReplicas(g)
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

// survivors plans the end of replicas that cannot stay, and of Pods that their replica has too many of, and returns the
// others.
func (p *planner) survivors(g *rayv1.WorkerGroupSpec, w workers) []replica {
	named, plain := replicasOf(w)
	var list []replica
	for _, name := range slices.Sorted(maps.Keys(named)) {
		r := named[name]
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
	slices.SortFunc(healthy, func(a, b *corev1.Pod) int { return byWorth(b, a) }) // what is left over in the end is worth least
	for chunk := range slices.Chunk(healthy, int(min(hosts(g), MaxCreates))) {
		list = append(list, replica{pods: chunk})
	}
	return list
}

// replicaMustGo tells why the replica has to go as a whole; an empty reason means that it may stay.
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
	case r.leaving:
		return ReasonReplicaIncomplete, "another host of its replica is being deleted"
	case !p.refused(g.GroupName) && slices.ContainsFunc(r.pods, running):
		// It has worked, so it was complete. Were it merely not finished yet, that would be on record.
		return ReasonReplicaIncomplete, "another host of its replica is gone"
	}
	return "", ""
}

// running reports whether Ray runs in the Pod. Readiness would not do: hosts that have lost one of their number may not be
// ready, and a new host must not join them.
func running(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning }

func (p *planner) deleteReplica(r replica, reason Reason, message string) {
	for _, pod := range r.pods {
		p.delete(pod, reason, message)
	}
}

// replicasOf sorts the workers of a group into their replicas. Those without one are plain.
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

// trim takes the Pods beyond n off the replica: those whose host is not one of the replica or has another Pod, first.
// They come to be when the number of hosts was lowered, or an answer to a create was lost.
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

// byWorthOfReplica sorts the replica that is missed least first: by how many Pods it has, then by the Pod that is furthest
// behind.
func byWorthOfReplica(a, b replica) int {
	return cmp.Or(
		cmp.Compare(len(a.pods), len(b.pods)),
		byWorth(a.least(), b.least()),
		strings.Compare(b.name, a.name),
	)
}

func (r replica) least() *corev1.Pod { return slices.MinFunc(r.pods, byWorth) }

// creation is a Create in the making for a group of several hosts per replica.
type creation struct {
	Create
	hosts int64
	room  int64 // Pods that may still be asked for
}

// finish asks for what the replica lacks.
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

// begin asks for n new replicas with the smallest indices that are not used. The last one is not begun if there is no room
// to finish it: its first hosts would run alone until the next plan, which takes them for what is left of a lost replica.
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
