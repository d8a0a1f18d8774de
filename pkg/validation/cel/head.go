package cel

import "github.com/raygate/raygate/pkg/validation/rule"

// WaitForTLS keeps the name of the init container that waits for certificates out of a list of containers of the head.
func WaitForTLS(list string) rule.CEL {
	return rule.CEL{Field: ".headGroupSpec.template.spec." + list,
		Valid: "!" + TLSOn + " || !" + InHeadPod(list, "x.name == 'wait-for-tls-ip-san'"),
		Says:  "the operator adds an init container of this name with tlsOptions.enabled; use another name"}
}

// HeadContainers asks a list of containers of the head for good names.
func HeadContainers(list string) rule.CEL {
	return rule.CEL{Node: "headGroupSpec.template", Field: ".spec." + list, Partly: true,
		Valid: Absent("self", "spec."+list) + " || self.spec." + list + ".all(c, " + containerNamed("c") + ")",
		Says:  namesOfContainers}
}
