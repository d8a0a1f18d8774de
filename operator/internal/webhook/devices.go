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
	"github.com/raygate/raygate/operator/internal/devicequota"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/devices/plan"
	"github.com/raygate/raygate/pkg/raydevices"
	"github.com/raygate/raygate/pkg/validation"
)

// Devices is the registry of shared accelerators that the webhooks of Ray objects warn by.
type Devices struct {
	// Registry is the one of now.
	Registry interface{ Program() *plan.Program }
	Options  raydevices.Options
	// Quotas knows the limits of namespaces. Nil means that Pods are not held to any.
	Quotas Quotas
}

// Quotas compares what Pods will take with the limits of a namespace, of which it knows without asking anybody.
type Quotas interface {
	// Forecast has a line for each limit that the shares exceed together.
	Forecast(p *plan.Program, namespace string, shares []devicequota.Share) []string
}

// warnings are about Pods that device admission would refuse, and about numbers of Ray that are not those of the devices. They never refuse an object:
// a registry can change, and a quota be raised. An update that leaves the Pods as they were brings none: autoscalers write replicas all the time. A nil
// Devices has none.
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
	if len(texts) >= report.MaxWarnings {
		texts = append(texts[:report.MaxWarnings-1], "and more about devices; `raygate validate --device-registry` prints all")
	}
	for i := range texts {
		texts[i] = report.Clip(texts[i], report.MaxWarning)
	}
	return texts
}

// withoutFacts is the object as its user wrote it. What the operator has stored in it may be of before a change.
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

// forecast is about limits of quotas that the Ray Pods exceed which the object asks for at least. Groups whose Pods are refused anyway take nothing.
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

// keepFacts puts back what the operator has stored for the autoscaler and an update is about to drop: client-side apply and replace send whole lists.
// The operator's own updates pass, by which it takes back what is not needed.
func keepFacts(k kind, req admission.Request) []jsonpatch.Operation {
	if k.Kind != "RayCluster" || req.Operation != admissionv1.Update || !bytes.Contains(req.OldObject.Raw, []byte(devicefacts.Manager)) || managerOf(req) == devicefacts.Manager {
		return nil
	}
	before, err := k.decode(req.OldObject.Raw)
	if err != nil {
		return nil
	}
	after, err := k.decode(req.Object.Raw)
	if err != nil {
		return nil
	}
	was, ok1 := before.(*rayv1.RayCluster)
	is, ok2 := after.(*rayv1.RayCluster)
	if !ok1 || !ok2 {
		return nil
	}
	return devicefacts.Restore(was, is)
}

// managerOf is the field manager of the request. Options of updates and patches have it in the same place.
func managerOf(req admission.Request) string {
	var o metav1.UpdateOptions
	if err := json.Unmarshal(req.Options.Raw, &o); err != nil {
		return ""
	}
	return o.FieldManager
}
