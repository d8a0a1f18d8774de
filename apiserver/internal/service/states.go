package service

import (
	"fmt"

	"github.com/raygate/raygate/apiserver/internal/resource"
	"github.com/raygate/raygate/apiserver/internal/store"
	"github.com/raygate/raygate/pkg/validation"
)

// byCondition is a state that a condition of the status tells, and a status that is about the present spec.
func byCondition(name string) func(*store.Item) resource.Progress {
	return func(item *store.Item) resource.Progress {
		status, reason, message := resource.ConditionOf(item, name)
		if !resource.Observed(item) {
			return resource.Progress{Now: "the operator has not yet seen the present spec"}
		}
		return resource.Progress{Done: status == "True", Now: fmt.Sprintf("condition %s is %q (%s) %s", name, status, reason, message)}
	}
}

// groupBasic are the fields of worker groups that lists show, below the path of a cluster's spec.
func groupBasic(cluster string, rest ...string) []string {
	var all []string
	for _, name := range []string{"groupName", "replicas", "minReplicas", "maxReplicas", "numOfHosts", "suspend"} {
		all = append(all, cluster+"workerGroupSpecs."+name)
	}
	for _, name := range []string{"rayVersion", "enableInTreeAutoscaling"} {
		all = append(all, cluster+name)
	}
	return append(all, rest...)
}

func checksOf(kind string) validation.Checks {
	checks, ok := validation.ForKind(kind)
	if !ok {
		panic("no rules for " + kind)
	}
	return checks
}
