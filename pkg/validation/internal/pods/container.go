package pods

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rc541 = rule.New(rule.Rule{ID: "RC-541", Field: "containers[j].ports of Pod templates", Condition: "port name repeated in a container or malformed, number outside 1..65535, unknown protocol", Tier: rule.Kubernetes,
	CEL: []rule.CEL{{Node: "headGroupSpec.template", Field: ".spec.containers", Partly: true, Valid: "!self.?spec.?containers[?0].?ports.hasValue() || self.spec.containers[0].ports.all(p, p.containerPort >= 1 && p.containerPort <= 65535)",
		Says: "must be from 1 to 65535"}},
	Policies: cel.Templates(cel.PortForms, cel.PortNames)})

func checkPorts(out *rule.Report, ports []corev1.ContainerPort, path *field.Path) {
	names := make(map[string]bool, len(ports))
	for i := range ports {
		port, p := &ports[i], path.Index(i)
		out.When(len(validation.IsValidPortNum(int(port.ContainerPort))) > 0).Invalid(rc541, p.Child("containerPort"), port.ContainerPort, "must be from 1 to 65535")
		if port.Protocol != "" {
			rule.OneOf(out, rc541, p.Child("protocol"), port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP)
		}
		if port.Name == "" {
			continue
		}
		out.Malformed(rc541, p.Child("name"), port.Name, validation.IsValidPortName(port.Name))
		out.When(names[port.Name]).Duplicate(rc541, p.Child("name"), port.Name, "give each port of a container a name of its own")
		names[port.Name] = true
	}
}

var rc587 = rule.New(rule.Rule{ID: "RC-587", Field: "containers[j].resources.requests of Pod templates", Tier: rule.Kubernetes, Mixed: true,
	Condition: "of an extended resource or huge pages, other than the limit (error), or without one (warning, since a LimitRange may give it)"})

// overcommits reports whether the request of a resource may be less than its limit.
func overcommits(name corev1.ResourceName) bool {
	native := !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
	return native && !strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

var rc565 = rule.New(rule.Rule{ID: "RC-565", Field: "containers[j].resources of Pod templates", Condition: "request above limit, negative quantity", Tier: rule.Kubernetes,
	Policies: cel.Templates(cel.ResourcesInOrder)})

// CheckResourceRequirements finds resources that the API server always refuses.
func CheckResourceRequirements(out *rule.Report, r *corev1.ResourceRequirements, path *field.Path) {
	for _, name := range slices.Sorted(maps.Keys(r.Limits)) {
		if limit := r.Limits[name]; limit.Sign() < 0 {
			out.Invalid(rc565, path.Child("limits").Key(string(name)), limit.String(), "must be at least 0")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.Requests)) {
		request, p := r.Requests[name], path.Child("requests").Key(string(name))
		if request.Sign() < 0 {
			out.Invalid(rc565, p, request.String(), "must be at least 0")
		}
		switch limit, limited := r.Limits[name]; {
		case limited && request.Cmp(limit) > 0:
			out.Invalid(rc565, p, request.String(), "must not exceed the limit, which is "+limit.String())
		case limited && !overcommits(name) && !request.Equal(limit):
			out.Invalid(rc587, p, request.String(), "must equal the limit of a resource that cannot be overcommitted, which is "+limit.String())
		case !limited && !overcommits(name):
			out.Maybe().Invalid(rc587, p, request.String(), "has no limit, which a resource that cannot be overcommitted needs; give the same limit")
		}
	}
}

// maxQuantityText limits the work of the quantity parser, whose time grows faster than its input.
const maxQuantityText = 64

// hugeExponent is in texts such as 1e-999999999, for which the parser would take hours. The schema of the CRDs and the
// gateway refuse them too.
var hugeExponent = regexp.MustCompile(`[eE][+-]?[0-9.]{4}`)

// ParseQuantity reads a quantity, but no text for which the parser would take long.
func ParseQuantity(text string) (resource.Quantity, error) {
	if len(text) > maxQuantityText || hugeExponent.MatchString(text) {
		return resource.Quantity{}, resource.ErrFormatWrong
	}
	return resource.ParseQuantity(text)
}
