// Package crds installs CustomResourceDefinitions, and the policies that belong to them, from files.
package crds

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const definition = "CustomResourceDefinition"

// resources are the kinds that are installed.
var resources = map[string]schema.GroupVersionResource{
	definition:                         {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	"ValidatingAdmissionPolicy":        {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
	"ValidatingAdmissionPolicyBinding": {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
}

// Install applies every CustomResourceDefinition and policy in the YAML and JSON files of dir by server-side apply and waits until all definitions
// are established. It calls done for each of them as soon as it is established, and ignores other kinds.
func Install(ctx context.Context, cfg *rest.Config, dir string, done func(name string)) error {
	objects, err := Read(dir)
	if err != nil {
		return err
	}
	dyn, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("making client: %w", err)
	}
	var names []string
	group, applying := errgroup.WithContext(ctx)
	for _, o := range objects {
		group.Go(func() error {
			_, err := dyn.Resource(resources[o.GetKind()]).Apply(applying, o.GetName(), o, metav1.ApplyOptions{FieldManager: "raygate-local", Force: true})
			if err != nil {
				return fmt.Errorf("applying %s: %w", o.GetName(), err)
			}
			return nil
		})
		if o.GetKind() == definition {
			names = append(names, o.GetName())
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := waitEstablished(ctx, dyn.Resource(resources[definition]), name); err != nil {
			return err
		}
		done(name)
	}
	return nil
}

// Read returns the objects to install in the files of dir.
func Read(dir string) ([]*unstructured.Unstructured, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading CRD folder: %w", err)
	}
	var out []*unstructured.Unstructured
	for _, e := range entries {
		if e.IsDir() || !slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(e.Name()))) {
			continue
		}
		more, err := readFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

func readFile(path string) ([]*unstructured.Unstructured, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading CRDs: %w", err)
	}
	defer f.Close()
	var out []*unstructured.Unstructured
	for dec := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		o := &unstructured.Unstructured{}
		if err := dec.Decode(&o.Object); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("decoding %s: %w", path, err)
		}
		if _, known := resources[o.GetKind()]; known {
			out = append(out, o)
		}
	}
}

func waitEstablished(ctx context.Context, client dynamic.ResourceInterface, name string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		o, err := client.Get(ctx, name, metav1.GetOptions{})
		if err == nil && established(o) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to be established: %w", name, errors.Join(ctx.Err(), err))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func established(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == "Established" && m["status"] == "True"
	})
}
