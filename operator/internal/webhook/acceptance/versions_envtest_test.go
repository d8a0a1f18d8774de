package acceptance

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/suite"
)

// withVersions is used by clean-up too, when the context of the test has ended; it returns the CRD of RayCluster with its versions changed.
func withVersions(t *testing.T, c *client, edit func(name string, version map[string]any)) *unstructured.Unstructured {
	t.Helper()
	crd, err := c.dyn.Resource(crds).Get(context.Background(), "rayclusters.ray.io", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range field(t, crd.Object, "spec", "versions").([]any) {
		v := v.(map[string]any)
		edit(v["name"].(string), v)
	}
	return crd
}

// changeVersions does the same to the installed CRD, which others write to as well.
func changeVersions(t *testing.T, c *client, edit func(name string, version map[string]any)) {
	t.Helper()
	await.NoError(t, "the change of the CRD", func() error {
		_, err := c.dyn.Resource(crds).Update(context.Background(), withVersions(t, c, edit), metav1.UpdateOptions{})
		return err
	})
}

func storeAs(version string) func(string, map[string]any) {
	return func(name string, v map[string]any) { v["storage"] = name == version }
}

// withoutOld is the CRD of a release that has dropped v1alpha1.
func withoutOld(t *testing.T, c *client) *unstructured.Unstructured {
	t.Helper()
	crd := withVersions(t, c, func(string, map[string]any) {})
	var kept []any
	for _, v := range field(t, crd.Object, "spec", "versions").([]any) {
		if v.(map[string]any)["name"] == hub {
			kept = append(kept, v)
		}
	}
	crd.Object["spec"].(map[string]any)["versions"] = kept
	return crd
}

// TestMigration goes the way of docs/webhooks.md with objects that an old release stored as v1alpha1: write each of
// them once, take the version off the list, and only then drop it.
func TestMigration(t *testing.T) {
	suite.All(t, "rewrites all objects and restarts the API server")
	c := connect(t)
	ns := newNamespace(t)
	dryRun := metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}
	both := withVersions(t, c, func(_ string, v map[string]any) { v["storage"] = true })
	if _, err := c.dyn.Resource(crds).Update(t.Context(), both, dryRun); !apierrors.IsInvalid(err) {
		t.Errorf("A1: two versions that are stored: %v, want a refusal", err)
	}

	changeVersions(t, c, storeAs(old))
	t.Cleanup(func() { changeVersions(t, c, storeAs(hub)) })
	n := 0
	await.NoError(t, "objects to be stored as v1alpha1", func() error {
		n++
		name := fmt.Sprint("c-", n)
		create(t, c, "rayclusters", ns, cluster(name))
		if got := stored(t, "rayclusters", ns, name)["apiVersion"]; got != "ray.io/v1alpha1" {
			return fmt.Errorf("stored as %v", got)
		}
		return nil
	})
	last := fmt.Sprint("c-", n)

	changeVersions(t, c, storeAs(hub))
	list := func() []any {
		crd := withVersions(t, c, func(string, map[string]any) {})
		return field(t, crd.Object, "status", "storedVersions").([]any)
	}
	if got := list(); len(got) != 2 {
		t.Errorf("stored versions %v, want both", got)
	}
	if _, err := c.dyn.Resource(crds).Update(t.Context(), withoutOld(t, c), dryRun); !apierrors.IsInvalid(err) {
		t.Errorf("dropping a version that is stored: %v, want a refusal", err)
	}

	await.NoError(t, "all objects to be stored as v1", func() error {
		more := ""
		for {
			page, err := c.clusters(hub, "").List(t.Context(), metav1.ListOptions{Limit: 2, Continue: more})
			if err != nil {
				return err
			}
			for i := range page.Items {
				obj := &page.Items[i]
				if _, err := c.clusters(hub, obj.GetNamespace()).Update(t.Context(), obj, metav1.UpdateOptions{}); err != nil {
					return fmt.Errorf("writing %s: %w", obj.GetName(), err)
				}
			}
			if more = page.GetContinue(); more == "" {
				break
			}
		}
		// An API server that learns late that v1 is the storage version still writes v1alpha1 for a moment.
		if got := stored(t, "rayclusters", ns, last); got["apiVersion"] != "ray.io/v1" {
			return fmt.Errorf("stored as %v", got["apiVersion"])
		}
		return nil
	})
	got := stored(t, "rayclusters", ns, last)
	if field(t, got, "metadata", "annotations") != nil || field(t, got, "spec", "managedBy") == nil || field(t, got, "spec", "headGroupSpec", "labels", "zone") != "north" {
		t.Errorf("stored with annotations %v and spec %v", field(t, got, "metadata", "annotations"), got["spec"])
	}
	if field(t, got, "metadata", "generation") != float64(1) {
		t.Errorf("generation %v; controllers would see a change", field(t, got, "metadata", "generation"))
	}
	if _, err := c.dyn.Resource(crds).Patch(t.Context(), "rayclusters.ray.io", types.MergePatchType, []byte(`{"status":{"storedVersions":["v1"]}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.dyn.Resource(crds).Update(t.Context(), withoutOld(t, c), dryRun); err != nil {
		t.Errorf("dropping a version that nothing is stored in: %v", err)
	}
}
