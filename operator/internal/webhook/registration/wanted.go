package registration

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/config"
)

// Annotations of a webhook configuration.
const (
	// AnnotationScope selects the Pods for device admission: RayPods, Labelled or All. Without it the configuration is not managed.
	AnnotationScope = "devices.ray.io/scope"
	// AnnotationFailurePolicy is the failure policy of the validating webhook. The default is Fail, and Ignore for the scope All.
	AnnotationFailurePolicy = "devices.ray.io/failure-policy"
)

// Scopes.
const (
	scopeRayPods  = "RayPods"
	scopeLabelled = "Labelled"
	scopeAll      = "All"
)

const (
	labelEnabled = "devices.ray.io/enabled"
	// conditionAsks excludes Pods without an extended resource. A registry that sets variables in such Pods needs them too.
	conditionAsks = "asks-for-an-extended-resource"
)

// wanted returns the webhook of the kind for a configuration with these annotations. every includes Pods without devices.
func wanted(kind, namespace string, annotations map[string]string, every bool) (map[string]any, error) {
	w, err := config.DeviceWebhook(kind, namespace)
	if err != nil {
		return nil, err
	}
	scope, policy := annotations[AnnotationScope], annotations[AnnotationFailurePolicy]
	expressions := items(w["objectSelector"], "matchExpressions")
	others := slices.DeleteFunc(slices.Clone(expressions), func(e any) bool { return e.(map[string]any)["key"] == rayv1.LabelNodeType })
	switch scope {
	case scopeRayPods:
		others = expressions
	case scopeLabelled:
		others = slices.Insert(others, 0, any(map[string]any{"key": labelEnabled, "operator": "In", "values": []any{"true"}}))
	case scopeAll:
	default:
		return nil, fmt.Errorf("the annotation %s is %q, but must be %s, %s or %s", AnnotationScope, scope, scopeRayPods, scopeLabelled, scopeAll)
	}
	w["objectSelector"] = map[string]any{}
	if len(others) > 0 {
		w["objectSelector"] = map[string]any{"matchExpressions": others}
	}
	if kind == mutating {
		if every {
			w["matchConditions"] = slices.DeleteFunc(items(w, "matchConditions"), isAsks)
		}
		return w, nil
	}
	switch {
	case policy == "Fail" || policy == "Ignore":
		w["failurePolicy"] = policy
	case policy != "":
		return nil, fmt.Errorf("the annotation %s is %q, but must be Fail or Ignore", AnnotationFailurePolicy, policy)
	case scope == scopeAll:
		w["failurePolicy"] = "Ignore"
	}
	return w, nil
}

// restored returns the webhook with the wanted fields restored; same reports whether nothing differs. Additions of others stay.
func restored(is, want map[string]any) (out map[string]any, same bool) {
	out = maps.Clone(is)
	for field, value := range want {
		switch field {
		case "clientConfig": // other controllers manage the CA; an address that is not a Service was set by a user
			c, _ := is[field].(map[string]any)
			if c["service"] == nil {
				continue
			}
			out[field] = withService(c, value.(map[string]any)["service"].(map[string]any))
		case "namespaceSelector":
			s := map[string]any{}
			if there, ok := is[field].(map[string]any); ok {
				maps.Copy(s, there)
			}
			s["matchExpressions"] = together(items(is[field], "matchExpressions"), items(value, "matchExpressions"))
			out[field] = s
		case "matchConditions":
			own := items(value, "")
			others := slices.DeleteFunc(slices.Clone(items(is[field], "")), func(c any) bool { return isAsks(c) || slices.ContainsFunc(own, sameName(c)) })
			out[field] = inOrder(items(is[field], ""), append(slices.Clone(own), others...))
		default:
			out[field] = value
		}
	}
	return out, equality.Semantic.DeepEqual(is, out)
}

// withService returns the client configuration with the wanted address and the current port.
func withService(is, want map[string]any) map[string]any {
	out, service := maps.Clone(is), maps.Clone(want)
	if there, ok := is["service"].(map[string]any); ok && there["port"] != nil {
		service["port"] = there["port"]
	}
	out["service"] = service
	return out
}

// together returns the items of the first list and those of the second that it lacks.
func together(is, want []any) []any {
	out := slices.Clone(is)
	for _, w := range want {
		if !slices.ContainsFunc(is, func(x any) bool { return equality.Semantic.DeepEqual(x, w) }) {
			out = append(out, w)
		}
	}
	return out
}

// inOrder returns the first list if both have the same items, since their order is irrelevant.
func inOrder(is, want []any) []any {
	if len(is) == len(want) && len(together(is, want)) == len(is) {
		return is
	}
	return want
}

// items returns the list in a field of the object, or in the value itself if it is not an object.
func items(value any, field string) []any {
	if m, ok := value.(map[string]any); ok {
		value = m[field]
	}
	list, _ := value.([]any)
	return list
}

func isAsks(condition any) bool {
	return sameName(map[string]any{"name": conditionAsks})(condition)
}

func sameName(x any) func(any) bool {
	named := func(v any) any {
		m, _ := v.(map[string]any)
		return m["name"]
	}
	return func(y any) bool { return named(x) == named(y) }
}
