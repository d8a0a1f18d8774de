package simulation

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/simulation/apiserver"
)

const actorNode = "kubelet"

var kindPod = corev1.SchemeGroupVersion.WithKind("Pod").GroupKind()

// nodes are a scheduler and kubelets.
type nodes struct{ world *world }

// changed is called by the store.
func (n *nodes) changed(c apiserver.Change) {
	if c.Kind != kindPod {
		return
	}
	w := n.world
	p := c.Object().(*corev1.Pod)
	key, uid := client.ObjectKeyFromObject(p), p.UID
	switch {
	case c.Old == nil:
		w.after(w.between("schedule "+p.Name, 20*time.Millisecond, 2*time.Second), "schedule "+p.Name, func() { n.schedule(key, uid) })
	case c.New == nil:
		w.after(0, "gone "+p.Name, func() {
			w.rays.headGone(uid)
			n.refreshSoon(p.Labels[rayv1.LabelCluster])
		})
	case p.DeletionTimestamp != nil && c.Old.GetDeletionTimestamp() == nil:
		w.after(w.between("terminate "+p.Name, 0, 5*time.Second), "terminate "+p.Name, func() { w.rays.headGone(uid) }) // shells ignore the signal
		w.after(w.between("grace "+p.Name, 500*time.Millisecond, 30*time.Second), "stop "+p.Name, func() { n.stop(key, uid) })
	}
	if c.New != nil && p.DeletionGracePeriodSeconds != nil {
		w.after(time.Duration(*p.DeletionGracePeriodSeconds)*time.Second, "kill "+p.Name, func() { n.stop(key, uid) })
	}
}

// stop removes a Pod, unless its node is lost.
func (n *nodes) stop(key types.NamespacedName, uid types.UID) {
	n.world.mu.Lock()
	stuck := n.world.stuck[uid]
	n.world.mu.Unlock()
	if n.pod(key, uid) != nil && !stuck {
		n.world.store.Remove(actorNode, kindPod, key)
	}
}

// pod is a Pod that is still there; nil else.
func (n *nodes) pod(key types.NamespacedName, uid types.UID) *corev1.Pod {
	p, ok := n.world.store.Find(kindPod, key).(*corev1.Pod)
	if !ok || p.UID != uid {
		return nil
	}
	return p
}

func (n *nodes) mutate(p *corev1.Pod, change func(*corev1.Pod)) {
	n.world.store.Mutate(actorNode, kindPod, client.ObjectKeyFromObject(p), func(o client.Object) { change(o.(*corev1.Pod)) })
}

func (n *nodes) schedule(key types.NamespacedName, uid types.UID) {
	w := n.world
	p := n.pod(key, uid)
	if p == nil || p.DeletionTimestamp != nil {
		return
	}
	if w.fault(faultNodes, p.Labels[rayv1.LabelCluster]) > 0 {
		n.mutate(p, func(p *corev1.Pod) {
			if isScheduled(p) != corev1.ConditionFalse {
				setPodCondition(p, corev1.PodScheduled, false)
				p.Status.Conditions[len(p.Status.Conditions)-1].Message = "0/3 nodes are available: 3 Insufficient cpu."
			}
		})
		w.after(2*time.Second, "schedule "+p.Name, func() { n.schedule(key, uid) })
		return
	}
	n.mutate(p, func(p *corev1.Pod) {
		p.Spec.NodeName = "node"
		p.Status.Phase = corev1.PodPending
		setPodCondition(p, corev1.PodScheduled, true)
	})
	w.after(w.between("start "+p.Name, 100*time.Millisecond, 12*time.Second), "start "+p.Name, func() { n.start(key, uid) })
}

func (n *nodes) start(key types.NamespacedName, uid types.UID) {
	w := n.world
	p := n.pod(key, uid)
	if p == nil || p.DeletionTimestamp != nil {
		return
	}
	n.mutate(p, func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.PodIP = "10.0.0.1"
		for _, c := range p.Spec.Containers {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{
				Name: c.Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
			})
		}
	})
	if p.Labels[rayv1.LabelNodeType] == string(rayv1.HeadNode) {
		const restarts = 0
		w.after(w.between("ray "+p.Name, 500*time.Millisecond, 8*time.Second), "ray "+p.Name, func() { n.rayStarts(key, uid, restarts) })
	}
	n.refreshSoon(p.Labels[rayv1.LabelCluster])
	for i := range p.Spec.Containers {
		if s := submitterOf(p, &p.Spec.Containers[i]); s != nil {
			s.world = w
			w.after(time.Second, "submitter "+p.Name, s.wait)
		}
	}
}

// restartsOf returns the number of restarts of the containers of a Pod.
func restartsOf(p *corev1.Pod) int32 {
	if p == nil || len(p.Status.ContainerStatuses) == 0 {
		return 0
	}
	return p.Status.ContainerStatuses[0].RestartCount
}

// rayStarts has Ray come up on a head.
func (n *nodes) rayStarts(key types.NamespacedName, uid types.UID, restarts int32) {
	p := n.pod(key, uid)
	if p == nil || p.Labels[rayv1.LabelNodeType] != string(rayv1.HeadNode) || restartsOf(p) != restarts || p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil {
		return
	}
	n.world.rays.headStarts(p)
	n.refreshSoon(p.Labels[rayv1.LabelCluster])
}

// refreshSoon has the probes of the Pods of a cluster look again.
func (n *nodes) refreshSoon(cluster string) {
	if cluster == "" {
		return
	}
	n.world.after(n.world.between("probe "+cluster, 100*time.Millisecond, 3*time.Second), "probe "+cluster, func() { n.refresh(cluster) })
}

// refresh sets the readiness of the Pods of a cluster: of a head that of Ray, of a worker that there is a head, and for those behind a serve
// Service that applications run.
func (n *nodes) refresh(cluster string) {
	w := n.world
	ray := w.rays.of(cluster)
	for _, o := range w.store.All(kindPod) {
		p := o.(*corev1.Pod)
		if p.Labels[rayv1.LabelCluster] != cluster || p.Status.Phase != corev1.PodRunning || p.Labels[rayv1.LabelNodeType] == "" {
			continue
		}
		ready := ray != nil
		switch p.Labels[rayv1.LabelNodeType] {
		case string(rayv1.HeadNode):
			ready = w.rays.on(p.UID) != nil
		case string(rayv1.WorkerNode):
			ready = ready && (controlledBy(w.clusterObject(cluster), "RayService") == "" || ray.serves())
		}
		if ready == isReady(p) {
			continue
		}
		n.mutate(p, func(p *corev1.Pod) {
			setPodCondition(p, corev1.PodReady, ready)
			for i := range p.Status.ContainerStatuses {
				p.Status.ContainerStatuses[i].Ready = ready && p.Status.ContainerStatuses[i].State.Running != nil
			}
		})
	}
}

// kill ends the containers of a Pod for a reason of their own, such as a lack of memory.
func (n *nodes) kill(p *corev1.Pod) {
	w := n.world
	key, uid := client.ObjectKeyFromObject(p), p.UID
	w.rays.headGone(uid)
	if p.Spec.RestartPolicy == corev1.RestartPolicyNever {
		n.mutate(p, func(p *corev1.Pod) {
			p.Status.Phase = corev1.PodFailed
			setPodCondition(p, corev1.PodReady, false)
			for i := range p.Status.ContainerStatuses {
				terminate(&p.Status.ContainerStatuses[i], 137)
			}
		})
	} else {
		n.mutate(p, func(p *corev1.Pod) {
			setPodCondition(p, corev1.PodReady, false)
			for i := range p.Status.ContainerStatuses {
				p.Status.ContainerStatuses[i].RestartCount++
				p.Status.ContainerStatuses[i].Ready = false
			}
		})
		restarts := restartsOf(n.pod(key, uid))
		w.after(w.between("restart "+p.Name, 2*time.Second, 30*time.Second), "restart "+p.Name, func() { n.rayStarts(key, uid, restarts) })
	}
	n.refreshSoon(p.Labels[rayv1.LabelCluster])
}

// fail has a node evict a Pod, which stays with the phase Failed.
func (n *nodes) fail(p *corev1.Pod) {
	n.world.rays.headGone(p.UID)
	n.mutate(p, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.Reason = corev1.PodFailed, "Evicted"
		setPodCondition(p, corev1.PodReady, false)
		for i := range p.Status.ContainerStatuses {
			terminate(&p.Status.ContainerStatuses[i], 137)
			p.Status.ContainerStatuses[i].State.Terminated.Reason = "OOMKilled"
		}
	})
	n.refreshSoon(p.Labels[rayv1.LabelCluster])
}

// evict deletes a Pod, as a drain of its node does, or has its node fail.
func (n *nodes) evict(p *corev1.Pod) {
	_ = n.world.store.Delete(actorNode, p, client.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &p.UID}})
}

func terminate(s *corev1.ContainerStatus, code int32) {
	s.Ready = false
	s.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
		ExitCode: code, FinishedAt: metav1.Now(), Message: fmt.Sprintf("exit code %d", code),
	}}
}

func setPodCondition(p *corev1.Pod, kind corev1.PodConditionType, is bool) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	p.Status.Conditions = slices.DeleteFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.Now()})
}

// cannotPull has the image of a Pod's containers be away, for a while that its kubelet does not end by itself.
func (n *nodes) cannotPull(p *corev1.Pod) {
	key, uid := client.ObjectKeyFromObject(p), p.UID
	set := func(state corev1.ContainerState) {
		if p := n.pod(key, uid); p != nil {
			n.mutate(p, func(p *corev1.Pod) {
				for i := range p.Status.ContainerStatuses {
					p.Status.ContainerStatuses[i].State = state
				}
				setPodCondition(p, corev1.PodReady, false)
			})
		}
	}
	reason := []string{"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "CreateContainerError", "CrashLoopBackOff"}[n.world.pick("pull", 5)]
	set(corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "no such image"}})
	n.world.begins("an image is away", p.Name, 1, 2*time.Minute)
	n.world.after(2*time.Minute, "pulled "+p.Name, func() {
		set(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}})
		n.refresh(p.Labels[rayv1.LabelCluster])
	})
}

// hang deletes a Pod whose node is lost, until somebody removes it by force.
func (n *nodes) hang(p *corev1.Pod) {
	n.world.mu.Lock()
	n.world.stuck[p.UID] = true
	n.world.mu.Unlock()
	n.evict(p)
	n.world.begins("a node is lost", p.Name, 1, 8*time.Minute)
	n.world.after(8*time.Minute, "removed "+p.Name, func() { n.world.store.Remove(actorUser, kindPod, client.ObjectKeyFromObject(p)) })
}

func isScheduled(p *corev1.Pod) corev1.ConditionStatus {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.Status
		}
	}
	return corev1.ConditionUnknown
}
