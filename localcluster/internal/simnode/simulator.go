package simnode

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
)

const workers = 32

// Simulator runs the simulated nodes.
type Simulator struct {
	client    kubernetes.Interface
	nodes     map[string]string // name -> address
	addresses *addresses
	queue     workqueue.TypedRateLimitingInterface[types.NamespacedName]
	pods      cache.SharedIndexInformer
	logf      func(format string, args ...any)

	runtime     Runtime // nil if no containers are real processes
	kubeletPort int32
}

// Runtime runs the containers of Pods that are real processes. Its methods do not block.
type Runtime interface {
	// Containers starts the real containers that do not run yet and returns their states by name.
	Containers(pod *corev1.Pod, ip string) map[string]corev1.ContainerStatus
	// Ready reports whether the probes of a Pod succeed.
	Ready(pod *corev1.Pod) bool
	// Stop ends the real processes of a Pod and reports whether they have ended. The runtime calls Changed when they end later.
	Stop(pod *corev1.Pod, grace time.Duration) (ended bool)
	// Crash kills the real processes of a Pod and reports whether the node has noticed. The runtime calls Changed when it notices
	// later.
	Crash(pod *corev1.Pod) (noticed bool)
	// Forget is called when a Pod is gone.
	Forget(uid types.UID)
	// KeepOnly is called once at the start with the existing Pods.
	KeepOnly(uids map[types.UID]bool)
}

// Use runs containers of Pods as real processes, as far as r supports them. kubeletPort is the port of the kubelet server of all
// nodes. Call Use before Start.
func (s *Simulator) Use(r Runtime, kubeletPort int32) { s.runtime, s.kubeletPort = r, kubeletPort }

// Changed queues the Pod for another sync.
func (s *Simulator) Changed(key types.NamespacedName) { s.queue.Add(key) }

// New prepares n nodes of the cluster of cfg. logf receives errors that are retried; it must not be nil.
func New(cfg *rest.Config, n int, logf func(format string, args ...any)) (*Simulator, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	cfg.UserAgent = "raygate-local-nodes"
	cfg.ContentType = "application/vnd.kubernetes.protobuf"
	cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("making client of the simulated nodes: %w", err)
	}
	s := &Simulator{client: client, nodes: map[string]string{}, addresses: newAddresses(), logf: logf}
	for i := range n {
		s.nodes[nodeName(i)] = nodeAddress(i)
	}
	s.queue = workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](20*time.Millisecond, 5*time.Second))
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTransform(strip),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermNotEqualSelector("spec.nodeName", "").String()
		}))
	s.pods = factory.Core().V1().Pods().Informer()
	if err := s.pods.AddIndexers(cache.Indexers{byAddress: podAddress, byCluster: podCluster}); err != nil {
		return nil, fmt.Errorf("indexing Pods: %w", err)
	}
	_, err = s.pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    s.enqueue,
		UpdateFunc: func(_, obj any) { s.enqueue(obj) },
		DeleteFunc: s.forget,
	})
	if err != nil {
		return nil, fmt.Errorf("watching Pods: %w", err)
	}
	return s, nil
}

// Start registers the nodes and returns when they are ready for Pods. They stay ready until ctx is done. wait returns after
// everything has ended.
func (s *Simulator) Start(ctx context.Context) (wait func(), err error) {
	for i := range len(s.nodes) {
		if err := s.register(ctx, i); err != nil {
			return func() {}, err
		}
	}
	var wg sync.WaitGroup
	wg.Go(func() { s.pods.Run(ctx.Done()) })
	if !cache.WaitForCacheSync(ctx.Done(), s.pods.HasSynced) {
		return wg.Wait, ctx.Err()
	}
	// Reserve existing addresses before new ones are assigned: Pods of an earlier run keep theirs.
	uids := map[types.UID]bool{}
	for _, obj := range s.pods.GetStore().List() {
		if pod, ok := obj.(*corev1.Pod); ok {
			s.addresses.reserve(string(pod.UID), pod.Status.PodIP)
			uids[pod.UID] = true
		}
	}
	if s.runtime != nil {
		s.runtime.KeepOnly(uids)
	}
	for range workers {
		wg.Go(func() {
			for s.work(ctx) {
			}
		})
	}
	wg.Go(func() { s.renewAll(ctx) })
	wg.Go(func() {
		<-ctx.Done()
		s.queue.ShutDown()
	})
	return wg.Wait, nil
}

// Counts are the Pods on the simulated nodes.
type Counts struct{ Running, Starting, Ending, Done int }

// Counts counts the Pods in the cache.
func (s *Simulator) Counts() Counts {
	var c Counts
	for _, obj := range s.pods.GetStore().List() {
		pod, ok := obj.(*corev1.Pod)
		switch {
		case !ok:
		case pod.DeletionTimestamp != nil:
			c.Ending++
		case pod.Status.Phase == corev1.PodRunning:
			c.Running++
		case pod.Status.Phase == corev1.PodPending:
			c.Starting++
		default:
			c.Done++
		}
	}
	return c
}

func (s *Simulator) renewAll(ctx context.Context) {
	tick := time.NewTicker(renewInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for i := range len(s.nodes) {
			if err := s.renew(ctx, i); err != nil && ctx.Err() == nil {
				s.logf("simulated node: %v", err)
			}
		}
	}
}

func (s *Simulator) enqueue(obj any) {
	if pod, ok := obj.(*corev1.Pod); ok {
		s.queue.Add(types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	}
}

func (s *Simulator) forget(obj any) {
	if d, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = d.Obj
	}
	if pod, ok := obj.(*corev1.Pod); ok {
		s.addresses.release(string(pod.UID))
		if s.runtime != nil {
			s.runtime.Forget(pod.UID)
		}
	}
}

func (s *Simulator) work(ctx context.Context) bool {
	key, shutdown := s.queue.Get()
	if shutdown {
		return false
	}
	defer s.queue.Done(key)
	if err := s.sync(ctx, key); err != nil && ctx.Err() == nil {
		if s.queue.NumRequeues(key) >= 5 {
			s.logf("simulated node: Pod %s: %v", key, err)
		}
		s.queue.AddRateLimited(key)
		return true
	}
	s.queue.Forget(key)
	return true
}

// sync performs the next step for one Pod; the watch queues the Pod again for the step after it.
func (s *Simulator) sync(ctx context.Context, key types.NamespacedName) error {
	obj, exists, err := s.pods.GetStore().GetByKey(key.String())
	if err != nil || !exists {
		return err
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return nil
	}
	hostIP, ours := s.nodes[pod.Spec.NodeName]
	if !ours {
		return nil
	}
	if pod.DeletionTimestamp != nil {
		return s.end(ctx, pod)
	}
	ip := hostIP
	if !pod.Spec.HostNetwork {
		if ip, err = s.addresses.assign(string(pod.UID)); err != nil {
			return err
		}
	}
	status := s.status(pod, ip, hostIP)
	if status == nil {
		return nil
	}
	return s.patch(ctx, pod, status)
}

// status returns the next status of the Pod, or nil if nothing changes.
func (s *Simulator) status(pod *corev1.Pod, ip, hostIP string) *corev1.PodStatus {
	switch {
	case s.runtime == nil:
		return next(pod, ip, hostIP, true, time.Now())
	case hasEnded(pod):
		s.runtime.Stop(pod, 0)
		return nil
	case crashes(pod) && !s.runtime.Crash(pod):
		return nil // Changed queues the Pod again
	case hasReal(pod):
		return withProcesses(pod, ip, hostIP, s.runtime.Containers(pod, ip), time.Now())
	}
	return next(pod, ip, hostIP, s.runtime.Ready(pod), time.Now())
}

// end completes the deletion of a Pod after its real processes have ended.
func (s *Simulator) end(ctx context.Context, pod *corev1.Pod) error {
	grace := ptr.Deref(pod.DeletionGracePeriodSeconds, -1)
	if s.runtime != nil && !s.runtime.Stop(pod, time.Duration(max(grace, 0))*time.Second) {
		return nil // Changed queues the Pod again
	}
	if len(pod.Finalizers) > 0 {
		// The Pod stays visible until its finalizers are removed. Their owners may wait for its containers to end.
		status := next(pod, "", "", false, time.Now())
		if s.runtime != nil && hasReal(pod) && !hasEnded(pod) {
			status = stoppedProcesses(pod, s.runtime.Containers(pod, pod.Status.PodIP), time.Now())
		}
		if status != nil {
			if err := s.patch(ctx, pod, status); err != nil {
				return err
			}
		}
	}
	if grace == 0 {
		return nil // only the finalizers hold it
	}
	err := s.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)),
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// patch writes a status. The resourceVersion keeps the patch from changing a Pod that somebody else ended meanwhile, or a newer Pod
// of the same name. Conditions that the patch does not name stay.
func (s *Simulator) patch(ctx context.Context, pod *corev1.Pod, status *corev1.PodStatus) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": pod.ResourceVersion},
		"status":   status,
	})
	if err != nil {
		return fmt.Errorf("encoding status: %w", err)
	}
	_, err = s.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) {
		s.addresses.release(string(pod.UID)) // forget may have come before assign
		return nil
	}
	return err // also a conflict: the watch delivers what changed
}
