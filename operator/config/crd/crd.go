// Package crd embeds the CustomResourceDefinitions of this folder, so that programs can validate like the API server.
package crd

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

//go:embed bases/*.yaml
var bases embed.FS

// Schema returns the schema of one version of a kind, such as v1 of RayCluster.
func Schema(kind, version string) (*apiextensionsv1.JSONSchemaProps, error) {
	raw, err := bases.ReadFile("bases/ray.io_" + strings.ToLower(kind) + "s.yaml")
	if err != nil {
		return nil, fmt.Errorf("reading the CRD of %s: %w", kind, err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(raw, crd); err != nil {
		return nil, fmt.Errorf("decoding the CRD of %s: %w", kind, err)
	}
	at := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version })
	if at < 0 || crd.Spec.Versions[at].Schema == nil {
		return nil, fmt.Errorf("the CRD of %s has no schema of %s", kind, version)
	}
	return crd.Spec.Versions[at].Schema.OpenAPIV3Schema, nil
}
