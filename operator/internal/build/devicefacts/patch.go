package devicefacts

import (
	"bytes"
	"encoding/json"
	"fmt"

	"gomodules.xyz/jsonpatch/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Patch returns the JSON patch, for the field manager Manager, that sets the facts of the object; nil if nothing differs. Keys
// that users have set stay and then belong to them alone. The patch applies to this version of the object.
func Patch(rc *rayv1.RayCluster, want Facts) ([]byte, error) {
	o := ownershipOf(rc)
	stored := o.facts(rc)
	e := newEdit(rc)
	for _, k := range stored.sorted() {
		if _, wanted := want[k]; !wanted {
			e.remove(k, o.mine.Has(k.mapPath()))
		}
	}
	for _, k := range want.sorted() {
		m := mapOf(rc, k)
		if m == nil {
			continue
		}
		current, there := (*m)[k.Name]
		if _, mine := stored[k]; there && !mine || there && current == want[k] {
			continue
		}
		e.set(k, want[k])
	}
	if shared := o.shared(); !shared.Empty() {
		if err := e.own(o.at, o.mine.Difference(shared)); err != nil {
			return nil, err
		}
	}
	if len(e.ops) == 0 {
		return nil, nil
	}
	// Causes a conflict instead of a lost update if another client was faster: places are found by index.
	ops := append(e.ops, jsonpatch.NewOperation("replace", "/metadata/resourceVersion", rc.ResourceVersion))
	return json.Marshal(ops)
}

// Restore returns the operations that restore facts which an update would drop, because it replaces whole lists as client-side
// apply does. It removes facts that conflict with the update's values. The first object is the old one.
func Restore(before, after *rayv1.RayCluster) []jsonpatch.Operation {
	stored := Stored(before)
	if len(stored) == 0 {
		return nil
	}
	was, is := ownershipOf(before), ownershipOf(after)
	e := newEdit(after)
	back := fieldpath.NewSet()
	for _, k := range stored.sorted() {
		switch m := mapOf(after, k); fateOf(after, k) {
		case inTheWay:
			if is.mine.Has(k.path()) && !is.others.Has(k.path()) {
				e.remove(k, is.mine.Has(k.mapPath()))
			}
		case dropped:
			if *m == nil && was.mine.Has(k.mapPath()) {
				back.Insert(k.mapPath())
			}
			e.set(k, stored[k])
			back.Insert(k.path())
		}
	}
	if !back.Empty() {
		if err := e.give(before.ManagedFields[was.at], is, back); err != nil {
			return nil // not reached: the sets were read from JSON
		}
	}
	return e.ops
}

// fate is the effect of an update on a fact.
type fate int

const (
	// settled facts still exist, or are gone with their group or its resources.
	settled fate = iota
	// dropped facts have a place but are missing.
	dropped
	// inTheWay are start parameters of a group that gets resources, which exclude them.
	inTheWay
)

func fateOf(after *rayv1.RayCluster, k Key) fate {
	m := mapOf(after, k)
	if m == nil {
		return settled
	}
	_, there := (*m)[k.Name]
	switch resources := len(*mapOf(after, Key{Group: k.Group, Field: Resources})); {
	case k.Field == StartParams && resources > 0 && there:
		return inTheWay
	case there, k.Field == StartParams && resources > 0, k.Field == Resources && resources == 0:
		return settled
	}
	return dropped
}

// edit collects operations on an object.
type edit struct {
	rc   *rayv1.RayCluster
	ops  []jsonpatch.Operation
	left map[string]int // keys in the map at a pointer
}

func newEdit(rc *rayv1.RayCluster) *edit { return &edit{rc: rc, left: map[string]int{}} }

func (e *edit) keys(k Key) (pointer string, n int) {
	pointer = k.pointer(e.rc)
	if _, known := e.left[pointer]; !known {
		m := *mapOf(e.rc, k)
		e.left[pointer] = len(m)
		if m == nil {
			e.left[pointer] = -1
		}
	}
	return pointer, e.left[pointer]
}

func (e *edit) set(k Key, value string) {
	pointer, n := e.keys(k)
	if n < 0 {
		e.ops = append(e.ops, jsonpatch.NewOperation("add", pointer, map[string]string{}))
		n = 0
	}
	e.ops = append(e.ops, jsonpatch.NewOperation("add", pointer+"/"+escape.Replace(k.Name), value))
	e.left[pointer] = n + 1
}

// remove removes an existing key, and with the last one the map, if the operator owns the map.
func (e *edit) remove(k Key, andMap bool) {
	pointer, n := e.keys(k)
	if n == 1 && andMap {
		e.ops = append(e.ops, jsonpatch.NewOperation("remove", pointer, nil))
		e.left[pointer] = -1
		return
	}
	e.ops = append(e.ops, jsonpatch.NewOperation("remove", pointer+"/"+escape.Replace(k.Name), nil))
	e.left[pointer] = n - 1
}

// own makes the entry own exactly the set.
func (e *edit) own(at int, set *fieldpath.Set) error {
	path := fmt.Sprint("/metadata/managedFields/", at)
	if set.Empty() {
		e.ops = append(e.ops, jsonpatch.NewOperation("remove", path, nil))
		return nil
	}
	raw, err := encode(set)
	if err == nil {
		e.ops = append(e.ops, jsonpatch.NewOperation("replace", path+"/fieldsV1", raw))
	}
	return err
}

// give adds the set to Manager's fields. The entry is its previous one.
func (e *edit) give(entry metav1.ManagedFieldsEntry, is ownership, set *fieldpath.Set) error {
	if is.at >= 0 {
		return e.own(is.at, is.mine.Union(set))
	}
	raw, err := encode(set)
	if err != nil {
		return err
	}
	entry.FieldsV1 = metav1.NewFieldsV1(string(raw))
	if len(e.rc.ManagedFields) == 0 {
		e.ops = append(e.ops, jsonpatch.NewOperation("add", "/metadata/managedFields", []metav1.ManagedFieldsEntry{}))
	}
	e.ops = append(e.ops, jsonpatch.NewOperation("add", "/metadata/managedFields/-", entry))
	return nil
}

func encode(set *fieldpath.Set) (json.RawMessage, error) {
	raw, err := set.ToJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding managed fields: %w", err)
	}
	return bytes.Clone(raw), nil
}
