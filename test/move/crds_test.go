package move

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// rulesOfKubeRay are all rules in the CRDs of KubeRay 1.7.
var rulesOfKubeRay = []string{
	"self == oldSelf",
	"self in ['ray.io/kuberay-operator', 'kueue.x-k8s.io/multikueue']",
	"!((has(self.onSuccess) || has(self.onFailure)) && has(self.deletionRules))",
	"((has(self.onSuccess) && has(self.onFailure)) || has(self.deletionRules))",
	"!(has(self.jobStatus) && has(self.jobDeploymentStatus))",
	"has(self.jobStatus) || has(self.jobDeploymentStatus)",
}

// ourCRDs are those of this repository, by name.
func ourCRDs(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "operator", "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) != 4 {
		t.Fatalf("%d CRDs, %v", len(files), err)
	}
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[crd.Name] = crd
	}
	return all
}

// kubeRayCRDs are CRDs as KubeRay 1.7 has them: without the rules, bounds and list keys that raygate adds, without its fields and without descriptions.
func kubeRayCRDs(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all := ourCRDs(t)
	for _, crd := range all {
		asKubeRay(crd)
	}
	return all
}

// write puts CRDs into a folder, as manifests.
func write(t *testing.T, crds map[string]*apiextensionsv1.CustomResourceDefinition) string {
	t.Helper()
	folder := t.TempDir()
	for name, crd := range crds {
		text, err := yaml.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".yaml"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func asKubeRay(crd *apiextensionsv1.CustomResourceDefinition) {
	crd.Annotations = map[string]string{"controller-gen.kubebuilder.io/version": "v0.16.5"}
	for i, v := range crd.Spec.Versions {
		schema := v.Schema.OpenAPIV3Schema
		plain(schema, "")
		status := schema.Properties["status"]
		switch crd.Spec.Names.Kind {
		case "RayJob":
			delete(status.Properties, "conditions")
			delete(status.Properties, "previousAttempts")
		case "RayCronJob":
			for _, name := range []string{"nextScheduleTime", "conditions", "observedGeneration"} {
				delete(status.Properties, name)
			}
		}
		crd.Spec.Versions[i].Schema.OpenAPIV3Schema = schema
	}
}

// plain takes away what only raygate has. Types of Kubernetes keep their bounds, which their generator writes for both.
func plain(node *apiextensionsv1.JSONSchemaProps, path string) {
	node.Description = ""
	node.XValidations = slices.DeleteFunc(node.XValidations, func(r apiextensionsv1.ValidationRule) bool { return !slices.Contains(rulesOfKubeRay, r.Rule) })
	if !strings.Contains(path, ".conditions") && !strings.HasSuffix(path, ".ports.error") {
		node.MaxItems, node.MaxLength, node.MaxProperties = nil, nil, nil
	}
	switch {
	case strings.HasSuffix(path, ".workerGroupSpecs"):
		node.XListType, node.XListMapKeys = nil, nil
	case path == ".spec.schedule":
		node.MinLength = nil
	}
	delete(node.Properties, "evictionResponders") // of Pods since Kubernetes 1.37; KubeRay has those of 1.36
	for name, property := range node.Properties {
		plain(&property, path+"."+name)
		node.Properties[name] = property
	}
	if node.Items != nil && node.Items.Schema != nil {
		plain(node.Items.Schema, path)
	}
	if node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil {
		plain(node.AdditionalProperties.Schema, path)
	}
}

// TestCRDsOfKubeRay holds what stands in for KubeRay's CRDs to what is known of them: versions, names, subresources, and where they have rules.
func TestCRDsOfKubeRay(t *testing.T) {
	rules := map[string]int{"rayclusters.ray.io": 3, "rayjobs.ray.io": 9, "rayservices.ray.io": 5, "raycronjobs.ray.io": 9}
	crds := kubeRayCRDs(t)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(rules)), slices.Sorted(maps.Keys(crds))); diff != "" {
		t.Fatal(diff)
	}
	for name, crd := range crds {
		if names := crd.Spec.Names; !slices.Equal(names.Categories, []string{"all"}) || len(names.ShortNames) != 0 || crd.Spec.Conversion != nil || crd.Spec.PreserveUnknownFields {
			t.Errorf("%s: %+v, conversion %v", name, names, crd.Spec.Conversion)
		}
		got, want := map[string]int{}, map[string]int{"v1": rules[name], "v1alpha1": 0}
		if name == "raycronjobs.ray.io" {
			delete(want, "v1alpha1")
		}
		for _, v := range crd.Spec.Versions {
			got[v.Name] = countRules(v.Schema.OpenAPIV3Schema)
			isV1 := v.Name == "v1"
			if !v.Served || v.Storage != isV1 || v.Deprecated == isV1 || v.Subresources.Status == nil || v.Subresources.Scale != nil || len(v.SelectableFields) != 0 {
				t.Errorf("%s %s: served %t, stored %t, deprecated %t, %+v", name, v.Name, v.Served, v.Storage, v.Deprecated, v.Subresources)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: rules by version (-want +got):\n%s", name, diff)
		}
	}
}

func countRules(node *apiextensionsv1.JSONSchemaProps) int {
	n := len(node.XValidations)
	for _, property := range node.Properties {
		n += countRules(&property)
	}
	if node.Items != nil && node.Items.Schema != nil {
		n += countRules(node.Items.Schema)
	}
	if node.AdditionalProperties != nil && node.AdditionalProperties.Schema != nil {
		n += countRules(node.AdditionalProperties.Schema)
	}
	return n
}
