package simnode

import (
	corev1 "k8s.io/api/core/v1"
)

// byAddress is the index of Pods by their address.
const byAddress = "address"

func podAddress(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok && pod.Status.PodIP != "" && !pod.Spec.HostNetwork {
		return []string{pod.Status.PodIP}, nil
	}
	return nil, nil
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
