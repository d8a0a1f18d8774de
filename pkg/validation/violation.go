package validation

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/internal/jsonfield"
)

// Violation is one problem in the form that every entry point prints.
type Violation struct {
	// Field is the path of the field, as in spec.workerGroupSpecs[0].groupName.
	Field string
	// Message describes the problem and a remedy. It never contains a secret.
	Message string
	// Rule is the stable id of the rule, as in RC-501, or the origin of a problem that is not from this package.
	Rule string
	// Type is the kind of problem, as the API server has it in the causes of a refusal.
	Type field.ErrorType
}

// Violations converts a verdict for entry points to print: in the order of the fields in the API, without repetitions.
func Violations(errs field.ErrorList) []Violation {
	violations := make([]Violation, 0, len(errs))
	seen := make(map[Violation]bool, len(errs))
	for _, err := range errs {
		if err == nil {
			continue
		}
		v := Violation{Field: err.Field, Message: message(err), Rule: err.Origin, Type: err.Type}
		if !seen[v] {
			seen[v] = true
			violations = append(violations, v)
		}
	}
	object, order := typeOf(violations), make(map[string][]pathStep, len(violations))
	for _, v := range violations {
		order[v.Field] = ranked(object, splitPath(v.Field))
	}
	slices.SortStableFunc(violations, func(a, b Violation) int { return comparePaths(order[a.Field], order[b.Field]) })
	return violations
}

// message is the text of a problem. Errors of this type come from decoders, whose detail is the complete message.
func message(err *field.Error) string {
	if err.Type == field.ErrorTypeTypeInvalid {
		return err.Detail
	}
	return err.ErrorBody()
}

// Summary is the verdict in one line, for conditions and events: "path: message; path: message". Empty for no errors.
func Summary(errs field.ErrorList) string {
	violations := Violations(errs)
	parts := make([]string, len(violations))
	for i, v := range violations {
		parts[i] = v.Field + ": " + v.Message
	}
	return strings.Join(parts, "; ")
}

// WarningTexts formats warnings for kubectl and other clients: "path: text (rule)", in the order of the fields.
func WarningTexts(warnings field.ErrorList) []string {
	violations := Violations(warnings)
	texts := make([]string, len(violations))
	for i, v := range violations {
		texts[i] = v.Field + ": " + v.Message + " (" + v.Rule + ")"
	}
	return texts
}

// pathStep is one step of a field path: a field name, the index of a list or the key of a map.
type pathStep struct {
	kind stepKind
	// order is the index, or, in ranked steps, the position of the field in its struct.
	order int
	// name is the text in the path.
	name string
}

// stepKind orders steps of different kinds; a path never mixes them at one place.
type stepKind int

const (
	stepField stepKind = iota
	stepIndex
	stepKey
)

// pathSteps matches one step. A key in brackets may contain dots: annotations[ray.io/ft-enabled].
var pathSteps = regexp.MustCompile(`\[([^\]]*)\]?|[^.\[]+`)

// splitPath reads a rendered field path.
func splitPath(path string) []pathStep {
	var steps []pathStep
	for _, m := range pathSteps.FindAllStringSubmatch(path, -1) {
		if m[0][0] != '[' {
			steps = append(steps, pathStep{kind: stepField, name: m[0]})
		} else if i, err := strconv.Atoi(m[1]); err == nil {
			steps = append(steps, pathStep{kind: stepIndex, name: m[1], order: i})
		} else {
			steps = append(steps, pathStep{kind: stepKey, name: m[1]})
		}
	}
	return steps
}

// ranked gives the steps below an object of the type the order of its fields, with those last that are unknown.
func ranked(t reflect.Type, steps []pathStep) []pathStep {
	for i, step := range steps {
		if t = settledType(t); t != nil && t.Kind() == reflect.Struct && step.kind == stepField {
			fields := jsonfield.Of(t)
			steps[i].order = len(fields)
			if f, known := fields[step.name]; known {
				steps[i].order = f.Rank
			}
		}
		t = below(t, step)
	}
	return steps
}

// comparePaths orders two paths with ranked steps as a reader of the API would: fields as they are declared, list items by index, keys of
// maps and unknown fields by text.
func comparePaths(a, b []pathStep) int {
	return slices.CompareFunc(a, b, func(x, y pathStep) int {
		return cmp.Or(cmp.Compare(x.kind, y.kind), cmp.Compare(x.order, y.order), cmp.Compare(x.name, y.name))
	})
}

// below is the type that the step leads to, or nil.
func below(t reflect.Type, step pathStep) reflect.Type {
	switch {
	case t == nil:
		return nil
	case t.Kind() == reflect.Struct:
		return jsonfield.Of(t)[step.name].GoType
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map:
		return t.Elem()
	}
	return nil
}

func settledType(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// signs are how fields and ids of rules begin that only objects of one type have, the fields first: rules of a RayJob are for the template
// of a RayCronJob too.
var signs = []struct {
	begin  string
	object reflect.Type
}{
	{"spec.rayClusterConfig", reflect.TypeFor[rayv1.RayService]()},
	{"spec.jobTemplate", reflect.TypeFor[rayv1.RayCronJob]()},
	{"spec.rayClusterSpec", reflect.TypeFor[rayv1.RayJob]()},
	{"CJ", reflect.TypeFor[rayv1.RayCronJob]()},
	{"RJ", reflect.TypeFor[rayv1.RayJob]()},
	{"RS", reflect.TypeFor[rayv1.RayService]()},
}

// typeOf determines the kind of an object with these problems. If the problems do not determine it, the order is the same for all kinds.
func typeOf(violations []Violation) reflect.Type {
	for _, s := range signs {
		if slices.ContainsFunc(violations, func(v Violation) bool {
			return strings.HasPrefix(v.Field, s.begin) || strings.HasPrefix(v.Rule, s.begin)
		}) {
			return s.object
		}
	}
	return reflect.TypeFor[rayv1.RayCluster]()
}
