package config_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/raygate/raygate/operator/internal/webhook"
	"github.com/raygate/raygate/operator/internal/webhook/certs"
)

// overlays are the installations that there are.
var overlays = []string{"default", "with-policies", "with-webhooks-cert-manager", "with-webhooks-self-managed"}

func hasWebhooks(overlay string) bool { return strings.HasPrefix(overlay, "with-webhooks-") }

// build renders an overlay as `kubectl kustomize` does, with CRDs whose schemas are left out: kustomize takes long over
// those and changes nothing in them. edit changes the text of the overlay first; nil leaves it.
func build(t *testing.T, overlay string, edit func(string) string) []*unstructured.Unstructured {
	t.Helper()
	if edit != nil {
		return rebuild(t, overlay, edit)
	}
	built.Lock()
	defer built.Unlock()
	if built.overlays[overlay] == nil {
		built.overlays[overlay] = rebuild(t, overlay, nil)
	}
	var out []*unstructured.Unstructured
	for _, obj := range built.overlays[overlay] {
		out = append(out, obj.DeepCopy())
	}
	return out
}

// built are the overlays as they are, which many tests ask for.
var built = struct {
	sync.Mutex
	overlays map[string][]*unstructured.Unstructured
}{overlays: map[string][]*unstructured.Unstructured{}}

func rebuild(t *testing.T, overlay string, edit func(string) string) []*unstructured.Unstructured {
	t.Helper()
	return render(t, overlay, func(path string, data []byte) []byte {
		switch {
		case edit != nil && path == filepath.Join(overlay, "kustomization.yaml"):
			return []byte(edit(string(data)))
		case strings.HasPrefix(path, "crd/bases/"):
			return withoutSchemas(data)
		}
		return data
	})
}

// withoutSchemas cuts the schemas out of a generated CRD. The type of the spec is the one that CEL reads anything from: without it, a controller manager
// takes a minute to list the wrong types in the policies.
func withoutSchemas(crd []byte) []byte {
	var out []byte
	for {
		before, schema, found := bytes.Cut(crd, []byte("\n    schema:\n"))
		if out = append(out, before...); !found {
			return out
		}
		out = append(out, "\n    schema: {openAPIV3Schema: {type: object, properties: {spec: {x-kubernetes-int-or-string: true}}}}\n    served:"...)
		_, crd, _ = bytes.Cut(schema, []byte("\n    served:"))
	}
}

func render(t *testing.T, overlay string, change func(path string, data []byte) []byte) []*unstructured.Unstructured {
	t.Helper()
	fs := filesys.MakeFsInMemory()
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return fs.WriteFile(filepath.Join("/config", path), change(path, data))
	})
	if err != nil {
		t.Fatal(err)
	}
	o := krusty.MakeDefaultOptions()
	o.Reorder = krusty.ReorderOptionLegacy // what others need first
	resources, err := krusty.MakeKustomizer(o).Run(fs, "/config/"+overlay)
	if err != nil {
		t.Fatalf("building %s: %v", overlay, err)
	}
	var out []*unstructured.Unstructured
	for _, r := range resources.Resources() {
		data, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, decode(t, data))
	}
	return out
}

// find returns the objects of a kind, as typed ones.
func find[T any](t testing.TB, objects []*unstructured.Unstructured, kind string) []*T {
	t.Helper()
	var out []*T
	for _, obj := range objects {
		if obj.GetKind() != kind {
			continue
		}
		typed := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, typed, true); err != nil {
			t.Fatalf("%s %s: %v", kind, obj.GetName(), err)
		}
		out = append(out, typed)
	}
	return out
}

func names(objects []*unstructured.Unstructured) []string {
	var out []string
	for _, obj := range objects {
		if obj.GetKind() != "CustomResourceDefinition" && !strings.HasPrefix(obj.GetKind(), "ValidatingAdmissionPolicy") && !strings.HasPrefix(obj.GetName(), "raygate-ray") {
			out = append(out, obj.GetKind()+" "+strings.TrimPrefix(obj.GetNamespace()+"/", "/")+obj.GetName())
		}
	}
	slices.Sort(out)
	return out
}

var (
	always = []string{
		"ClusterRole raygate-operator", "ClusterRole raygate-operator-token-auth",
		"ClusterRoleBinding raygate-operator", "ClusterRoleBinding raygate-operator-token-auth", "Deployment raygate-system/raygate-operator", "Namespace raygate-system", "NetworkPolicy raygate-system/raygate-operator",
		"PodDisruptionBudget raygate-system/raygate-operator", "Role raygate-system/raygate-operator-leader-election",
		"RoleBinding raygate-system/raygate-operator-leader-election", "Service raygate-system/raygate-operator-metrics", "ServiceAccount raygate-system/raygate-operator",
	}
	withWebhooks = []string{"MutatingWebhookConfiguration raygate-mutating-webhook", "Service raygate-system/raygate-webhook", "ValidatingWebhookConfiguration raygate-validating-webhook"}
)

// TestOverlays: what each installation consists of.
func TestOverlays(t *testing.T) {
	cases := map[string][]string{
		"default":       always,
		"with-policies": always, // and the policies, which the next test counts
		"with-webhooks-cert-manager": slices.Concat(always, withWebhooks, []string{
			"Certificate raygate-system/raygate-webhook-ca", "Certificate raygate-system/raygate-webhook-cert",
			"Issuer raygate-system/raygate-selfsigned", "Issuer raygate-system/raygate-webhook-ca",
		}),
		"with-webhooks-self-managed": slices.Concat(always, withWebhooks, []string{
			"ClusterRole raygate-operator-webhook-cert", "ClusterRoleBinding raygate-operator-webhook-cert", "Role raygate-system/raygate-operator-webhook-cert",
			"RoleBinding raygate-system/raygate-operator-webhook-cert",
		}),
	}
	for _, overlay := range overlays {
		t.Run(overlay, func(t *testing.T) {
			objects := build(t, overlay, nil)
			want := cases[overlay]
			slices.Sort(want)
			if diff := cmp.Diff(want, names(objects)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			if n := len(find[apiextensionsv1.CustomResourceDefinition](t, objects, "CustomResourceDefinition")); n != 4 {
				t.Errorf("%d CRDs, want 4", n)
			}
		})
	}
}

// Every policy of an overlay is bound: one that is not is never asked. All overlays have those on updates, which belong to the CRDs.
func TestPolicies(t *testing.T) {
	for _, overlay := range overlays {
		t.Run(overlay, func(t *testing.T) {
			bound := map[string]bool{}
			objects := build(t, overlay, nil)
			for _, b := range find[admissionregistrationv1.ValidatingAdmissionPolicyBinding](t, objects, "ValidatingAdmissionPolicyBinding") {
				bound[b.Spec.PolicyName] = true
			}
			others := 0
			for _, p := range find[admissionregistrationv1.ValidatingAdmissionPolicy](t, objects, "ValidatingAdmissionPolicy") {
				if !bound[p.Name] {
					t.Errorf("policy %s has no binding", p.Name)
				}
				if !strings.HasSuffix(p.Name, "-updates") {
					others++
				}
			}
			for _, crd := range find[apiextensionsv1.CustomResourceDefinition](t, objects, "CustomResourceDefinition") {
				if name := "raygate-" + crd.Spec.Names.Plural + "-updates"; !bound[name] {
					t.Errorf("policy %s is missing", name)
				}
			}
			if got, want := others > 0, overlay == "with-policies"; got != want {
				t.Errorf("%d optional policies", others)
			}
		})
	}
}

// TestRegistrationsOfOverlays: every path that is registered is served, with the settings that admission needs.
func TestRegistrationsOfOverlays(t *testing.T) {
	objects := build(t, "with-webhooks-self-managed", nil)
	validating := find[admissionregistrationv1.ValidatingWebhookConfiguration](t, objects, "ValidatingWebhookConfiguration")[0]
	mutating := find[admissionregistrationv1.MutatingWebhookConfiguration](t, objects, "MutatingWebhookConfiguration")[0]
	var got []string
	check := func(name string, c admissionregistrationv1.WebhookClientConfig, rules []admissionregistrationv1.RuleWithOperations, failure *admissionregistrationv1.FailurePolicyType,
		match *admissionregistrationv1.MatchPolicyType, effects *admissionregistrationv1.SideEffectClass, timeout *int32, conditions []admissionregistrationv1.MatchCondition) {
		t.Helper()
		got = append(got, *c.Service.Path+" "+strings.Join(rules[0].Resources, ","))
		if len(rules) != 1 || len(rules[0].Resources) != 1 || !slices.Equal(rules[0].APIVersions, []string{"v1"}) || !slices.Equal(rules[0].APIGroups, []string{"ray.io"}) || len(rules[0].Operations) != 2 {
			t.Errorf("%s: rules %+v", name, rules)
		}
		if *failure != admissionregistrationv1.Ignore || *match != admissionregistrationv1.Equivalent || *effects != admissionregistrationv1.SideEffectClassNone || *timeout != 5 {
			t.Errorf("%s: failurePolicy %s, matchPolicy %s, sideEffects %s, timeout %d", name, *failure, *match, *effects, *timeout)
		}
		if !slices.ContainsFunc(conditions, func(m admissionregistrationv1.MatchCondition) bool { return m.Name == "not-being-deleted" }) {
			t.Errorf("%s is called for objects that are being deleted", name)
		}
	}
	for _, w := range validating.Webhooks {
		check(w.Name, w.ClientConfig, w.Rules, w.FailurePolicy, w.MatchPolicy, w.SideEffects, w.TimeoutSeconds, w.MatchConditions)
	}
	for _, w := range mutating.Webhooks {
		check(w.Name, w.ClientConfig, w.Rules, w.FailurePolicy, w.MatchPolicy, w.SideEffects, w.TimeoutSeconds, w.MatchConditions)
	}
	var want []string
	for kind, resource := range map[string]string{"RayCluster": "rayclusters", "RayJob": "rayjobs", "RayService": "rayservices", "RayCronJob": "raycronjobs"} {
		want = append(want, webhook.ValidatePath(kind)+" "+resource)
		if slices.Contains(certs.CRDs, resource+".ray.io") { // of which there is an old version, whose writes lack fields
			want = append(want, webhook.MutatePath(kind)+" "+resource)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
}

// TestConversionOfServedVersions: with webhooks, every CRD with two versions converts by webhook; without, none does.
func TestConversionOfServedVersions(t *testing.T) {
	for _, overlay := range overlays {
		var converted []string
		for _, crd := range find[apiextensionsv1.CustomResourceDefinition](t, build(t, overlay, nil), "CustomResourceDefinition") {
			if crd.Spec.Conversion == nil {
				continue
			}
			converted = append(converted, crd.Name)
			if len(crd.Spec.Versions) < 2 {
				t.Errorf("%s: %s converts its only version", overlay, crd.Name)
			}
			w := crd.Spec.Conversion.Webhook
			if crd.Spec.Conversion.Strategy != apiextensionsv1.WebhookConverter || *w.ClientConfig.Service.Path != webhook.ConvertPath || !slices.Equal(w.ConversionReviewVersions, []string{"v1"}) {
				t.Errorf("%s: conversion of %s is %+v", overlay, crd.Name, crd.Spec.Conversion)
			}
		}
		slices.Sort(converted)
		want := certs.CRDs
		if !hasWebhooks(overlay) {
			want = nil
		}
		if diff := cmp.Diff(want, converted); diff != "" {
			t.Errorf("%s: CRDs with a conversion webhook (-want +got):\n%s", overlay, diff)
		}
	}
}

// The Pod must be admitted where the Pod security standard "restricted" rules, and find its certificate.
func TestDeployment(t *testing.T) {
	for _, overlay := range overlays {
		t.Run(overlay, func(t *testing.T) {
			d := find[appsv1.Deployment](t, build(t, overlay, nil), "Deployment")[0]
			c := d.Spec.Template.Spec.Containers[0]
			webhooks := hasWebhooks(overlay)
			var mounted *corev1.SecretVolumeSource
			for _, v := range d.Spec.Template.Spec.Volumes {
				if v.Secret != nil && v.Secret.SecretName == "raygate-webhook-cert" {
					mounted = v.Secret
				}
			}
			if (mounted != nil) != webhooks {
				t.Errorf("the Secret of the certificate is mounted: %t", mounted != nil)
			}
			// The Pod that creates a deleted Secret must not wait for it; one that cannot must.
			if optional := mounted != nil && mounted.Optional != nil && *mounted.Optional; optional != (overlay == "with-webhooks-self-managed") {
				t.Errorf("the Pod starts without the Secret: %t", optional)
			}
			env := fmt.Sprint(c.Env)
			if got := strings.Contains(env, "ENABLE_WEBHOOKS"); got != webhooks {
				t.Errorf("environment %s", env)
			}
			if got := slices.Contains(c.Args, "--webhook-self-managed-certs"); got != (overlay == "with-webhooks-self-managed") {
				t.Errorf("arguments %v", c.Args)
			}
			if webhooks && (*d.Spec.Replicas < 2 || d.Spec.Strategy.RollingUpdate.MaxUnavailable.String() != "0" || d.Spec.Template.Spec.Affinity == nil) {
				t.Errorf("%d replicas, strategy %+v: webhooks would be down during a roll-out", *d.Spec.Replicas, d.Spec.Strategy)
			}
		})
	}
}

// Changing the namespace in the overlay must reach everything that names it.
func TestNamespaceIsOneLine(t *testing.T) {
	for _, overlay := range overlays {
		objects := build(t, overlay, func(s string) string {
			return strings.Replace(s, "namespace: raygate-system", "namespace: elsewhere", 1)
		})
		namespaceFollows(t, overlay, objects)
	}
}

// namespaceFollows looks for the namespace of the manifests in objects that were built for another.
func namespaceFollows(t *testing.T, overlay string, objects []*unstructured.Unstructured) {
	t.Helper()
	for _, obj := range objects {
		data, err := obj.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		if i := bytes.Index(data, []byte("raygate-system")); i >= 0 {
			t.Errorf("%s: %s %s still says ...%s...", overlay, obj.GetKind(), obj.GetName(), data[max(0, i-60):min(len(data), i+40)])
		}
	}
}

// TestRightsOnConfigurations: the operator may change only its own configurations and CRDs, by name.
func TestRightsOnConfigurations(t *testing.T) {
	for _, overlay := range overlays {
		for _, role := range find[rbacv1.ClusterRole](t, build(t, overlay, nil), "ClusterRole") {
			for _, rule := range role.Rules {
				sensitive := slices.Contains(rule.APIGroups, "admissionregistration.k8s.io") || slices.Contains(rule.APIGroups, "apiextensions.k8s.io")
				if !sensitive {
					continue
				}
				if overlay != "with-webhooks-self-managed" {
					t.Errorf("%s: %s may touch %v", overlay, role.Name, rule.Resources)
				}
				writes := slices.ContainsFunc(rule.Verbs, func(v string) bool { return !slices.Contains([]string{"get", "list", "watch"}, v) })
				if writes && len(rule.ResourceNames) == 0 {
					t.Errorf("%s: %s may %v any of %v", overlay, role.Name, rule.Verbs, rule.Resources)
				}
			}
		}
	}
}

// TestRightsOnTheCertificateSecret: the operator creates the Secret of its certificate anew, which RBAC cannot limit to a name, so that
// the right ends with its own namespace.
func TestRightsOnTheCertificateSecret(t *testing.T) {
	objects := build(t, "with-webhooks-self-managed", nil)
	for _, role := range find[rbacv1.ClusterRole](t, objects, "ClusterRole") {
		if role.Name != "raygate-operator-webhook-cert" {
			continue
		}
		if slices.ContainsFunc(role.Rules, func(r rbacv1.PolicyRule) bool { return slices.Contains(r.Resources, "secrets") }) {
			t.Errorf("%s has rights on Secrets of all namespaces: %v", role.Name, role.Rules)
		}
	}
	creates := false
	for _, role := range find[rbacv1.Role](t, objects, "Role") {
		if role.Name != "raygate-operator-webhook-cert" {
			continue
		}
		for _, rule := range role.Rules {
			creates = creates || slices.Contains(rule.Verbs, "create") && len(rule.ResourceNames) == 0
			for _, verb := range []string{"update", "patch", "delete"} {
				if slices.Contains(rule.Verbs, verb) && !slices.Equal(rule.ResourceNames, []string{"raygate-webhook-cert"}) {
					t.Errorf("%s may %s Secrets of any name", role.Name, verb)
				}
			}
		}
	}
	if !creates {
		t.Error("the operator cannot create the Secret of its certificate")
	}
}

// TestNoCertificateOutlivesItsCA: cert-manager renews a CA so early that what it has signed ends before it.
func TestNoCertificateOutlivesItsCA(t *testing.T) {
	lasts := func(o *unstructured.Unstructured, field string) time.Duration {
		t.Helper()
		text, _, _ := unstructured.NestedString(o.Object, "spec", field)
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			t.Errorf("%s: %s is %q", o.GetName(), field, text)
		}
		return d
	}
	certificates := map[string]*unstructured.Unstructured{}
	for _, o := range build(t, "with-webhooks-cert-manager", nil) {
		if o.GetKind() == "Certificate" {
			certificates[o.GetName()] = o
		}
	}
	ca, leaf := certificates["raygate-webhook-ca"], certificates["raygate-webhook-cert"]
	if before, most := lasts(ca, "renewBefore"), lasts(leaf, "duration"); before < most || lasts(leaf, "renewBefore") >= most {
		t.Errorf("the certificate lasts %s, and its CA is renewed %s before its end", most, before)
	}
}
