package plan

import (
	"fmt"
	"slices"

	"github.com/raygate/raygate/pkg/devices"
)

// variables are the variables of a container, including the changes.
type variables struct {
	list    []variable
	had     int // how many of the list the container had
	changes []envChange
}

func newVariables(list []variable) *variables {
	return &variables{list: slices.Clone(list), had: len(list)}
}

// set gives the container a variable. The problem is not empty if it has another and may not.
func (vs *variables) set(e *devices.Env, value string) (problem string) {
	at := -1
	for i := range vs.list {
		if vs.list[i].name == e.Name {
			at = i // the last one counts
		}
	}
	if at < 0 {
		vs.list = append(vs.list, variable{name: e.Name, value: value})
		vs.changes = append(vs.changes, envChange{at: -1, name: e.Name, value: value})
		return ""
	}
	has := vs.list[at]
	if has.value == value && !has.fromSource {
		return ""
	}
	switch e.Conflict {
	case devices.Replace:
		vs.replace(at, variable{name: e.Name, value: value}, has.fromSource)
	case string(devices.Deny):
		return fmt.Sprintf("variable %s must be %q, or be left out", e.Name, value)
	}
	return ""
}

// replace changes a variable. If this plan added it, it changes the addition.
func (vs *variables) replace(at int, with variable, whole bool) {
	vs.list[at] = with
	if at >= vs.had {
		for i := range vs.changes {
			if vs.changes[i].at < 0 && vs.changes[i].name == with.name {
				vs.changes[i].value = with.value
			}
		}
		return
	}
	for i := range vs.changes {
		if vs.changes[i].at == at {
			vs.changes[i].value = with.value
			return
		}
	}
	vs.changes = append(vs.changes, envChange{at: at, whole: whole, name: with.name, value: with.value})
}
