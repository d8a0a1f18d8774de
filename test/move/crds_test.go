package move

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// kubeRayCRDs writes CRDs as KubeRay has them into a folder: without the rules, bounds and list keys that raygate adds, without the fields and the version
// that only raygate has.
func kubeRayCRDs(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	files, err := filepath.Glob(filepath.Join(root, "operator", "config", "crd", "bases", "*.yaml"))
	if err != nil || len(files) != 4 {
		t.Fatalf("%d CRDs, %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		asKubeRay(crd)
		if text, err = yaml.Marshal(crd); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, filepath.Base(file)), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func asKubeRay(crd *apiextensionsv1.CustomResourceDefinition) {
	var versions []apiextensionsv1.CustomResourceDefinitionVersion
	for _, v := range crd.Spec.Versions {
		if crd.Spec.Names.Kind == "RayCronJob" && v.Name != "v1" {
			continue
		}
		plain(v.Schema.OpenAPIV3Schema, "")
		status := v.Schema.OpenAPIV3Schema.Properties["status"]
		switch crd.Spec.Names.Kind {
		case "RayJob":
			delete(status.Properties, "conditions")
		case "RayCronJob":
			delete(status.Properties, "nextScheduleTime")
		}
		versions = append(versions, v)
	}
	crd.Spec.Versions = versions
}

func plain(node *apiextensionsv1.JSONSchemaProps, path string) {
	node.XValidations = nil
	node.MaxItems, node.MaxLength, node.MaxProperties = nil, nil, nil
	if strings.HasSuffix(path, ".workerGroupSpecs") {
		node.XListType, node.XListMapKeys = nil, nil
	}
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
