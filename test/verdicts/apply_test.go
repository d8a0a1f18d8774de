package verdicts

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/internal/testing/programs"
)

var rayclusters = schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayclusters"}

const gitops, rayAutoscaler = "gitops", "ray-autoscaler"

// applySpec sends what a manager wants of a cluster by server-side apply.
func applySpec(ctx context.Context, name, manager, spec string) error {
	content, err := parseYAML(spec)
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": map[string]any{"name": name}, "spec": content,
	}}
	_, err = resourceOf("rayclusters").Apply(ctx, name, u, metav1.ApplyOptions{FieldManager: manager})
	return err
}

// scale does what the autoscaler of Ray does: it finds the group in the list that it read, and patches by index.
func scale(ctx context.Context, name, group string, replicas int) error {
	u, err := resourceOf("rayclusters").Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	groups, _, _ := unstructured.NestedSlice(u.Object, "spec", "workerGroupSpecs")
	for i, g := range groups {
		if g.(map[string]any)["groupName"] == group {
			body := fmt.Sprintf(`[{"op":"replace","path":"/spec/workerGroupSpecs/%d/replicas","value":%d}]`, i, replicas)
			_, err := resourceOf("rayclusters").Patch(ctx, name, types.JSONPatchType, []byte(body), metav1.PatchOptions{FieldManager: rayAutoscaler})
			return err
		}
	}
	return fmt.Errorf("no group %s", group)
}

// groupsOf is each group as name, image and replicas, in order.
func groupsOf(t *testing.T, name string) string {
	t.Helper()
	u, err := resourceOf("rayclusters").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	groups, _, _ := unstructured.NestedSlice(u.Object, "spec", "workerGroupSpecs")
	var out []string
	for _, g := range groups {
		g := g.(map[string]any)
		containers, _, _ := unstructured.NestedSlice(g, "template", "spec", "containers")
		image := ""
		if len(containers) > 0 {
			image = fmt.Sprint(containers[0].(map[string]any)["image"])
		}
		out = append(out, fmt.Sprintf("%s %s %v", g["groupName"], image, g["replicas"]))
	}
	return strings.Join(out, ", ")
}

func groupOf(name, image, more string) string {
	return "{groupName: " + name + ", maxReplicas: 10, template: {spec: {containers: [{name: ray, image: " + image + "}]}}" + more + "}"
}

// TestApplyGroupsBesideTheAutoscaler: a manager that applies clusters owns the groups but for their replicas, which the autoscaler
// owns since it set them. Neither undoes what the other did, and groups come and go by apply.
func TestApplyGroupsBesideTheAutoscaler(t *testing.T) {
	needLab(t)
	const name = "two-managers"
	for _, step := range []struct {
		what    string
		do      func(context.Context) error
		want    string
		refusal string
	}{
		{what: "a cluster", do: byGitOps(name, groupOf("a", "v1", ""), groupOf("b", "v1", "")), want: "a v1 0, b v1 0"},
		{what: "the autoscaler scales", do: func(ctx context.Context) error { return scale(ctx, name, "a", 3) }, want: "a v1 3, b v1 0"},
		{what: "a new template", do: byGitOps(name, groupOf("a", "v2", ""), groupOf("b", "v1", "")), want: "a v2 3, b v1 0"},
		{what: "another order", do: byGitOps(name, groupOf("b", "v1", ""), groupOf("a", "v2", "")), want: "b v1 0, a v2 3"},
		{what: "a group more, in front", do: byGitOps(name, groupOf("c", "v1", ""), groupOf("b", "v1", ""), groupOf("a", "v2", "")), want: "c v1 0, b v1 0, a v2 3"},
		{what: "the autoscaler scales by index", do: func(ctx context.Context) error { return scale(ctx, name, "c", 2) }, want: "c v1 2, b v1 0, a v2 3"},
		{what: "a group less", do: byGitOps(name, groupOf("c", "v1", ""), groupOf("a", "v2", "")), want: "c v1 2, a v2 3"},
		{what: "a group less that was scaled", do: byGitOps(name, groupOf("c", "v1", "")), want: "c v1 2"},
		{what: "two groups of one name", do: byGitOps(name, groupOf("c", "v1", ""), groupOf("c", "v2", "")), want: "c v1 2", refusal: "duplicate entries for key"},
		{what: "replicas that the autoscaler owns", do: byGitOps(name, groupOf("c", "v1", ", replicas: 9")), want: "c v1 2", refusal: `conflict with "ray-autoscaler"`},
		{what: "the same replicas", do: byGitOps(name, groupOf("c", "v1", ", replicas: 2")), want: "c v1 2"},
		// The API server makes null of a list that loses its last item to two owners. docs/raycluster.md says what to do.
		{what: "no group at all", do: byGitOps(name), want: "c v1 2", refusal: "spec.workerGroupSpecs in body must be of type array"},
		{what: "the last group taken away by a patch", do: func(ctx context.Context) error {
			_, err := resourceOf("rayclusters").Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"workerGroupSpecs":null}}`), metav1.PatchOptions{})
			return err
		}, want: ""},
		{what: "no group at all, then", do: byGitOps(name), want: ""},
	} {
		wantRefusal(t, step.what, step.do(t.Context()), step.refusal)
		if got := groupsOf(t, name); got != step.want {
			t.Fatalf("%s: the groups are %q, want %q", step.what, got, step.want)
		}
	}
}

// TestApplyByAnAutoscaler: one that applies, instead of patching, holds on to its groups. It cannot make a group, and a
// group goes only after both have let go, since half of one is invalid.
func TestApplyByAnAutoscaler(t *testing.T) {
	needLab(t)
	const name = "two-appliers"
	scaled := func(spec string) func(context.Context) error {
		return func(ctx context.Context) error { return applySpec(ctx, name, rayAutoscaler, spec) }
	}
	for _, step := range []struct {
		what    string
		do      func(context.Context) error
		want    string
		refusal string
	}{
		{what: "a cluster", do: byGitOps(name, groupOf("a", "v1", ""), groupOf("b", "v1", "")), want: "a v1 0, b v1 0"},
		{what: "the autoscaler scales", do: scaled("{workerGroupSpecs: [{groupName: b, replicas: 2}]}"), want: "a v1 0, b v1 2"},
		{what: "a new template", do: byGitOps(name, groupOf("a", "v1", ""), groupOf("b", "v2", "")), want: "a v1 0, b v2 2"},
		{what: "a group that nobody described", do: scaled("{workerGroupSpecs: [{groupName: b, replicas: 2}, {groupName: x, replicas: 1}]}"), want: "a v1 0, b v2 2", refusal: "spec.workerGroupSpecs[2].template: Required value"},
		{what: "a group less that the autoscaler holds", do: byGitOps(name, groupOf("a", "v1", "")), want: "a v1 0, b v2 2", refusal: "spec.workerGroupSpecs[1].template: Required value"},
		{what: "the autoscaler lets go", do: scaled("{}"), want: "a v1 0, b v2 0"},
		{what: "now it goes", do: byGitOps(name, groupOf("a", "v1", "")), want: "a v1 0"},
	} {
		wantRefusal(t, step.what, step.do(t.Context()), step.refusal)
		if got := groupsOf(t, name); got != step.want {
			t.Fatalf("%s: the groups are %q, want %q", step.what, got, step.want)
		}
	}
}

// TestApplyAcrossTheChangeOfCRDs: with KubeRay's CRD the groups are one value, which the rayAutoscaler takes over when it scales;
// an apply then conflicts. With ours, the same manifests apply again to what is stored.
func TestApplyAcrossTheChangeOfCRDs(t *testing.T) {
	needLab(t)
	manifest := []string{groupOf("a", "v1", ""), groupOf("b", "v1", "")}
	wantRefusal(t, "the same again, in a plain list", past.conflict, "conflict with \"ray-autoscaler\" using ray.io/v1: .spec.workerGroupSpecs")
	before, err := resourceOf("rayclusters").Get(t.Context(), "moved", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wantRefusal(t, "the same again, in a list of groups", byGitOps("moved", manifest...)(t.Context()), "")
	after, err := resourceOf("rayclusters").Get(t.Context(), "moved", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if after.GetGeneration() != before.GetGeneration() {
		t.Errorf("the generation went from %d to %d, though nothing changed", before.GetGeneration(), after.GetGeneration())
	}
	wantRefusal(t, "a group less", byGitOps("moved", groupOf("a", "v2", ""))(t.Context()), "")
	if got := groupsOf(t, "moved"); got != "a v2 3" {
		t.Errorf("the groups are %q", got)
	}
	// The first apply after the change cannot remove a group: what was owned is the list. docs/raycluster.md says so.
	wantRefusal(t, "a group less at once", byGitOps("dropping", groupOf("a", "v1", ""))(t.Context()), "")
	if got := groupsOf(t, "dropping"); got != "a v1 0, b v1 0" {
		t.Errorf("the groups are %q", got)
	}
}

func byGitOps(name string, groups ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		return applySpec(ctx, name, gitops, "{headGroupSpec: {template: {spec: {containers: [{name: ray, image: head}]}}}, workerGroupSpecs: ["+strings.Join(groups, ", ")+"]}")
	}
}

// kubectl runs kubectl on the tests' API server.
func kubectl(t *testing.T, input string, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), await.Limit)
	defer cancel()
	limit := "--request-timeout=" + await.Limit.String() // by itself kubectl gives the API server 32 s for its OpenAPI document, which a busy machine may exceed
	cmd := exec.CommandContext(ctx, programs.Binary("k8s/kubectl"), append([]string{limit}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+lab.Kubeconfig)
	cmd.Stdin = strings.NewReader(input)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func mustKubectl(t *testing.T, input string, args ...string) string {
	t.Helper()
	out, errs, err := kubectl(t, input, args...)
	if err != nil {
		t.Fatalf("kubectl %v: %v: %s", args, err, errs)
	}
	return out
}

// TestApplySamplesByKubectl: applying a sample again changes nothing, and neither does applying what `kubectl get` prints,
// by the server or by the client.
func TestApplySamplesByKubectl(t *testing.T) {
	needLab(t)
	const ns = "samples"
	if _, err := lab.core.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	state := func(what func(*unstructured.Unstructured) string) map[string]string {
		t.Helper()
		list, err := lab.dynamic.Resource(rayclusters).Namespace(ns).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for _, u := range list.Items {
			all[u.GetName()] = what(&u)
		}
		if len(all) < 20 {
			t.Fatalf("%d clusters, want one for each sample", len(all))
		}
		return all
	}
	version := func(u *unstructured.Unstructured) string { return u.GetResourceVersion() }
	meaning := func(u *unstructured.Unstructured) string { return fmt.Sprint(u.GetGeneration(), u.Object["spec"]) }

	samples := []string{"apply", "--server-side", "--validate=strict", "-n", ns, "-f", "../../samples"}
	mustKubectl(t, "", samples...)
	first, spec := state(version), state(meaning)
	mustKubectl(t, "", samples...)
	if diff := cmp.Diff(first, state(version)); diff != "" {
		t.Errorf("applying the samples again wrote (-before +after):\n%s", diff)
	}
	printed := mustKubectl(t, "", "get", "rayclusters", "-n", ns, "-o", "yaml")
	for _, by := range [][]string{{"--server-side"}, nil, {"--server-side", "--force-conflicts", "--field-manager=somebody-else"}} {
		mustKubectl(t, strings.ReplaceAll(printed, "\n    resourceVersion:", "\n    # resourceVersion:"), append([]string{"apply", "--validate=strict", "-f", "-"}, by...)...)
		if diff := cmp.Diff(spec, state(meaning)); diff != "" {
			t.Errorf("applying what get prints, with %q, changed (-before +after):\n%s", by, diff)
		}
	}
}
