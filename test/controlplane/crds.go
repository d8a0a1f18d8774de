package controlplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// CRDs name a set of CustomResourceDefinitions.
type CRDs int

const (
	// FullCRDs are the generated CRDs: schemas, defaults and rules, with the policies on updates. The API server takes seconds of CPU to load them.
	FullCRDs CRDs = iota
	// LightCRDs have the names, versions, scopes, subresources and printer columns of the generated ones, and a schema that accepts every object. They
	// are for tests that depend neither on defaults nor on refusals of the API server.
	LightCRDs
	// NoCRDs installs none.
	NoCRDs
)

var crdResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// installCRDs applies the generated files, one CustomResourceDefinition each, and waits until all are established.
func installCRDs(ctx context.Context, cfg *rest.Config, dir string, variant CRDs) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return fmt.Errorf("finding CustomResourceDefinitions: %w", err)
	}
	if len(files) == 0 {
		return fmt.Errorf("finding CustomResourceDefinitions: none in %s; run: make generate", dir)
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("making client for CustomResourceDefinitions: %w", err)
	}
	client := dyn.Resource(crdResource)
	var names []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading CustomResourceDefinition: %w", err)
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &crd.Object); err != nil {
			return fmt.Errorf("decoding %s: %w", file, err)
		}
		if variant == LightCRDs {
			lighten(crd)
		}
		if err := createCRD(ctx, client, crd); err != nil {
			return fmt.Errorf("applying %s: %w", file, err)
		}
		names = append(names, crd.GetName())
	}
	for _, name := range names {
		if err := awaitEstablished(ctx, client, name); err != nil {
			return err
		}
	}
	return nil
}

var policyResources = map[string]schema.GroupVersionResource{
	"ValidatingAdmissionPolicy":        {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
	"ValidatingAdmissionPolicyBinding": {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
}

// installPolicies creates the policies in the files of a folder, and their bindings.
func installPolicies(ctx context.Context, cfg *rest.Config, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return fmt.Errorf("finding policies in %s: %w", dir, err)
	}
	if len(files) == 0 {
		return fmt.Errorf("finding policies in %s: there are none", dir)
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("making client for policies: %w", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("reading policies: %w", err)
		}
		for document := range strings.SplitSeq(string(data), "\n---\n") {
			u := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &u.Object); err != nil {
				return fmt.Errorf("decoding %s: %w", file, err)
			}
			if len(u.Object) == 0 { // the comment at the top
				continue
			}
			if _, err := dyn.Resource(policyResources[u.GetKind()]).Create(ctx, u, metav1.CreateOptions{FieldManager: "controlplane"}); err != nil {
				return fmt.Errorf("applying %s: %w", file, err)
			}
		}
	}
	return nil
}

// awaitServed waits until clients can find the resources of all CustomResourceDefinitions.
func (e *Env) awaitServed(ctx context.Context) error {
	meta, err := metadata.NewForConfig(e.Config)
	if err != nil {
		return fmt.Errorf("making client for CustomResourceDefinitions: %w", err)
	}
	list, err := meta.Resource(crdResource).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing CustomResourceDefinitions: %w", err)
	}
	for i := range list.Items {
		resource := schema.ParseGroupResource(list.Items[i].Name)
		if err := e.awaitDiscovery(ctx, resource.String(), func(group string, r *metav1.APIResource) bool {
			return group == resource.Group && r.Name == resource.Resource
		}); err != nil {
			return err
		}
	}
	return nil
}

// lighten replaces the schema of each version with one that accepts every object.
func lighten(crd *unstructured.Unstructured) {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		v.(map[string]any)["schema"] = anyObject()
	}
	_ = unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")
}

// anyObject is the schema of a version that accepts every object.
func anyObject() map[string]any {
	return map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
}

// createCRD retries if the API server could not compile the rules within its request timeout of 34 seconds, on a busy machine.
func createCRD(ctx context.Context, client dynamic.ResourceInterface, crd *unstructured.Unstructured) error {
	for {
		_, err := client.Create(ctx, crd, metav1.CreateOptions{FieldManager: "controlplane"})
		switch {
		case err == nil || apierrors.IsAlreadyExists(err):
			return nil
		case !apierrors.IsTimeout(err) || ctx.Err() != nil:
			return err
		}
	}
}

func awaitEstablished(ctx context.Context, client dynamic.ResourceInterface, name string) error {
	for {
		crd, err := client.Get(ctx, name, metav1.GetOptions{})
		if err == nil && established(crd) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to be established: %w", name, errors.Join(ctx.Err(), err))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func established(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == "Established" && m["status"] == "True"
	})
}

// awaitPort waits until the API server's port accepts connections, or until it refuses them.
func (e *Env) awaitPort(open bool) error {
	u, err := url.Parse(e.Server)
	if err != nil {
		return fmt.Errorf("parsing server URL: %w", err)
	}
	for deadline := time.Now().Add(startLimit); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", u.Host, time.Second)
		if err == nil {
			_ = c.Close()
		}
		if (err == nil) == open {
			return nil
		}
	}
	return fmt.Errorf("API server's port did not change within %s", startLimit)
}
