package v1

import (
	"cmp"
	"slices"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// ClusterEvents returns the V1 form of the events of a RayCluster, oldest first.
func ClusterEvents(cluster *metav1.ObjectMeta, events []corev1.Event) []*kuberay.ClusterEvent {
	return eventsFromKube(cmp.Or(cluster.Labels[labelClusterName], cluster.Name), events)
}

// ServiceEvents returns the V1 form of the events of a RayService and then of those of its active cluster, each oldest first.
func ServiceEvents(service *metav1.ObjectMeta, own, cluster []corev1.Event) []*kuberay.RayServiceEvent {
	var out []*kuberay.RayServiceEvent
	for _, e := range slices.Concat(eventsFromKube(service.Name, own), eventsFromKube(service.Name, cluster)) {
		out = append(out, &kuberay.RayServiceEvent{
			Id: e.GetId(), Name: e.GetName(), CreatedAt: e.GetCreatedAt(), FirstTimestamp: e.GetFirstTimestamp(), LastTimestamp: e.GetLastTimestamp(),
			Reason: e.GetReason(), Message: e.GetMessage(), Type: e.GetType(), Count: e.GetCount(),
		})
	}
	return out
}

// eventsFromKube puts prefix in front of the names of the events.
func eventsFromKube(prefix string, events []corev1.Event) []*kuberay.ClusterEvent {
	var out []*kuberay.ClusterEvent
	for i := range events {
		e := &events[i]
		shown := &kuberay.ClusterEvent{
			Id: e.Name, Name: prefix + "-" + e.Name, CreatedAt: seconds(&e.CreationTimestamp), Reason: e.Reason, Message: e.Message, Type: e.Type, Count: e.Count,
			FirstTimestamp: cmp.Or(microSeconds(e.EventTime), seconds(&e.FirstTimestamp)),
			LastTimestamp:  cmp.Or(seconds(&e.LastTimestamp), microSeconds(e.EventTime)),
		}
		if s := e.Series; s != nil {
			shown.Count, shown.LastTimestamp = s.Count, cmp.Or(microSeconds(s.LastObservedTime), shown.GetLastTimestamp())
		}
		out = append(out, shown)
	}
	slices.SortStableFunc(out, func(a, b *kuberay.ClusterEvent) int {
		return cmp.Or(cmp.Compare(a.GetFirstTimestamp().GetSeconds(), b.GetFirstTimestamp().GetSeconds()), cmp.Compare(a.GetId(), b.GetId()))
	})
	return out
}

// microSeconds is seconds for the more precise type.
func microSeconds(t metav1.MicroTime) *timestamppb.Timestamp {
	return seconds(&metav1.Time{Time: t.Time})
}
