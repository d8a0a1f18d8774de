package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

var (
	crdResource        = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	apiServiceResource = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
)

// CRD is the CRD of one kind in the cluster.
type CRD struct {
	Name string `json:"name"`
	// Installed reports whether the CRD exists; otherwise the other fields are empty.
	Installed bool `json:"installed"`
	// Of is the origin of the CRD: raygate or KubeRay.
	Of string `json:"of,omitempty"`
	// Served and Stored are versions; Stored is the storage version.
	Served []string `json:"served,omitempty"`
	Stored string   `json:"stored,omitempty"`
	// StoredVersions may be in etcd.
	StoredVersions []string `json:"storedVersions,omitempty"`
	// Managers own fields of it, by server-side apply or otherwise.
	Managers []string `json:"managers,omitempty"`
}

func (c *Checker) checkCRDs(ctx context.Context, r *Report) error {
	for _, checks := range validation.AllChecks() {
		resource := rayResource(checks.Kind)
		name := resource.Resource + "." + resource.Group
		crd := &apiextensionsv1.CustomResourceDefinition{}
		found, err := c.get(ctx, crdResource, "", name, crd)
		if err != nil {
			return err
		}
		if !found {
			r.CRDs = append(r.CRDs, CRD{Name: name})
			r.add(Finding{Area: AreaCRDs, Severity: Note, Kind: "CustomResourceDefinition", Name: name, Message: "is not installed", Remedy: applyCRDs})
			continue
		}
		c.checkCRD(r, crd)
	}
	for _, version := range []string{rayv1.GroupVersion.Version, oldVersion} {
		if err := c.checkAPIService(ctx, r, version+"."+rayv1.GroupVersion.Group); err != nil {
			return err
		}
	}
	return nil
}

const (
	oldVersion = "v1alpha1"
	applyCRDs  = "kubectl apply --server-side --force-conflicts -k operator/config/crd"
)

func (c *Checker) checkCRD(r *Report, crd *apiextensionsv1.CustomResourceDefinition) {
	entry := CRD{Name: crd.Name, Installed: true, Of: originOf(crd), StoredVersions: crd.Status.StoredVersions, Managers: managersOf(crd.ManagedFields)}
	for _, v := range crd.Spec.Versions {
		if v.Served {
			entry.Served = append(entry.Served, v.Name)
		}
		if v.Storage {
			entry.Stored = v.Name
		}
	}
	r.CRDs = append(r.CRDs, entry)
	add := func(severity Severity, field, message, remedy string) {
		r.add(Finding{Area: AreaCRDs, Severity: severity, Kind: "CustomResourceDefinition", Name: crd.Name, Field: field, Message: message, Remedy: remedy})
	}
	if !slices.Contains(entry.Served, rayv1.GroupVersion.Version) {
		add(Error, "spec.versions", "does not serve v1, which KubeRay has had since 1.0: the objects have to be moved to v1 first", "upgrade KubeRay to 1.7 first")
	}
	if slices.Contains(entry.StoredVersions, oldVersion) {
		add(Warning, "status.storedVersions", "objects may be stored as v1alpha1; that does no harm until the version is dropped", `docs/webhooks.md, "Upgrading", says how to write them as v1`)
	}
	if entry.Of == kubeRay {
		message := "is KubeRay's; fields are owned by " + strings.Join(entry.Managers, ", ")
		add(Note, "", message, applyCRDs)
	}
}

const (
	kubeRay = "KubeRay"
	raygate = "raygate"
)

// originOf returns whether raygate or KubeRay made a CRD. Only raygate's CRDs declare the worker groups, at any depth, as a list-map.
func originOf(crd *apiextensionsv1.CustomResourceDefinition) string {
	for _, v := range crd.Spec.Versions {
		if v.Schema != nil && v.Name == rayv1.GroupVersion.Version && hasGroupMap(v.Schema.OpenAPIV3Schema) {
			return raygate
		}
	}
	return kubeRay
}

// hasGroupMap reports whether a schema declares workerGroupSpecs, at any depth, as a list-map.
func hasGroupMap(schema *apiextensionsv1.JSONSchemaProps) bool {
	if schema == nil {
		return false
	}
	for name, property := range schema.Properties {
		if name == "workerGroupSpecs" {
			return property.XListType != nil && *property.XListType == "map"
		}
		if hasGroupMap(&property) {
			return true
		}
	}
	return false
}

// managersOf returns the managers of fields, each once, with the operation of its last entry.
func managersOf(fields []metav1.ManagedFieldsEntry) []string {
	var managers []string
	for _, f := range fields {
		if f.Subresource == "status" {
			continue // the API server's own
		}
		if name := fmt.Sprintf("%s (%s)", f.Manager, f.Operation); !slices.Contains(managers, name) {
			managers = append(managers, name)
		}
	}
	return managers
}

// checkAPIService searches for another server of the group, which would hide the CRDs.
func (c *Checker) checkAPIService(ctx context.Context, r *Report, name string) error {
	var service struct {
		Spec struct {
			Service *struct{ Namespace, Name string } `json:"service"`
		} `json:"spec"`
	}
	found, err := c.get(ctx, apiServiceResource, "", name, &service)
	if apierrors.IsForbidden(err) {
		r.add(Finding{Area: AreaCRDs, Severity: Note, Kind: "APIService", Name: name, Message: "may not be read, so that it is not known whether another server has the group"})
		return nil
	}
	if err != nil {
		return err
	}
	if found && service.Spec.Service != nil {
		r.add(Finding{Area: AreaCRDs, Severity: Error, Kind: "APIService", Name: name, Field: "spec.service",
			Message: fmt.Sprintf("the group is served by %s/%s, which hides the CRDs", service.Spec.Service.Namespace, service.Spec.Service.Name), Remedy: "remove the APIService and its server"})
	}
	return nil
}
