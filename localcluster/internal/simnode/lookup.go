package simnode

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/localcluster/internal/podrun"
)

// byAddress is the index of Pods by their address.
const byAddress = "address"

func podAddress(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok && pod.Status.PodIP != "" && !pod.Spec.HostNetwork {
		return []string{pod.Status.PodIP}, nil
	}
	return nil, nil
}

// byCluster is the index of Pods by their Ray cluster.
const byCluster = "cluster"

func podCluster(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok && podrun.Cluster(pod).Name != "" {
		return []string{podrun.Cluster(pod).String()}, nil
	}
	return nil, nil
}

// Pods are those of a Ray cluster that have not ended, with the fields that this package keeps. They must not be changed.
func (s *Simulator) Pods(cluster types.NamespacedName) []*corev1.Pod {
	objs, err := s.pods.GetIndexer().ByIndex(byCluster, cluster.String())
	if err != nil {
		return nil
	}
	var out []*corev1.Pod
	for _, obj := range objs {
		if pod, ok := obj.(*corev1.Pod); ok && !hasEnded(pod) {
			out = append(out, pod)
		}
	}
	return out
}

// PodAt returns the Pod of an address that has not ended, nil when there is none. It has only the fields that this package keeps, and must
// not be changed.
func (s *Simulator) PodAt(ip string) *corev1.Pod {
	objs, err := s.pods.GetIndexer().ByIndex(byAddress, ip)
	if err != nil {
		return nil
	}
	for _, obj := range objs {
		if pod, ok := obj.(*corev1.Pod); ok && !hasEnded(pod) {
			return pod
		}
	}
	return nil
}

// Pod is PodAt by name, also for a Pod that has ended.
func (s *Simulator) Pod(namespace, name string) *corev1.Pod {
	obj, ok, err := s.pods.GetStore().GetByKey(namespace + "/" + name)
	if err != nil || !ok {
		return nil
	}
	pod, _ := obj.(*corev1.Pod)
	return pod
}

// IsNode reports whether an address is that of a simulated node.
func (s *Simulator) IsNode(ip string) bool {
	for _, address := range s.nodes {
		if address == ip {
			return true
		}
	}
	return false
}
