package cel

import "github.com/raygate/raygate/pkg/validation/rule"

const V2Variable = "RAY_enable_autoscaler_v2"

func ReservedAutoscaler(list string) rule.CEL {
	return rule.CEL{Field: ".headGroupSpec.template.spec." + list,
		Valid: "!" + Autoscaling + " || !" + InHeadPod(list, "x.name == 'autoscaler'"),
		Says:  "the operator adds a container of this name with enableInTreeAutoscaling; use another name"}
}
