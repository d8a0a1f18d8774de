package v1

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

func TestEvents(t *testing.T) {
	at := func(second int64) metav1.Time { return metav1.Unix(second, 999) }
	micro := func(second int64) metav1.MicroTime { return metav1.NewMicroTime(time.Unix(second, 999)) }
	second := func(n int64) *timestamppb.Timestamp { return &timestamppb.Timestamp{Seconds: n} }
	old := corev1.Event{ // as client-go's recorder of core/v1 writes it
		ObjectMeta: metav1.ObjectMeta{Name: "demo.1", CreationTimestamp: at(20)}, FirstTimestamp: at(20), LastTimestamp: at(30), Count: 3, Reason: "Created", Message: "m", Type: "Normal",
	}
	series := corev1.Event{ // as that of events.k8s.io/v1 does
		ObjectMeta: metav1.ObjectMeta{Name: "demo.2", CreationTimestamp: at(10)}, EventTime: micro(10), Reason: "Failed", Message: "n", Type: "Warning",
		Series: &corev1.EventSeries{Count: 7, LastObservedTime: micro(40)},
	}
	once := corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "demo.3"}, EventTime: micro(50)}
	rc := &metav1.ObjectMeta{Name: "demo"}
	want := []*kuberay.ClusterEvent{
		{Id: "demo.2", Name: "demo-demo.2", CreatedAt: second(10), FirstTimestamp: second(10), LastTimestamp: second(40), Reason: "Failed", Message: "n", Type: "Warning", Count: 7},
		{Id: "demo.1", Name: "demo-demo.1", CreatedAt: second(20), FirstTimestamp: second(20), LastTimestamp: second(30), Reason: "Created", Message: "m", Type: "Normal", Count: 3},
		{Id: "demo.3", Name: "demo-demo.3", FirstTimestamp: second(50), LastTimestamp: second(50)},
	}
	if diff := cmp.Diff(want, ClusterEvents(rc, []corev1.Event{old, series, once}), protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	rc.Labels = map[string]string{labelClusterName: "label"}
	if got := ClusterEvents(rc, []corev1.Event{once}); got[0].GetName() != "label-demo.3" {
		t.Errorf("the name is %s", got[0].GetName())
	}
	rs := &metav1.ObjectMeta{Name: "svc"}
	got := ServiceEvents(rs, []corev1.Event{once}, []corev1.Event{series})
	if len(got) != 2 || got[0].GetName() != "svc-demo.3" || got[1].GetName() != "svc-demo.2" || got[1].GetCount() != 7 || got[1].GetMessage() != "n" {
		t.Errorf("of a service: %v", got)
	}
}
