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
	// AnnotationScope says which Pods device admission looks at: RayPods, Labelled or All. Without it the configuration is left alone.
	AnnotationScope = "devices.ray.io/scope"
	// AnnotationFailurePolicy is the failure policy of the webhook that checks Pods; without it that is Fail, and Ignore for the scope All.
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
	// conditionAsks leaves out Pods without an extended resource, which a registry with variables for them has to see.
	conditionAsks = "asks-for-an-extended-resource"
)

// wanted is the webhook of the kind for a configuration with these annotations. With every, it is called for Pods without devices, too.
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

// restored is the webhook as it is with what is wanted put back; same reports whether there was nothing to do. What others have added stays.
func restored(is, want map[string]any) (out map[string]any, same bool) {
	out = maps.Clone(is)
	for field, value := range want {
		switch field {
		case "clientConfig": // the CA is of those who keep the certificate, and an address that is no Service of who has set it
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

// withService is the client configuration with the address put back, but for the port.
func withService(is, want map[string]any) map[string]any {
	out, service := maps.Clone(is), maps.Clone(want)
	if there, ok := is["service"].(map[string]any); ok && there["port"] != nil {
		service["port"] = there["port"]
	}
	out["service"] = service
	return out
}

// together are the items of the first list and those of the second that it lacks.
func together(is, want []any) []any {
	out := slices.Clone(is)
	for _, w := range want {
		if !slices.ContainsFunc(is, func(x any) bool { return equality.Semantic.DeepEqual(x, w) }) {
			out = append(out, w)
		}
	}
	return out
}

// inOrder is the first list if both have the same items, since their order means nothing.
func inOrder(is, want []any) []any {
	if len(is) == len(want) && len(together(is, want)) == len(is) {
		return is
	}
	return want
}

// items is the list in a field of the object, or the value itself without a field.
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
