package raycluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/operator/internal/gang"
	"github.com/raygate/raygate/operator/internal/gang/registry"
)

var (
	volcanoGroup = schema.GroupVersionKind{Group: "scheduling.volcano.sh", Version: "v1beta1", Kind: "PodGroup"}
	pluginsGroup = schema.GroupVersionKind{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Kind: "PodGroup"}
)

func withScheduler(s gang.Scheduler) func(*Config) { return func(c *Config) { c.Scheduler = s } }

func batchScheduler(name string) func(*Config) { return withScheduler(registry.Find(name)) }

// install makes a scheduler's API served until the end of the test.
func (w *world) install(name string) {
	w.T.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "schedulers", name+".yaml"))
	if err != nil {
		w.T.Fatal(err)
	}
	crd := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(data, &crd.Object); err != nil {
		w.T.Fatal(err)
	}
	w.Create(crd)
	w.T.Cleanup(func() {
		ctx := context.WithoutCancel(w.T.Context())
		if err := w.Client.Delete(ctx, crd); err != nil {
			w.T.Error(err)
		}
		w.Eventually("the end of "+crd.GetName(), func() bool {
			return apierrors.IsNotFound(w.Client.Get(ctx, client.ObjectKeyFromObject(crd), crd.DeepCopy()))
		})
	})
	w.Eventually(crd.GetName()+" to be served", func() bool {
		served := crd.DeepCopy()
		if err := w.Client.Get(w.T.Context(), client.ObjectKeyFromObject(crd), served); err != nil {
			return false
		}
		conditions, _, _ := unstructured.NestedSlice(served.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(c any) bool {
			m, ok := c.(map[string]any)
			return ok && m["type"] == "Established" && m["status"] == "True"
		})
	})
}

// foreign returns an object of a scheduler, nil if there is none.
func (w *world) foreign(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	w.T.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	err := w.Client.Get(context.WithoutCancel(w.T.Context()), client.ObjectKey{Namespace: w.Namespace, Name: name}, u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.T.Fatal(err)
	}
	return u
}

// eventuallyNumber waits until a number stands in an object of a scheduler.
func (w *world) eventuallyNumber(kind schema.GroupVersionKind, name string, want int64, path ...string) *unstructured.Unstructured {
	w.T.Helper()
	var u *unstructured.Unstructured
	w.Eventually(fmt.Sprintf("%s %s of %d in %s", kind.Kind, name, want, strings.Join(path, ".")), func() bool {
		if u = w.foreign(kind, name); u == nil {
			return false
		}
		got, _, _ := unstructured.NestedInt64(u.Object, path...)
		return got == want
	})
	return u
}
