package profile

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/manifest"
	"github.com/raygate/raygate/pkg/manifest/problem"
)

const (
	// Key is the key of a ConfigMap with the document of the profile.
	Key = "profile.yaml"
	// maxSize of a document in bytes, and maxLocks of its locks: the users of a namespace may write profiles.
	maxSize, maxLocks = 64 << 10, 100
)

// Profile is a piece of a RayCluster.
type Profile struct {
	Name, Namespace, Description string
	// Tree has the members metadata, with labels and annotations, and spec, that of a RayCluster. Each may be missing.
	Tree map[string]any
	// Locked are the fields that an object with the profile cannot change, such as spec.workerGroupSpecs[gpu].template.
	Locked []string

	locks [][]string
}

// document is the schema of a profile.
type document struct {
	Description string `json:"description"`
	Metadata    struct {
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec   rayv1.RayClusterSpec `json:"spec"`
	Locked []string             `json:"locked"`
}

// Parse reads the profile in a ConfigMap. Mistakes have paths within the document.
func Parse(cm *corev1.ConfigMap) (*Profile, field.ErrorList) {
	if len(cm.Data[Key]) > maxSize {
		return nil, field.ErrorList{field.TooLong(nil, "", maxSize)}
	}
	tree, errs := manifest.Read([]byte(cm.Data[Key]), true)
	if tree == nil {
		return nil, errs
	}
	var d document
	errs = append(errs, manifest.Decode(tree, &d, nil)...)
	p := &Profile{Name: cm.Name, Namespace: cm.Namespace, Description: d.Description, Locked: d.Locked, Tree: map[string]any{}}
	if len(d.Locked) > maxLocks {
		return nil, append(errs, field.TooMany(field.NewPath("locked"), len(d.Locked), maxLocks))
	}
	for i, path := range d.Locked {
		steps, mistakes := parseLock(path)
		for _, e := range mistakes {
			errs = append(errs, manifest.Problem(field.NewPath("locked").Index(i), problem.BadFormat,
				fmt.Sprintf("%q is not a field of a profile (%s): write for example spec.workerGroupSpecs[gpu].template", problem.Short(path), e.Detail)))
		}
		p.locks = append(p.locks, steps)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	manifest.DropNulls(tree)
	for _, name := range []string{"metadata", "spec"} {
		if value, ok := tree[name]; ok {
			p.Tree[name] = value
		}
	}
	return p, nil
}

// Apply adds to an object what the profile has and the object does not. spec is the path of the spec of its RayCluster. The errors are the
// fields of the object that contradict a lock.
func (p *Profile) Apply(object map[string]any, spec ...string) field.ErrorList {
	put(object, below("metadata", p.Tree["metadata"], object["metadata"]), "metadata")
	put(object, below("spec", p.Tree["spec"], at(object, spec...)), spec...)
	return p.deviations(object, "leave it out", spec...)
}

// Check returns the locked fields that a change of an object makes different from the profile. Fields that differed before and have not
// changed are valid: the profile may have changed since the object was created. spec is as in Apply.
func (p *Profile) Check(before, after map[string]any, spec ...string) field.ErrorList {
	stored := map[string]any{}
	for _, e := range p.deviations(before, "", spec...) {
		stored[e.Field] = e.BadValue
	}
	return slices.DeleteFunc(p.deviations(after, "leave it as it is", spec...), func(e *field.Error) bool {
		value, existed := stored[e.Field]
		return existed && value == e.BadValue
	})
}

// deviations returns the fields of an object that contradict a lock. remedy ends their messages.
func (p *Profile) deviations(object map[string]any, remedy string, spec ...string) field.ErrorList {
	var errs field.ErrorList
	for _, steps := range p.locks {
		place := steps[:1]
		if steps[0] == "spec" {
			place = spec
		}
		path := field.NewPath(place[0], place[1:]...)
		errs = append(errs, p.locked(path, steps[0], steps[1:], p.Tree[steps[0]], at(object, place...))...)
	}
	for _, e := range errs {
		e.Detail += ": " + remedy
	}
	return errs
}

// at returns the member of an object at a path; nil if there is none.
func at(object map[string]any, path ...string) any {
	member, _, _ := unstructured.NestedFieldNoCopy(object, path...)
	return member
}

// put sets the member of an object at a path. It does nothing if a member on the way is not an object, which is a mistake in its form.
func put(object map[string]any, value any, path ...string) {
	last := len(path) - 1
	for _, name := range path[:last] {
		if object[name] == nil {
			object[name] = map[string]any{}
		}
		next, ok := object[name].(map[string]any)
		if !ok {
			return
		}
		object = next
	}
	if value != nil {
		object[path[last]] = value
	}
}
