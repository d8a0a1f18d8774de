package resource

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/raydevices"
)

const (
	refusedDevices = "DevicesRefused"
	remedyDevices  = "correct the field in the message; `raygate explain -f` shows the effect of device admission on the Pods"
)

// ofDevices reports whether a refusal comes from device admission, whose webhooks always have these names.
func ofDevices(message string) bool {
	return strings.Contains(message, `"devices.pod.ray.io"`) || strings.Contains(message, `"devices-check.pod.ray.io"`)
}

// checkDevices reports Pods that device admission would refuse: it plans the Pods of a Ray object in the same way. checkCreation reports
// Pods that were already refused. Existing Pods were admitted; new ones of their group will not be.
func (e *evidence) checkDevices(object runtime.Object) {
	if e.Devices == nil || e.item.DeletionTimestamp != nil {
		return
	}
	for _, f := range raydevices.Check(e.Devices.Program(), object, raydevices.Options{}) {
		switch {
		case !f.Refused:
		case e.runs(f.Group):
			e.addSelf(severityWarning, refusedDevices, remedyDevices, "device admission will refuse the next Pod of group %s: %s: %s", f.Group, f.Field, f.Message)
		default:
			e.addSelf(severityError, refusedDevices, remedyDevices, "device admission refuses the Pods of group %s: %s: %s", f.Group, f.Field, f.Message)
		}
	}
}

// checkDeviceWarnings reports warnings of device admission. It does not know whether the operator publishes devices for the autoscaler.
func (e *evidence) checkDeviceWarnings() {
	if e.Devices == nil || e.item.DeletionTimestamp != nil {
		return
	}
	for _, f := range raydevices.Check(e.Devices.Program(), e.cluster, raydevices.Options{Facts: true}) {
		if !f.Refused {
			e.addSelf(severityInfo, "DeviceWarning", "", "%s: %s", f.Field, f.Message)
		}
	}
}

// runs reports whether there are Pods of the group.
func (e *evidence) runs(group string) bool {
	return slices.ContainsFunc(e.pods, func(p corev1.Pod) bool { return p.Labels[rayv1.LabelGroup] == group })
}

// checkRefusal finds in an event a Pod that could not be created, unless the condition reports it.
func (e *evidence) checkRefusal(ev *corev1.Event) {
	reason, remedy := ev.Reason, ""
	if ofDevices(ev.Message) {
		reason, remedy = refusedDevices, remedyDevices
	}
	status, _, message := ConditionOf(e.item, rayv1.RayClusterReplicaFailure)
	if reason == refusedDevices && status == "True" && ofDevices(message) {
		return
	}
	if kind := ev.InvolvedObject.Kind; kind == e.item.Kind {
		e.about(kind, ev.InvolvedObject.Name).add(severityWarning, reason, remedy, "%s", ev.Message)
	}
}
