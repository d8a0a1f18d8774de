package kubernetes

import (
	"context"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// TestDefaultsOfTheVersionOfTheRequest shows what versions with unlike defaults would do: what is stored depends on
// the version that the client wrote. TestSharedFieldsHaveTheSameDefaultsAndEnums keeps ours alike.
func TestDefaultsOfTheVersionOfTheRequest(t *testing.T) {
	t.Parallel()
	c := connect(t)
	crd := fixture(t, "twins", "{type: object}")
	of := func(value string) map[string]any {
		return parse(t, "{type: object, properties: {spec: {type: object, properties: {a: {type: string, default: "+value+"}}}}}")
	}
	setSchemas(t, crd, of("first"), of("second"))
	client := c.installCRD(t, crd)
	second := c.dynamic.Resource(schema.GroupVersionResource{Group: "fixtures.example.com", Version: "v2", Resource: "twins"}).Namespace(namespace)
	for name, want := range map[string]string{"one": "first", "two": "second"} {
		u, at := thing(t, "twins", name, "{}"), client
		if want == "second" {
			u.SetAPIVersion("fixtures.example.com/v2")
			at = second
		}
		if _, err := at.Create(t.Context(), u, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(c.stored(t, "fixtures.example.com/twins", name)["spec"]); got != "map[a:"+want+"]" {
			t.Errorf("stored %s through the version of the default %s", got, want)
		}
	}
}

// TestDefaultsOnStoredObjects: a new default shows on objects that were stored before it and reaches etcd with
// their next write, and a changed default changes what those mean that were not written since. The generation says
// nothing of all this.
func TestDefaultsOnStoredObjects(t *testing.T) {
	t.Parallel()
	c := connect(t)
	with := func(more string) string {
		return "{type: object, properties: {a: {type: string}, b: {type: string" + more + "}}}"
	}
	client := c.install(t, "olds", with(""))
	for _, name := range []string{"written", "untouched"} {
		if _, err := client.Create(t.Context(), thing(t, "olds", name, "{a: x}"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	seen := func(ctx context.Context, name string) string {
		u, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(u.Object["spec"], u.GetGeneration())
	}
	inEtcd := func(name string) string { return fmt.Sprint(c.stored(t, "fixtures.example.com/olds", name)["spec"]) }

	c.changeFixture(t, "olds", with(", default: new"))
	eventually(t, "the default", func(ctx context.Context) bool { return seen(ctx, "written") == "map[a:x b:new] 1" })
	if got := inEtcd("written"); got != "map[a:x]" {
		t.Errorf("reading it stored %s", got)
	}
	if _, err := client.Patch(t.Context(), "written", types.MergePatchType, []byte(`{"metadata":{"labels":{"l":"v"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := inEtcd("written"); got != "map[a:x b:new]" {
		t.Errorf("a label stored %s, want the default too", got)
	}

	c.changeFixture(t, "olds", with(", default: newer"))
	eventually(t, "the changed default", func(ctx context.Context) bool { return seen(ctx, "untouched") == "map[a:x b:newer] 1" })
	if got := seen(t.Context(), "written"); got != "map[a:x b:new] 1" {
		t.Errorf("the object that was written shows %s", got)
	}
}

// TestRemovedFieldsAreHidden: a field that a schema loses is gone for clients at once and from etcd with the next
// write. So none is ever removed from ours; TestSchemaConstraints and TestV1Alpha1IsFrozen see to that.
func TestRemovedFieldsAreHidden(t *testing.T) {
	t.Parallel()
	c := connect(t)
	const with, without = "{type: object, properties: {a: {type: string}, b: {type: string}}}", "{type: object, properties: {a: {type: string}}}"
	client := c.install(t, "shelves", with)
	for _, name := range []string{"untouched", "written"} {
		if _, err := client.Create(t.Context(), thing(t, "shelves", name, "{a: x, b: x}"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	seen := func(ctx context.Context, name string) string {
		u, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(u.Object["spec"])
	}
	inEtcd := func(name string) string { return fmt.Sprint(c.stored(t, "fixtures.example.com/shelves", name)["spec"]) }
	c.changeFixture(t, "shelves", without)
	eventually(t, "the field to go", func(ctx context.Context) bool { return seen(ctx, "untouched") == "map[a:x]" })
	if got := inEtcd("untouched"); got != "map[a:x b:x]" {
		t.Errorf("etcd has %s, want what was stored", got)
	}
	if _, err := client.Patch(t.Context(), "written", types.MergePatchType, []byte(`{"metadata":{"labels":{"l":"v"}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := inEtcd("written"); got != "map[a:x]" {
		t.Errorf("etcd has %s after a write, want the field to be gone", got)
	}
	c.changeFixture(t, "shelves", with)
	eventually(t, "the field to come back", func(ctx context.Context) bool { return seen(ctx, "untouched") == "map[a:x b:x]" })
	if got := seen(t.Context(), "written"); got != "map[a:x]" {
		t.Errorf("the object that was written has %s", got)
	}
}
