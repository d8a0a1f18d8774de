package claims

import (
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/raygate/raygate/pkg/devices/raycount"
)

// Names of Ray resources. Any other name is a custom resource of Ray.
const (
	GPU = "GPU"
	TPU = "TPU"
	// None is for devices that are no resource of Ray, such as network cards.
	None = "None"
)

// AnnotationRayResource is an annotation of a DeviceClass with the name of the Ray resource of its devices.
const AnnotationRayResource = "devices.ray.io/ray-resource"

// known are the Ray resources of DeviceClasses and drivers by name. Most drivers install a class of their own name. Each allocated device
// is one unit: a GPU, a MIG instance, or a share of a GPU counts as one, as in package raycount. A class whose devices are several units,
// such as those of AWS Neuron, has no entry.
var known = map[string]string{
	"gpu.nvidia.com":      GPU,
	"mig.nvidia.com":      GPU,
	"vfio.gpu.nvidia.com": GPU,
	"gpu.amd.com":         GPU,
	"gpu.intel.com":       GPU,
	"gaudi.intel.com":     "HPU",
	"tpu.google.com":      TPU,
	"gpu.example.com":     GPU, // of Kubernetes' example driver

	"compute-domain-daemon.nvidia.com":          None,
	"compute-domain-default-channel.nvidia.com": None,
	"compute-domain.nvidia.com":                 None,
	"dra.net":                                   None,
	"netdev.google.com":                         None,
	"mrdma.google.com":                          None,
	"qat.intel.com":                             None,
}

// extended are the Ray resources of extended resources, except those that raycount.IsGPU knows.
var extended = map[string]string{"google.com/tpu": TPU, "habana.ai/gaudi": "HPU"}

// Classes maps DeviceClasses to Ray resources.
type Classes struct {
	// Configured are the Ray resources of classes by name, from the configuration of the operator.
	Configured map[string]string
}

// Resource returns the Ray resource of the devices of a class; empty if it is unknown. class is nil if it could not be read. The first
// source that has an answer counts: the annotation of the class, the configuration, the known names, the extended resource of the class,
// the driver that its selectors name.
func (c Classes) Resource(name string, class *resourcev1.DeviceClass) string {
	if class != nil && class.Annotations[AnnotationRayResource] != "" {
		return class.Annotations[AnnotationRayResource]
	}
	if r := c.Configured[name]; r != "" {
		return r
	}
	if r := known[name]; r != "" || class == nil {
		return r
	}
	if e := class.Spec.ExtendedResourceName; e != nil {
		if raycount.IsGPU(*e) {
			return GPU
		}
		if r := extended[*e]; r != "" {
			return r
		}
	}
	for _, s := range class.Spec.Selectors {
		if s.CEL == nil {
			continue
		}
		if r := known[driverOf(s.CEL.Expression)]; r != "" {
			return r
		}
	}
	return ""
}

// Named reports whether the Ray resource is known by the name of the class alone.
func (c Classes) Named(name string) bool { return c.Configured[name] != "" || known[name] != "" }

// maxExpression is the largest expression that is parsed, in bytes. It is the limit of the API server.
const maxExpression = 10 << 10

var parser = sync.OnceValues(func() (*cel.Env, error) { return cel.NewEnv(cel.ParserExpressionSizeLimit(maxExpression)) })

// driverOf returns the driver that a device must have for the expression to hold; empty if the expression does not say so. It looks for
// device.driver == "name" among the parts that are joined by &&.
func driverOf(expression string) string {
	env, err := parser()
	if err != nil || len(expression) > maxExpression {
		return ""
	}
	parsed, issues := env.Parse(expression)
	if issues.Err() != nil {
		return ""
	}
	return driverIn(parsed.NativeRep().Expr())
}

func driverIn(e ast.Expr) string {
	if e.Kind() != ast.CallKind || len(e.AsCall().Args()) != 2 {
		return ""
	}
	call := e.AsCall()
	left, right := call.Args()[0], call.Args()[1]
	switch call.FunctionName() {
	case operators.LogicalAnd:
		if driver := driverIn(left); driver != "" {
			return driver
		}
		return driverIn(right)
	case operators.Equals:
		if isDriver(right) {
			left, right = right, left
		}
		if driver, ok := text(right); ok && isDriver(left) {
			return driver
		}
	}
	return ""
}

func isDriver(e ast.Expr) bool {
	if e.Kind() != ast.SelectKind || e.AsSelect().FieldName() != "driver" {
		return false
	}
	of := e.AsSelect().Operand()
	return of.Kind() == ast.IdentKind && of.AsIdent() == "device"
}

func text(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	s, ok := e.AsLiteral().Value().(string)
	return strings.TrimSpace(s), ok
}
