package plan

import (
	"fmt"

	"github.com/raygate/raygate/pkg/devices"
	"github.com/raygate/raygate/pkg/devices/condition"
)

// when reports whether an expression of the family is true of the container; an empty one is.
func (a *request) when(text string) bool {
	return a.w.evaluate(a.vendor.conditions, text, a.vendor.Name, a.c, func(field string) int64 { return a.get(devices.Field(field)) })
}

// evaluate reports whether a condition is true. A condition that cannot be evaluated is a fault of the registry and refuses the Pod,
// because neither result is right.
func (w *planner) evaluate(conditions map[string]*condition.Condition, text, vendor string, c *container, amount func(string) int64) bool {
	if text == "" {
		return true
	}
	compiled := conditions[text]
	if compiled == nil { // a registry that was not validated
		w.fault("condition of %s cannot be compiled: %s", vendor, text)
		return false
	}
	holds, err := compiled.Holds(&condition.Input{
		Container: c.name, Init: c.init() && !c.restartable, Sidecar: c.restartable, Privileged: c.privileged,
		Limits: c.limits, Requests: c.requests, Labels: w.pod.labels, Annotations: w.pod.annotations, Amount: amount,
	})
	if err != nil {
		w.fault("condition of %s for container %s: %v", vendor, c.name, err)
	}
	return holds
}

// fault refuses the Pod because of an error in the registry.
func (w *planner) fault(format string, args ...any) {
	w.result.RegistryFault = true
	w.problem(Problem{Text: "the registry of device families is at fault: " + fmt.Sprintf(format, args...)})
}
