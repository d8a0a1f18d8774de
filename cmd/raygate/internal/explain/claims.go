package explain

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/raygate/raygate/cmd/raygate/internal/manifestfile"
	"github.com/raygate/raygate/pkg/devices/claims"
	"github.com/raygate/raygate/pkg/devices/raycount"
	"github.com/raygate/raygate/pkg/raydevices"
)

// allocation are the objects of dynamic resource allocation in the manifests.
type allocation struct {
	templates, claims map[types.NamespacedName]*resourcev1.ResourceClaimSpec
	classes           map[string]*resourcev1.DeviceClass
}

func newAllocation() allocation {
	return allocation{map[types.NamespacedName]*resourcev1.ResourceClaimSpec{}, map[types.NamespacedName]*resourcev1.ResourceClaimSpec{}, map[string]*resourcev1.DeviceClass{}}
}

// takeAllocation keeps an object of dynamic resource allocation, and reports whether the document is one.
func (e *explainer) takeAllocation(doc manifestfile.Document) bool {
	u := unstructured.Unstructured{Object: doc.Tree}
	if doc.Unreadable || u.GetAPIVersion() != resourcev1.SchemeGroupVersion.String() {
		return false
	}
	key := types.NamespacedName{Namespace: u.GetNamespace(), Name: u.GetName()}
	switch u.GetKind() {
	case "ResourceClaimTemplate":
		var t resourcev1.ResourceClaimTemplate
		if e.decode(doc, &t) {
			e.allocation.templates[key] = &t.Spec.Spec
		}
	case "ResourceClaim":
		var c resourcev1.ResourceClaim
		if e.decode(doc, &c) {
			e.allocation.claims[key] = &c.Spec
		}
	case "DeviceClass":
		var c resourcev1.DeviceClass
		if e.decode(doc, &c) {
			e.allocation.classes[c.Name] = &c
		}
	default:
		return false
	}
	return true
}

// lookup returns the objects for the Pods of a namespace. Those without a namespace are for all.
func (a *allocation) lookup(namespace string) claims.Lookup {
	in := func(all map[types.NamespacedName]*resourcev1.ResourceClaimSpec) func(string) (*resourcev1.ResourceClaimSpec, claims.State) {
		return func(name string) (*resourcev1.ResourceClaimSpec, claims.State) {
			for _, ns := range []string{namespace, ""} {
				if spec := all[types.NamespacedName{Namespace: ns, Name: name}]; spec != nil {
					return spec, claims.Found
				}
			}
			return nil, claims.Missing
		}
	}
	return claims.Lookup{Template: in(a.templates), Claim: in(a.claims), Class: func(name string) (*resourcev1.DeviceClass, claims.State) {
		if class := a.classes[name]; class != nil {
			return class, claims.Found
		}
		return nil, claims.Missing
	}}
}

// claimed records the devices of the claims of Pods with this spec, and returns them; nil for none.
func (e *explainer) claimed(out *Pod, spec *corev1.PodSpec) *claims.Devices {
	d := claims.Of(spec, e.allocation.lookup(out.Namespace))
	if d == nil {
		return nil
	}
	out.Claims = claims.Amounts{}
	out.Claims.Add(d.Pod, 1)
	for _, shared := range d.Shared {
		out.Claims.Add(shared, 1)
	}
	for _, what := range d.Missing {
		out.Warnings = append(out.Warnings, "the files lack the "+what+", so that its devices are not counted")
	}
	for _, class := range d.Unknown {
		out.Warnings = append(out.Warnings, "nothing says which resource of Ray the devices of DeviceClass "+class+" are: set its annotation "+claims.AnnotationRayResource)
	}
	return d
}

// addClaims adds the devices of claims to what Ray is started with. Ray itself counts those whose number depends on the allocation.
func (r *Ray) addClaims(d *claims.Devices, g *raydevices.Group) {
	users, _ := raycount.ParseResources(g.StartParams["resources"])
	r.Resources = maps.Clone(r.Resources)
	for name, n := range d.Resources(users) {
		if r.Resources == nil {
			r.Resources = map[string]int64{}
		}
		r.Resources[name] += n
	}
	gpus, some := d.Ray[claims.GPU]
	switch {
	case r.Kept:
	case d.Varies[claims.GPU]:
		r.GPUs = nil
	case some:
		r.GPUs = new(gpus + ptr.Deref(r.GPUs, 0))
	}
}
