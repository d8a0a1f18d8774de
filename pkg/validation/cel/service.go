package cel

import "github.com/raygate/raygate/pkg/validation/rule"

// HeadOfService is the template of the head, seen from the spec of a RayService.
const HeadOfService = "self.rayClusterConfig.headGroupSpec.template"

const inSteps = "NewClusterWithIncrementalUpgrade"

// OfServeService is a rule on a field of the Service that users call, which an upgrade in steps does not make.
func OfServeService(field, valid, says string) rule.CEL {
	return rule.CEL{Part: rule.RayService, Node: "spec", Field: ".serveService" + field, Unchanged: []string{"serveService" + field, "upgradeStrategy.type"},
		Valid: "!(" + Present("self", "serveService"+field) + ") || (" + Present("self", "upgradeStrategy.type") + " && self.upgradeStrategy.type == '" + inSteps + "') || " + valid,
		Says:  says}
}
