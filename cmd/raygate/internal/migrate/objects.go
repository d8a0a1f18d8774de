package migrate

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

func (c *Checker) checkObjects(ctx context.Context, r *Report, checks validation.Checks, back *backCounter) error {
	counts := Objects{Kind: checks.Kind}
	options := validation.Options{Gates: r.gates()}
	for _, namespace := range c.namespaces() {
		err := c.each(ctx, rayResource(checks.Kind), namespace, func(u *unstructured.Unstructured) {
			counts.Count++
			errors, warnings := r.Errors, r.Warnings
			checkObject(r, checks, u, options)
			checkOwners(r, u)
			back.count(r, u)
			if r.Errors > errors {
				counts.Refused++
			} else if r.Warnings > warnings {
				counts.Warned++
			}
		})
		if err != nil {
			return err
		}
	}
	r.Objects = append(r.Objects, counts)
	return nil
}

// namespaces are those to read; one empty name means all.
func (c *Checker) namespaces() []string {
	if len(c.options.Namespaces) == 0 {
		return []string{metav1.NamespaceAll}
	}
	return c.options.Namespaces
}

// gates are the feature gates of the running operators that rules depend on.
func (r *Report) gates() map[validation.Gate]bool {
	all := map[validation.Gate]bool{}
	for _, o := range r.Operators {
		for setting, on := range o.gates {
			if gate := validation.Gate(setting); gate.Known() {
				all[gate] = on
			}
		}
	}
	return all
}

// checkObject applies the rules. An error stops this project's controller. A problem for which only a new object would be refused is a
// warning.
func checkObject(r *Report, checks validation.Checks, u *unstructured.Unstructured, o validation.Options) {
	add := func(severity Severity, v validation.Violation, suffix string) {
		remedy := ""
		if i := slices.IndexFunc(validation.Rules(), func(rule *validation.Rule) bool { return rule.ID == v.Rule }); i >= 0 {
			remedy = validation.Rules()[i].Remedy
		}
		r.add(Finding{Area: AreaObjects, Severity: severity, Kind: checks.Kind, Namespace: u.GetNamespace(), Name: u.GetName(),
			Field: v.Field, Rule: v.Rule, Message: v.Message + suffix, Remedy: remedy})
	}
	object, err := decode(checks, u)
	if err != nil {
		add(Error, validation.Violation{Message: "cannot be read: " + err.Error()}, "")
		return
	}
	if u.GetDeletionTimestamp() != nil {
		return // no rule holds up a deletion
	}
	checks.SetDefaults(object)
	verdict := checks.Create(object, o)
	stops := validation.Refused(verdict.Errors, ran(object))
	for _, v := range validation.Violations(stops) {
		add(Error, v, "")
	}
	rest := slices.DeleteFunc(slices.Clone(verdict.Errors), func(e *field.Error) bool { return slices.Contains(stops, e) })
	for _, v := range validation.Violations(rest) {
		add(Warning, v, " (a new object would be refused; this one goes on)")
	}
	for _, v := range validation.Violations(verdict.Warnings) {
		add(Warning, v, "")
	}
}

func decode(checks validation.Checks, u *unstructured.Unstructured) (validation.Object, error) {
	data, err := json.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	object := checks.New()
	return object, json.Unmarshal(data, object)
}

// ran reports whether something was created from the object, by its status, as the controllers do.
func ran(object validation.Object) bool {
	switch o := object.(type) {
	case *rayv1.RayCluster:
		return validation.Ran(o)
	case *rayv1.RayJob:
		return o.Status.RayClusterName != ""
	case *rayv1.RayService:
		return cmp.Or(o.Status.ActiveServiceStatus.RayClusterName, o.Status.PendingServiceStatus.RayClusterName) != ""
	case *rayv1.RayCronJob:
		return o.Status.LastScheduleTime != nil
	}
	return false
}

// checkOwners reports managers that applied all worker groups as one value. KubeRay's CRDs have them as a plain list, and raygate's as a
// list with keys. The first apply of such a manager after the change therefore cannot remove a group.
func checkOwners(r *Report, u *unstructured.Unstructured) {
	managers := map[string]string{}
	for _, f := range u.GetManagedFields() {
		if f.Operation != metav1.ManagedFieldsOperationApply || f.FieldsV1 == nil {
			continue
		}
		var tree map[string]any
		if json.Unmarshal(f.FieldsV1.GetRawBytes(), &tree) != nil {
			continue
		}
		if path := wholeGroups(tree, ""); path != "" {
			managers[f.Manager] = path
		}
	}
	for _, manager := range slices.Sorted(maps.Keys(managers)) {
		r.add(Finding{Area: AreaObjects, Severity: Note, Kind: u.GetKind(), Namespace: u.GetNamespace(), Name: u.GetName(), Field: managers[manager],
			Message: manager + " applied the worker groups as one value: its first apply under the CRDs of raygate cannot remove a group",
			Remedy:  "apply the unchanged manifest once before a group is removed"})
	}
}

// wholeGroups finds, in a set of owned fields, the worker groups as a value without members; it returns their path.
func wholeGroups(tree map[string]any, path string) string {
	for key, value := range tree {
		below, ok := value.(map[string]any)
		if !ok || len(key) < 3 || key[:2] != "f:" {
			continue
		}
		at := key[2:]
		if path != "" {
			at = path + "." + at
		}
		if key == "f:workerGroupSpecs" {
			if len(below) == 0 {
				return at
			}
			continue
		}
		if found := wholeGroups(below, at); found != "" {
			return found
		}
	}
	return ""
}
