package crd_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/raygate/raygate/internal/testing/golden"
)

// oldKinds have v1alpha1, by plural.
var oldKinds = map[string]string{"rayclusters": "RayCluster", "rayjobs": "RayJob", "rayservices": "RayService"}

func versionOf(t *testing.T, plural, name string) *apiextensionsv1.CustomResourceDefinitionVersion {
	t.Helper()
	crd := loadCRD(t, plural)
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("the CRD of %s has no version %s", plural, name)
	}
	return &crd.Spec.Versions[i]
}

// v1 is stored and served, v1alpha1 is served and warns, and the bases leave the conversion to the API server: they must
// work where no webhook runs.
func TestV1Alpha1IsServedAndWarns(t *testing.T) {
	for plural, kind := range oldKinds {
		t.Run(plural, func(t *testing.T) {
			crd := loadCRD(t, plural)
			if crd.Spec.Conversion != nil {
				t.Errorf("the base CRD has the conversion %+v, want none", crd.Spec.Conversion)
			}
			if got := len(crd.Spec.Versions); got != 2 {
				t.Fatalf("%d versions, want 2", got)
			}
			if v := versionOf(t, plural, "v1"); !v.Served || !v.Storage || v.Deprecated {
				t.Errorf("v1: served %t, storage %t, deprecated %t", v.Served, v.Storage, v.Deprecated)
			}
			old := versionOf(t, plural, "v1alpha1")
			if !old.Served || old.Storage || !old.Deprecated {
				t.Errorf("v1alpha1: served %t, storage %t, deprecated %t", old.Served, old.Storage, old.Deprecated)
			}
			// Clients have this text in their allow-lists of warnings; it is KubeRay's to the letter.
			want := "ray.io/v1alpha1 " + kind + " is deprecated; use ray.io/v1 " + kind +
				". v1alpha1 receives no new fields and will be unavailable in KubeRay 1.9."
			if old.DeprecationWarning == nil || *old.DeprecationWarning != want {
				t.Errorf("deprecation warning %v, want %q", old.DeprecationWarning, want)
			}
			if old.Subresources == nil || old.Subresources.Status == nil || old.Subresources.Scale != nil {
				t.Errorf("subresources are %+v, want status alone", old.Subresources)
			}
		})
	}
}

// RayCronJob is as in KubeRay: v1 only, and nothing to convert.
func TestRayCronJobHasOneVersion(t *testing.T) {
	crd := loadCRD(t, "raycronjobs")
	if len(crd.Spec.Versions) != 1 || crd.Spec.Conversion != nil {
		t.Fatalf("%d versions and the conversion %+v, want v1 alone", len(crd.Spec.Versions), crd.Spec.Conversion)
	}
	if v := crd.Spec.Versions[0]; v.Name != "v1" || !v.Served || !v.Storage || v.Deprecated {
		t.Errorf("%s: served %t, storage %t, deprecated %t", v.Name, v.Served, v.Storage, v.Deprecated)
	}
}

func TestColumnsOfV1Alpha1(t *testing.T) {
	if diff := cmp.Diff(versionOf(t, "rayclusters", "v1").AdditionalPrinterColumns, versionOf(t, "rayclusters", "v1alpha1").AdditionalPrinterColumns); diff != "" {
		t.Errorf("rayclusters prints other columns than v1 (-v1 +v1alpha1):\n%s", diff)
	}
	for _, plural := range []string{"rayjobs", "rayservices"} {
		if got := versionOf(t, plural, "v1alpha1").AdditionalPrinterColumns; len(got) > 0 {
			t.Errorf("%s prints columns %v; v1alpha1 never had any", plural, got)
		}
	}
}

// The CRD is stored as JSON. Two versions must leave room below the 1.5 MiB of etcd for what the API server adds, and for
// as many rules again. Managed fields are not much of it: the list of versions is one field.
func TestCRDSize(t *testing.T) {
	for _, plural := range append(slices.Collect(maps.Keys(oldKinds)), "raycronjobs") {
		stored, err := json.Marshal(loadCRD(t, plural))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", plural, len(stored))
		if limit := 750_000; len(stored) > limit {
			t.Errorf("the CRD of %s takes %d bytes, want at most %d", plural, len(stored), limit)
		}
	}
}

// kubernetesOwn are the properties whose schema is Kubernetes' own; both versions are generated from one release of it.
var kubernetesOwn = []string{
	"template", "submitterPodTemplate", "headService", "serveService", "env", "envFrom", "volumeMounts", "securityContext",
	"metadata", "desiredCPU", "desiredMemory", "desiredGPU", "desiredTPU",
}

// outline lists what a schema declares, one line each, embedded types by name only.
func outline(s *apiextensionsv1.JSONSchemaProps, path string) []string {
	line := path + " " + s.Type
	if s.Format != "" {
		line += " " + s.Format
	}
	if len(s.Required) > 0 {
		line += " required=" + strings.Join(slices.Sorted(slices.Values(s.Required)), ",")
	}
	if s.Default != nil {
		line += " default=" + string(s.Default.Raw)
	}
	if len(s.Enum) > 0 {
		var values [][]byte
		for _, e := range s.Enum {
			values = append(values, e.Raw)
		}
		line += " enum=" + string(bytes.Join(values, []byte(",")))
	}
	if s.Nullable {
		line += " nullable"
	}
	if s.XListType != nil {
		line += " list=" + *s.XListType + ":" + strings.Join(s.XListMapKeys, ",")
	}
	for _, r := range s.XValidations {
		line += " rule=" + r.Rule
	}
	out := []string{line}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		if slices.Contains(kubernetesOwn, name) || name == "resources" {
			out = append(out, fmt.Sprintf("%s.%s embedded", path, name))
			continue
		}
		out = append(out, outline(&p, path+"."+name)...)
	}
	if s.Items != nil {
		out = append(out, outline(s.Items.Schema, path+"[]")...)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		out = append(out, outline(s.AdditionalProperties.Schema, path+"{}")...)
	}
	return out
}

// TestV1Alpha1IsFrozen holds the version to what it was: clients that still use it were written long ago and learn nothing new.
func TestV1Alpha1IsFrozen(t *testing.T) {
	for plural := range oldKinds {
		t.Run(plural, func(t *testing.T) {
			got := strings.Join(outline(versionOf(t, plural, "v1alpha1").Schema.OpenAPIV3Schema, ""), "\n") + "\n"
			golden.Text(t, "testdata/"+plural+".schema.txt", got)
		})
	}
}

// A default that the versions do not share would make what is stored depend on the version that the client wrote, and an
// enum would make an object of one version invalid in the other.
func TestSharedFieldsHaveTheSameDefaultsAndEnums(t *testing.T) {
	for plural := range oldKinds {
		t.Run(plural, func(t *testing.T) {
			compareShared(t, versionOf(t, plural, "v1").Schema.OpenAPIV3Schema, versionOf(t, plural, "v1alpha1").Schema.OpenAPIV3Schema, "")
		})
	}
}

func compareShared(t *testing.T, v1, old *apiextensionsv1.JSONSchemaProps, path string) {
	t.Helper()
	if v1.Type != old.Type || v1.Format != old.Format || v1.Nullable != old.Nullable || v1.XIntOrString != old.XIntOrString {
		t.Errorf("%s: type %s %s in v1, %s %s in v1alpha1", path, v1.Type, v1.Format, old.Type, old.Format)
	}
	if diff := cmp.Diff(v1.Default, old.Default); diff != "" {
		t.Errorf("%s: default (-v1 +v1alpha1):\n%s", path, diff)
	}
	if diff := cmp.Diff(v1.Enum, old.Enum); diff != "" {
		t.Errorf("%s: enum (-v1 +v1alpha1):\n%s", path, diff)
	}
	if diff := cmp.Diff(v1.XListType, old.XListType); diff != "" {
		t.Errorf("%s: list type (-v1 +v1alpha1):\n%s", path, diff)
	}
	for name, p := range old.Properties {
		if q, ok := v1.Properties[name]; ok {
			compareShared(t, &q, &p, path+"."+name)
		} else if name != "healthLastUpdateTime" {
			t.Errorf("%s.%s is in v1alpha1 and not in v1", path, name)
		}
	}
	if old.Items != nil {
		compareShared(t, v1.Items.Schema, old.Items.Schema, path+"[]")
	}
	if old.AdditionalProperties != nil && old.AdditionalProperties.Schema != nil {
		compareShared(t, v1.AdditionalProperties.Schema, old.AdditionalProperties.Schema, path+"{}")
	}
}
