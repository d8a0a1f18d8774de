package celrules

const v2Variable = "RAY_enable_autoscaler_v2"

var autoscalerRules = []Rule{
	{ID: "RC-071", Part: ClusterSpec, Field: ".enableInTreeAutoscaling", Reason: Required,
		Valid: autoscaling + " || !" + wantsV2ByEnv,
		Says:  "the head sets " + v2Variable + "; set this to true, or remove the variable"},
	{ID: "RC-073", Part: ClusterSpec, Field: ".autoscalerOptions.version", Reason: Forbidden,
		Valid: "!" + autoscaling + " || !(" + present("self", "autoscalerOptions.version") + ") || !" + headEnv("e.name == '"+v2Variable+"'"),
		Says:  "the head sets " + v2Variable + " too; remove the variable"},
	{ID: "RC-074", Part: ClusterSpec, Field: ".headGroupSpec.template.spec.restartPolicy",
		Valid: "!" + autoscaling + " || !" + versionIsV2 + " || !(" + present("self.headGroupSpec.template", "spec.restartPolicy") + ")" +
			" || !(self.headGroupSpec.template.spec.restartPolicy in ['Always', 'OnFailure'])",
		Says: "must be Never or unset with the autoscaler v2, which replaces Pods by itself"},
	{ID: "RC-076", Part: ClusterSpec, Node: "autoscalerOptions", Field: ".idleTimeoutSeconds", Unchanged: []string{"idleTimeoutSeconds"},
		Valid: "!has(self.idleTimeoutSeconds) || self.idleTimeoutSeconds >= 0",
		Says:  "must be at least 0"},
	{ID: "RC-077", Part: ClusterSpec, Node: "autoscalerOptions.env", Reason: Forbidden,
		Valid: "self.all(e, e.name != 'KUBERAY_GEN_AUTOSCALER_START_CMD')",
		Says:  "KUBERAY_GEN_AUTOSCALER_START_CMD is set by the operator; use command and args"},
	reservedAutoscaler("containers"),
	reservedAutoscaler("initContainers"),
}

func reservedAutoscaler(list string) Rule {
	return Rule{ID: "RC-524", Part: ClusterSpec, Field: ".headGroupSpec.template.spec." + list,
		Valid: "!" + autoscaling + " || !" + inHeadPod(list, "x.name == 'autoscaler'"),
		Says:  "the operator adds a container of this name with enableInTreeAutoscaling; use another name"}
}
