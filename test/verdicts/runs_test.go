package verdicts

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/pkg/validation"
)

//go:embed corpus/*.yaml
var corpusFiles embed.FS

// runsUnderKubeRay is a case of the corpus: an object, or a change of one, that runs under KubeRay 1.7.
type runsUnderKubeRay struct {
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

// loadCorpus returns all cases in the order of the files.
func loadCorpus() ([]runsUnderKubeRay, error) {
	names, err := fs.Glob(corpusFiles, "corpus/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []runsUnderKubeRay
	for _, name := range names {
		raw, err := corpusFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var file struct {
			Cases []runsUnderKubeRay
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

// changes reports whether the case is about a change.
func (c *runsUnderKubeRay) changes() bool { return c.Then != nil || c.JSON != nil }

// featureGates are the settings of the operator with which the object runs.
func (c *runsUnderKubeRay) featureGates() map[validation.Gate]bool {
	gates := map[validation.Gate]bool{}
	for _, g := range c.Gates {
		gates[validation.Gate(g)] = true
	}
	for _, g := range c.GatesOff {
		gates[validation.Gate(g)] = false
	}
	return gates
}

// skips reports whether KubeRay has a layer that refuses the object.
func (c *runsUnderKubeRay) skips(layer string) bool { return slices.Contains(c.Except, layer) }

// objectJSON is the object as JSON: the new one, or that before the change. It has no status.
func (c *runsUnderKubeRay) objectJSON() ([]byte, error) {
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

// changeJSON applies the change to an object as JSON.
func (c *runsUnderKubeRay) changeJSON(object []byte) ([]byte, error) {
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

// minCases keeps the corpus from shrinking.
const minCases = 345

func TestCorpusSaysWhy(t *testing.T) {
	cases, err := loadCorpus()
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < minCases {
		t.Errorf("%d cases, want at least %d", len(cases), minCases)
	}
	seen := map[string]bool{}
	for _, c := range cases {
		if c.Why == "" || c.Name == "" {
			t.Errorf("case %q of a %s does not say why it runs", c.Name, c.Kind)
		}
		if seen[c.Name] {
			t.Errorf("two cases are called %s", c.Name)
		}
		seen[c.Name] = true
	}
}

// TestRulesRefuseNothingOfTheCorpus asks the rules as a command line that knows nothing but the gates, and as an operator with no batch
// scheduler. TestCorpusIsNeverRefused asks every layer.
func TestRulesRefuseNothingOfTheCorpus(t *testing.T) {
	cases, err := loadCorpus()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			before, after := c.objects(t)
			checks, _ := validation.ForKind(c.Kind)
			for who, o := range map[string]validation.Options{
				"command line": {Gates: c.featureGates()},
				"operator": {Gates: c.featureGates(), FromOperator: true, BatchScheduler: new(""),
					NoInitContainers: len(c.GatesOff) > 0}, // those cases stand for an operator in which everything is off
			} {
				if !c.Stored {
					if v := checks.Create(before, o); len(v.Errors) > 0 {
						t.Errorf("%s, although %s: %v", who, c.Why, v.Errors)
					}
				}
				last := before
				if c.changes() {
					last = after
					if v := checks.Update(after, before, o); len(v.Errors) > 0 {
						t.Errorf("%s on the change, although %s: %v", who, c.Why, v.Errors)
					}
				}
				if refused := validation.Refused(checks.Create(last, o).Errors, c.skips("alone")); len(refused) > 0 && !c.skips("controller") {
					t.Errorf("%s: the controller does not act, although %s: %v", who, c.Why, refused)
				}
			}
		})
	}
}

// objects are what the rules get: with defaults, and with the status that the case speaks of. after is nil without a change.
func (c *runsUnderKubeRay) objects(t *testing.T) (before, after validation.Object) {
	t.Helper()
	raw, err := c.objectJSON()
	if err != nil {
		t.Fatal(err)
	}
	checks, _ := validation.ForKind(c.Kind)
	decode := func(raw []byte) validation.Object {
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		m["status"] = c.Status
		object := checks.New()
		if err := json.Unmarshal(jsonOf(m), object); err != nil {
			t.Fatal(err)
		}
		checks.SetDefaults(object)
		return object
	}
	before = decode(raw)
	if !c.changes() {
		return before, nil
	}
	if raw, err = c.changeJSON(raw); err != nil {
		t.Fatal(err)
	}
	return before, decode(raw)
}
