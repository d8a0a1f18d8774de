package webhook

import (
	"bytes"
	"reflect"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/devicefacts"
	"github.com/raygate/raygate/operator/internal/conditions"
	"github.com/raygate/raygate/operator/internal/devicequota"
	"github.com/raygate/raygate/pkg/devices/plan"
	"github.com/raygate/raygate/pkg/raydevices"
	"github.com/raygate/raygate/pkg/validation"
)

// Devices contains the registry of shared accelerators for warnings about Ray objects.
type Devices struct {
	// Registry provides the current registry.
	Registry interface{ Program() *plan.Program }
	Options  raydevices.Options
	// Quotas provides the limits of namespaces. Nil means no quotas.
	Quotas *devicequota.Engine
}

// warnings returns warnings about Pods that device admission would reject, and about Ray's numbers that do not match the devices.
// It never rejects an object, because registries and quotas can change. An update that does not change the Pods causes no
// warnings: autoscalers write replicas all the time. A nil Devices returns none.
func (d *Devices) warnings(k kind, req admission.Request) []string {
	if d == nil {
		return nil
	}
	obj, err := withoutFacts(k, req.Object.Raw)
	if err != nil || samePods(k, obj, req.OldObject.Raw) {
		return nil
	}
	program := d.Registry.Program()
	texts := d.forecast(program, req.Namespace, obj)
	for _, f := range raydevices.Check(program, obj, d.Options) {
		text := f.Field.String() + ": " + f.Message
		if f.Refused {
			text = f.Field.String() + ": device admission will refuse the Pods of " + f.Group + ": " + f.Message
		}
		texts = append(texts, text)
	}
	if len(texts) >= conditions.MaxWarnings {
		texts = append(texts[:conditions.MaxWarnings-1], "and more about devices; `raygate validate --device-registry` prints all")
	}
	for i := range texts {
		texts[i] = conditions.Clip(texts[i], conditions.MaxWarning)
	}
	return texts
}

// withoutFacts returns the object as the user wrote it. Facts that the operator stored may be outdated.
func withoutFacts(k kind, raw []byte) (validation.Object, error) {
	obj, err := k.decode(raw)
	if rc, ok := obj.(*rayv1.RayCluster); ok && err == nil {
		devicefacts.Strip(rc)
	}
	return obj, err
}

// samePods reports whether the stored object, if there is one, has the same groups of Pods.
func samePods(k kind, obj validation.Object, stored []byte) bool {
	if len(stored) == 0 {
		return false
	}
	before, err := withoutFacts(k, stored)
	return err == nil && reflect.DeepEqual(raydevices.Groups(before), raydevices.Groups(obj))
}

// forecast warns of limits that the object's Ray Pods exceed even at their minimum. Groups whose Pods are rejected anyway are
// ignored.
func (d *Devices) forecast(program *plan.Program, namespace string, obj runtime.Object) []string {
	if d.Quotas == nil {
		return nil
	}
	var shares []devicequota.Share
	for _, g := range raydevices.Groups(obj) {
		if r := g.Plan(program); g.Ray && !r.Refused() {
			shares = append(shares, devicequota.Share{Group: g.Name, Pods: g.Pods, Spec: &g.Template.Spec, Totals: r.Demand.Totals})
		}
	}
	return d.Quotas.Forecast(program, namespace, shares)
}

// keepFacts restores the operator's facts for the autoscaler that an update would drop: client-side apply and replace send whole
// lists. The operator's own updates are not changed.
func keepFacts(k kind, req admission.Request) []jsonpatch.Operation {
	if k.Kind != "RayCluster" || req.Operation != admissionv1.Update || !bytes.Contains(req.OldObject.Raw, []byte(devicefacts.Manager)) || managerOf(req) == devicefacts.Manager {
		return nil
	}
	before, errBefore := k.decode(req.OldObject.Raw)
	after, errAfter := k.decode(req.Object.Raw)
	if errBefore != nil || errAfter != nil {
		return nil
	}
	return devicefacts.Restore(before.(*rayv1.RayCluster), after.(*rayv1.RayCluster))
}

// managerOf returns the field manager of the request. Options of updates and patches have the same field.
func managerOf(req admission.Request) string {
	var o metav1.UpdateOptions
	if err := json.Unmarshal(req.Options.Raw, &o); err != nil {
		return ""
	}
	return o.FieldManager
}
