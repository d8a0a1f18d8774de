// Package devicefacts stores in a RayCluster the facts about devices that its autoscaler cannot read elsewhere. Each fact is a key
// in the rayStartParams or resources of a group, and belongs to the field manager Manager. So facts are separate from user values,
// server-side apply of users does not touch them, and they can be removed key by key.
//
// The keys are patched, not applied. A manager that applies a key of a group also owns the group's list entry. If a user then
// removed the group by server-side apply, an invalid rest of it would remain; the test of the removal shows both.
//
// The package is pure: it reads an object and returns the changes.
package devicefacts

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Manager is the field manager of facts.
const Manager = "raygate-devices"

// Field is the map of a group that contains a fact.
type Field string

// Fields.
const (
	StartParams Field = "rayStartParams"
	Resources   Field = "resources"
)

// Key is the place of a fact.
type Key struct {
	// Group is the name of a worker group; empty for the head.
	Group string
	Field Field
	// Name is the key in the map.
	Name string
}

// Facts are values by place.
type Facts map[Key]string

// sorted returns the places in a stable order.
func (f Facts) sorted() []Key {
	return slices.SortedFunc(maps.Keys(f), func(a, b Key) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Name, b.Name))
	})
}

// Stored returns the facts in the object. Keys that another manager also owns belong to the user.
func Stored(rc *rayv1.RayCluster) Facts {
	return ownershipOf(rc).facts(rc)
}

// Shared reports whether another manager also owns a fact, which then belongs to the user. That changes no generation.
func Shared(rc *rayv1.RayCluster) bool {
	o := ownershipOf(rc)
	return o.at >= 0 && !o.shared().Empty()
}

// Strip removes the facts from the object, so that it is as the user wrote it. It also removes the managed fields, which would be
// wrong afterwards.
func Strip(rc *rayv1.RayCluster) {
	if len(rc.ManagedFields) == 0 {
		return
	}
	o := ownershipOf(rc)
	for k := range o.facts(rc) {
		m := mapOf(rc, k)
		if delete(*m, k.Name); len(*m) == 0 && o.mine.Has(k.mapPath()) {
			*m = nil
		}
	}
	rc.ManagedFields = nil
}

// KeepManagers removes the managed fields of an object without facts, because a cache contains many of them.
func KeepManagers(rc *rayv1.RayCluster) {
	if !slices.ContainsFunc(rc.ManagedFields, isMine) {
		rc.ManagedFields = nil
	}
}

// mapOf returns the map of the place; nil if the group does not exist.
func mapOf(rc *rayv1.RayCluster, k Key) *map[string]string {
	params, resources := &rc.Spec.HeadGroupSpec.RayStartParams, &rc.Spec.HeadGroupSpec.Resources
	if k.Group != "" {
		i := indexOf(rc, k.Group)
		if i < 0 {
			return nil
		}
		g := &rc.Spec.WorkerGroupSpecs[i]
		params, resources = &g.RayStartParams, &g.Resources
	}
	if k.Field == Resources {
		return resources
	}
	return params
}

func indexOf(rc *rayv1.RayCluster, group string) int {
	return slices.IndexFunc(rc.Spec.WorkerGroupSpecs, func(g rayv1.WorkerGroupSpec) bool { return g.GroupName == group })
}

// pointer returns the JSON pointer of the map.
func (k Key) pointer(rc *rayv1.RayCluster) string {
	if k.Group == "" {
		return "/spec/headGroupSpec/" + string(k.Field)
	}
	return "/spec/workerGroupSpecs/" + strconv.Itoa(indexOf(rc, k.Group)) + "/" + string(k.Field)
}

var escape = strings.NewReplacer("~", "~0", "/", "~1")

// mapPath returns the path of the map in managed fields.
func (k Key) mapPath() fieldpath.Path {
	if k.Group == "" {
		return fieldpath.MakePathOrDie("spec", "headGroupSpec", string(k.Field))
	}
	return fieldpath.MakePathOrDie("spec", "workerGroupSpecs", fieldpath.KeyByFields("groupName", k.Group), string(k.Field))
}

func (k Key) path() fieldpath.Path {
	return append(k.mapPath(), fieldpath.PathElement{FieldName: &k.Name})
}

// keyOf returns the place of a path in managed fields; ok is false for other fields.
func keyOf(p fieldpath.Path) (k Key, ok bool) {
	if len(p) < 4 || p[len(p)-2].FieldName == nil || p[len(p)-1].FieldName == nil {
		return k, false
	}
	k.Field, k.Name = Field(*p[len(p)-2].FieldName), *p[len(p)-1].FieldName
	if group := p[2].Key; group != nil && len(*group) == 1 && (*group)[0].Value.IsString() {
		k.Group = (*group)[0].Value.AsString()
	}
	return k, (k.Field == StartParams || k.Field == Resources) && k.Name != "" && k.path().Equals(p)
}

// ownership describes the owners of an object's fields.
type ownership struct {
	mine, others *fieldpath.Set
	// at is the index of Manager's entry; -1 without one.
	at int
}

func ownershipOf(rc *rayv1.RayCluster) ownership {
	o := ownership{mine: fieldpath.NewSet(), others: fieldpath.NewSet(), at: slices.IndexFunc(rc.ManagedFields, isMine)}
	if o.at < 0 {
		return o
	}
	for i := range rc.ManagedFields {
		e := &rc.ManagedFields[i]
		if e.Subresource != "" || e.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if err := set.FromJSON(e.FieldsV1.GetRawReader()); err != nil {
			continue // an unknown format owns nothing
		}
		if i == o.at {
			o.mine = set
		} else {
			o.others = o.others.Union(set)
		}
	}
	return o
}

func isMine(e metav1.ManagedFieldsEntry) bool {
	return e.Manager == Manager && e.Subresource == "" && e.Operation == metav1.ManagedFieldsOperationUpdate && e.FieldsV1 != nil
}

// facts returns the existing facts that no other manager owns.
func (o ownership) facts(rc *rayv1.RayCluster) Facts {
	out := Facts{}
	o.mine.Iterate(func(p fieldpath.Path) {
		k, ok := keyOf(p)
		if !ok || o.others.Has(p) {
			return
		}
		if m := mapOf(rc, k); m != nil {
			if value, there := (*m)[k.Name]; there {
				out[k] = value
			}
		}
	})
	return out
}

// shared returns the paths of facts that another manager also owns.
func (o ownership) shared() *fieldpath.Set {
	out := fieldpath.NewSet()
	o.mine.Iterate(func(p fieldpath.Path) {
		if _, ok := keyOf(p); ok && o.others.Has(p) {
			out.Insert(p.Copy())
		}
	})
	return out
}
