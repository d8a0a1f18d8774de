package pods

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/validation/rule"
)

var rc590 = rule.New(rule.Rule{ID: "RC-590", Field: "resourceClaims[j] of Pod templates", Condition: "used by no container",
	Remedy: "is allocated, but no container uses it; reference the claim in resources.claims of the Ray container, or remove it"})

var rc591 = rule.New(rule.Rule{ID: "RC-591", Field: "containers[j].resources.claims[k] of Pod templates", Condition: "no such claim in the Pod",
	Remedy: "must be the name of an entry of resourceClaims of the Pod template"})

// checkClaims finds claims that no container uses, and uses of claims that the Pod does not have. Both only warn: without dynamic resource
// allocation, the API server drops the fields.
func checkClaims(out *rule.Report, spec *corev1.PodSpec, path *field.Path) {
	known, used := map[string]bool{}, map[string]bool{}
	for i := range spec.ResourceClaims {
		known[spec.ResourceClaims[i].Name] = true
	}
	use := func(claims []corev1.ResourceClaim, path *field.Path) {
		for i := range claims {
			used[claims[i].Name] = true
			if !known[claims[i].Name] {
				out.Invalid(rc591, path.Child("resources", "claims").Index(i).Child("name"), claims[i].Name)
			}
		}
	}
	for i := range spec.Containers {
		use(spec.Containers[i].Resources.Claims, path.Child("containers").Index(i))
	}
	for i := range spec.InitContainers {
		use(spec.InitContainers[i].Resources.Claims, path.Child("initContainers").Index(i))
	}
	for i := range spec.ResourceClaims {
		if name := spec.ResourceClaims[i].Name; !used[name] {
			out.Invalid(rc590, path.Child("resourceClaims").Index(i).Child("name"), name)
		}
	}
}
