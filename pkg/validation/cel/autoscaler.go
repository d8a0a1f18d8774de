package cel

import "github.com/raygate/raygate/pkg/validation/rule"

// V2Variable is how the autoscaler v2 was asked for before there was a field.
const V2Variable = "RAY_enable_autoscaler_v2"

// ReservedAutoscaler keeps the name of the autoscaler out of a list of containers of the head.
func ReservedAutoscaler(list string) rule.CEL {
	return rule.CEL{Field: ".headGroupSpec.template.spec." + list,
		Valid: "!" + Autoscaling + " || !" + InHeadPod(list, "x.name == 'autoscaler'"),
		Says:  "the operator adds a container of this name with enableInTreeAutoscaling; use another name"}
}
