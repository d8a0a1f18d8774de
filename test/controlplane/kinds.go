package controlplane

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

// InstallKind serves a namespaced kind of another project, with a status and no schema, until remove is called. Tests use
// it for kinds whose own definitions are not in this repository.
func (e *Env) InstallKind(ctx context.Context, kind schema.GroupVersionKind) (remove func() error, err error) {
	plural := strings.ToLower(kind.Kind) + "s"
	name := plural + "." + kind.Group
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1",
		"kind":       "CustomResourceDefinition",
		"metadata":   map[string]any{"name": name},
		"spec": map[string]any{
			"group": kind.Group,
			"scope": "Namespaced",
			"names": map[string]any{"kind": kind.Kind, "plural": plural, "singular": strings.ToLower(kind.Kind), "listKind": kind.Kind + "List"},
			"versions": []any{map[string]any{
				"name": kind.Version, "served": true, "storage": true,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema":       anyObject(),
			}},
		},
	}}
	dyn, err := dynamic.NewForConfig(e.Config)
	if err != nil {
		return nil, fmt.Errorf("making client for CustomResourceDefinitions: %w", err)
	}
	client := dyn.Resource(crdResource)
	if _, err := client.Create(ctx, crd, metav1.CreateOptions{FieldManager: "controlplane"}); err != nil {
		return nil, fmt.Errorf("installing %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := awaitEstablished(ctx, client, name); err != nil {
		return nil, err
	}
	if err := e.awaitDiscovery(ctx, kind.Kind, func(group string, r *metav1.APIResource) bool {
		return group == kind.Group && r.Kind == kind.Kind
	}); err != nil {
		return nil, err
	}
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), startLimit)
		defer cancel()
		if err := client.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("removing %s: %w", name, err)
		}
		for {
			_, err := client.Get(ctx, name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return nil
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("waiting for %s to go: %w", name, errors.Join(ctx.Err(), err))
			case <-time.After(20 * time.Millisecond):
			}
		}
	}, nil
}

// awaitDiscovery waits until clients can discover the wanted resource, which is possible a moment after its definition is established.
func (e *Env) awaitDiscovery(ctx context.Context, what string, wanted func(group string, r *metav1.APIResource) bool) error {
	found, err := discovery.NewDiscoveryClientForConfig(e.Config)
	if err != nil {
		return fmt.Errorf("making client for discovery: %w", err)
	}
	err = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		_, all, _ := found.ServerGroupsAndResources() // the next poll reads missing groups again
		return slices.ContainsFunc(all, func(l *metav1.APIResourceList) bool {
			version, err := schema.ParseGroupVersion(l.GroupVersion)
			return err == nil && slices.ContainsFunc(l.APIResources, func(r metav1.APIResource) bool { return wanted(version.Group, &r) })
		}), nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s to be found: %w", what, err)
	}
	return nil
}
