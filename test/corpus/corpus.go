package corpus

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/pkg/validation"
)

//go:embed cases/*.yaml
var files embed.FS

// Case is an object, or a change of one, that runs under KubeRay.
type Case struct {
	// Name is unique, and the name of the object unless that is the point of the case.
	Name string
	Kind string
	// Why is a statement about KubeRay.
	Why string
	// Gates and GatesOff are the feature gates with which the object runs, where the defaults do not do.
	Gates, GatesOff []string
	// Stored says that the object was stored when the CRDs had no rules. Only the change is asked about then.
	Stored bool
	// Version is the API version in which the last write is made. Empty means v1.
	Version string
	// Except are what the case does not get: "controller" for objects that are stored and lie there under KubeRay too, "pods" where Pods take
	// something that is not in the cluster of the tests, such as the webhook of another project, "alone" for changes after which the object
	// keeps running, but would not begin to.
	Except []string
	// Object is a merge patch of the base of the kind.
	Object map[string]any
	// Status is the status that the object has before the change.
	Status map[string]any
	// Then is the change as a merge patch, JSON as a JSON patch. Without either the object is created and left alone.
	Then map[string]any
	JSON []any
}

var bases = map[string]string{
	"RayCluster": `{headGroupSpec: {template: {spec: {containers: [{name: ray-head, image: "rayproject/ray:2.52.0"}]}}}}`,
	"RayJob":     `{entrypoint: python a.py, rayClusterSpec: {headGroupSpec: {template: {spec: {containers: [{name: ray-head, image: "rayproject/ray:2.52.0"}]}}}}}`,
	"RayService": `{rayClusterConfig: {headGroupSpec: {template: {spec: {containers: [{name: ray-head, image: "rayproject/ray:2.52.0"}]}}}}}`,
	"RayCronJob": `{schedule: "0 2 * * *", jobTemplate: {entrypoint: python a.py, rayClusterSpec: {headGroupSpec: {template: {spec: {containers: [{name: ray-head, image: "rayproject/ray:2.52.0"}]}}}}}}`,
}

// Load returns all cases in the order of the files.
func Load() ([]Case, error) {
	names, err := fs.Glob(files, "cases/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []Case
	for _, name := range names {
		raw, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var file struct {
			Cases []Case
			// Pod and Two are there to be referred to.
			Pod, Two any
		}
		if err := yaml.UnmarshalStrict(raw, &file); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", name, err)
		}
		all = append(all, file.Cases...)
	}
	return all, nil
}

// Changes reports whether the case is about a change.
func (c *Case) Changes() bool { return c.Then != nil || c.JSON != nil }

// FeatureGates are the settings of the operator with which the object runs.
func (c *Case) FeatureGates() map[validation.Gate]bool {
	gates := map[validation.Gate]bool{}
	for _, g := range c.Gates {
		gates[validation.Gate(g)] = true
	}
	for _, g := range c.GatesOff {
		gates[validation.Gate(g)] = false
	}
	return gates
}

// Skips reports whether KubeRay has a layer that refuses the object.
func (c *Case) Skips(layer string) bool { return slices.Contains(c.Except, layer) }

// Before is the object as JSON: the new one, or that before the change. It has no status.
func (c *Case) Before() ([]byte, error) {
	base, known := bases[c.Kind]
	if !known {
		return nil, fmt.Errorf("%s: unknown kind %q", c.Name, c.Kind)
	}
	object, err := yaml.YAMLToJSON([]byte("{apiVersion: ray.io/v1, kind: " + c.Kind + ", metadata: {name: " + c.Name + "}, spec: " + base + "}"))
	if err != nil {
		return nil, err
	}
	patch, err := json.Marshal(c.Object)
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(object, patch)
}

// Change applies the change to an object as JSON.
func (c *Case) Change(object []byte) ([]byte, error) {
	if c.JSON != nil {
		raw, err := json.Marshal(c.JSON)
		if err != nil {
			return nil, err
		}
		patch, err := jsonpatch.DecodePatch(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		return patch.ApplyWithOptions(object, &jsonpatch.ApplyOptions{EnsurePathExistsOnAdd: true})
	}
	raw, err := json.Marshal(c.Then)
	if err != nil {
		return nil, err
	}
	return jsonpatch.MergePatch(object, raw)
}
