package simnode

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

const (
	leaseDuration = 40 * time.Second
	renewInterval = 10 * time.Second
)

// nodeName of the i-th node, counted from 0.
func nodeName(i int) string { return fmt.Sprintf("raygate-node-%d", i) }

// nodeAddress is the address of the node, outside the range of the Pods.
func nodeAddress(i int) string { return fmt.Sprintf("10.245.%d.%d", i/250, i%250+1) }

// node returns the object of the i-th simulated node. Its capacity is so large that Pods wait only if a test requests too much on
// purpose. kubeletPort is 0 if the node has no kubelet server.
func node(i int, kubeletPort int32, now time.Time) *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("20000"),
		corev1.ResourceMemory:           resource.MustParse("100Ti"),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Ti"),
		corev1.ResourcePods:             resource.MustParse("20000"),
		"nvidia.com/gpu":                resource.MustParse("1000"),
		"google.com/tpu":                resource.MustParse("1000"),
	}
	at := metav1.NewTime(now)
	condition := func(t corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: t, Status: status, Reason: reason, Message: message, LastHeartbeatTime: at, LastTransitionTime: at}
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: nodeName(i),
			Labels: map[string]string{
				corev1.LabelHostname:           nodeName(i),
				corev1.LabelOSStable:           "linux",
				corev1.LabelArchStable:         "amd64",
				corev1.LabelInstanceTypeStable: "simulated",
				"raygate.io/simulated":         "true",
			},
		},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: capacity,
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: nodeAddress(i)},
				{Type: corev1.NodeHostName, Address: nodeName(i)},
			},
			Conditions: []corev1.NodeCondition{
				condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "simulated node is ready"),
				condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "simulated"),
				condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "simulated"),
				condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "simulated"),
			},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: kubeletPort}},
			NodeInfo: corev1.NodeSystemInfo{
				Architecture: "amd64", OperatingSystem: "linux", OSImage: "simulated",
				KubeletVersion: "v1.37.2", ContainerRuntimeVersion: "sim://1.0.0",
			},
		},
	}
}

// register creates the i-th node, or updates the status of an existing one. Changes of users, such as taints, cordons and labels,
// stay.
func (s *Simulator) register(ctx context.Context, i int) error {
	want := node(i, s.kubeletPort, time.Now())
	nodes := s.client.CoreV1().Nodes()
	if _, err := nodes.Create(ctx, want, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("registering %s: %w", want.Name, err)
	}
	// Users write to nodes, too.
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		have, err := nodes.Get(ctx, want.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		have.Status = want.Status
		_, err = nodes.UpdateStatus(ctx, have, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("writing status of %s: %w", want.Name, err)
	}
	return s.renew(ctx, i)
}

// renew renews the node's lease, and registers the node again if it was deleted.
func (s *Simulator) renew(ctx context.Context, i int) error {
	name := nodeName(i)
	if _, err := s.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{ResourceVersion: "0"}); apierrors.IsNotFound(err) {
		return s.register(ctx, i)
	}
	now := metav1.NewMicroTime(time.Now())
	leases := s.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease, err := leases.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity:       new(name),
				LeaseDurationSeconds: new(int32(leaseDuration / time.Second)),
				RenewTime:            &now,
			},
		}, metav1.CreateOptions{})
	} else if err == nil {
		lease.Spec.RenewTime = &now
		_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("renewing lease of %s: %w", name, err)
	}
	return nil
}
