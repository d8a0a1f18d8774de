package webhook

import (
	"bytes"
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/devicefacts"
	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/pkg/devices/plan"
	"github.com/raygate/raygate/pkg/raydevices"
)

// Devices is the registry of shared accelerators that the webhooks of Ray objects warn by.
type Devices struct {
	// Registry is the one of now.
	Registry interface{ Program() *plan.Program }
	Options  raydevices.Options
}

const (
	// maxDeviceWarnings bounds those about devices, besides the one that says that there are more.
	maxDeviceWarnings = 9
	// maxDeviceWarning is the length of one in bytes.
	maxDeviceWarning = 255
)

// warnings are about Pods that device admission would refuse, and about numbers of Ray that are not those of the devices. They never refuse an object:
// a registry can change, and a quota be raised. Programs that write replicas get none. A nil Devices has none.
func (d *Devices) warnings(k kind, req admission.Request) []string {
	if d == nil || strings.HasPrefix(req.UserInfo.Username, "system:serviceaccount:") {
		return nil
	}
	obj, err := k.decode(req.Object.Raw)
	if err != nil {
		return nil
	}
	if rc, ok := obj.(*rayv1.RayCluster); ok {
		devicefacts.Strip(rc) // which may be of before this change
	}
	var texts []string
	for _, f := range raydevices.Check(d.Registry.Program(), obj, d.Options) {
		text := f.Field.String() + ": " + f.Message
		if f.Refused {
			text = f.Field.String() + ": device admission will refuse the Pods of " + f.Group + ": " + f.Message
		}
		if len(texts) == maxDeviceWarnings {
			return append(texts, "and more about devices; `raygate validate --device-registry` prints all")
		}
		texts = append(texts, report.Clip(text, maxDeviceWarning))
	}
	return texts
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
	var ops []jsonpatch.Operation
	for _, op := range devicefacts.Restore(was, is) {
		ops = append(ops, jsonpatch.NewOperation(op.Op, op.Path, op.Value))
	}
	return slices.Clip(ops)
}

// managerOf is the field manager of the request. Options of updates and patches have it in the same place.
func managerOf(req admission.Request) string {
	var o metav1.UpdateOptions
	if err := json.Unmarshal(req.Options.Raw, &o); err != nil {
		return ""
	}
	return o.FieldManager
}
