package chart

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// kustomize renders an overlay, such as operator/config/default. Components are added to those that it has; schemas of CRDs, which kustomize takes long over and
// does not change, are left out. The namespace is that of the overlay, in whose kustomization it is changed in one line.
func kustomize(t *testing.T, namespace, overlay string, components ...string) []*unstructured.Unstructured {
	t.Helper()
	fs := filesys.MakeFsInMemory()
	for _, config := range []string{"operator/config", "apiserver/config"} {
		err := filepath.WalkDir(filepath.Join(root, config), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			if strings.Contains(name, "crd/bases/") {
				crd := decode(t, data)
				withoutSchemas(crd)
				if data, err = yaml.Marshal(crd.Object); err != nil {
					return err
				}
			}
			if name == overlay+"/kustomization.yaml" {
				data = withComponents(t, data, namespace, components)
			}
			return fs.WriteFile("/"+name, data)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, "/"+overlay)
	if err != nil {
		t.Fatalf("building %s: %v", overlay, err)
	}
	var out []*unstructured.Unstructured
	for _, r := range built.Resources() {
		data, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, decode(t, data))
	}
	return out
}

// withComponents adds components to a kustomization, before those of certificates, as their documentation says, and sets its namespace.
func withComponents(t *testing.T, data []byte, namespace string, components []string) []byte {
	t.Helper()
	k := map[string]any{}
	if err := yaml.Unmarshal(data, &k); err != nil {
		t.Fatal(err)
	}
	own, _ := k["components"].([]any)
	for _, c := range components {
		own = append(own, c)
	}
	k["components"], k["namespace"] = own, namespace
	out, err := yaml.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func withoutSchemas(crd *unstructured.Unstructured) {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		v.(map[string]any)["schema"] = map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}
	}
	crd.Object["spec"].(map[string]any)["versions"] = versions
}

// ours are the labels that the chart gives to every object; kustomize gives those of them that something selects by.
var ours = []string{"app.kubernetes.io/name", "app.kubernetes.io/component", "app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"}

// comparable makes an object of the chart what kustomize would have written, given the object of kustomize: it takes away what only Helm needs.
func comparable(t *testing.T, chart, kustomize *unstructured.Unstructured) {
	t.Helper()
	labels := chart.GetLabels()
	for name, want := range kustomize.GetLabels() {
		if labels[name] != want {
			t.Errorf("%s: label %s is %q, want %q", key(chart), name, labels[name], want)
		}
		delete(labels, name)
	}
	for name := range labels {
		if !slices.Contains(ours, name) {
			t.Errorf("%s: label %s", key(chart), name)
		}
	}
	chart.SetLabels(kustomize.GetLabels())
	if chart.GetKind() == "CustomResourceDefinition" {
		withoutSchemas(chart)
		annotations := chart.GetAnnotations()
		delete(annotations, "helm.sh/resource-policy")
		chart.SetAnnotations(annotations)
		// Written out, since an upgrade that turns webhooks off must say so; without it the API server fills in the same.
		if strategy, _, _ := unstructured.NestedString(chart.Object, "spec", "conversion", "strategy"); strategy == "None" {
			unstructured.RemoveNestedField(chart.Object, "spec", "conversion")
		}
	}
	if chart.GetKind() == "Deployment" {
		sorted(chart)
		sorted(kustomize)
	}
	for _, o := range []*unstructured.Unstructured{chart, kustomize} { // a patch of kustomize moves a webhook, which means nothing
		if webhooks, ok := o.Object["webhooks"].([]any); ok {
			slices.SortFunc(webhooks, func(a, b any) int {
				return strings.Compare(a.(map[string]any)["name"].(string), b.(map[string]any)["name"].(string))
			})
		}
	}
}

// sorted puts the arguments and the ports of a Deployment in order, which means nothing in them, and takes away empty lists.
func sorted(deployment *unstructured.Unstructured) {
	pod := deployment.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	container := pod["containers"].([]any)[0].(map[string]any)
	slices.SortFunc(container["args"].([]any), func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	slices.SortFunc(container["ports"].([]any), func(a, b any) int {
		return cmp.Compare(a.(map[string]any)["containerPort"].(int64), b.(map[string]any)["containerPort"].(int64))
	})
	for _, m := range []map[string]any{pod, container} {
		maps.DeleteFunc(m, func(_ string, v any) bool { list, ok := v.([]any); return ok && len(list) == 0 })
	}
}

// The chart and the manifests for kustomize install the same objects: by default, and for each choice that both have. The namespace is made by Helm.
func TestSameAsKustomize(t *testing.T) {
	rights := func(o *unstructured.Unstructured) bool { return strings.HasPrefix(o.GetKind(), "ClusterRole") }
	for name, tc := range map[string]struct {
		overlay    string
		components []string
		values     string
		only       func(*unstructured.Unstructured) bool
		namespace  string // another than that of the manifests
	}{
		"default":      {overlay: "operator/config/default"},
		"policies":     {overlay: "operator/config/with-policies", values: "policies: {enabled: true}"},
		"self-managed": {overlay: "operator/config/with-webhooks-self-managed", values: "webhooks: {mode: self-managed}"},
		"cert-manager": {overlay: "operator/config/with-webhooks-cert-manager", values: "webhooks: {mode: cert-manager}"},
		"device admission": {
			overlay: "operator/config/with-webhooks-self-managed", components: []string{"../components/device-admission"},
			values: "{webhooks: {mode: self-managed}, deviceAdmission: {enabled: true}}",
		},
		"device admission of labelled Pods": {
			overlay: "operator/config/with-webhooks-self-managed", components: []string{"../components/device-admission", "../components/device-admission-labelled"},
			values: "{webhooks: {mode: self-managed}, deviceAdmission: {enabled: true, scope: Labelled}}",
		},
		"device admission of all Pods": {
			overlay: "operator/config/with-webhooks-cert-manager", components: []string{"../components/device-admission", "../components/device-admission-all"},
			values: "{webhooks: {mode: cert-manager}, deviceAdmission: {enabled: true, scope: All}}",
		},
		"device admission, cert-manager, another namespace": {
			overlay: "operator/config/with-webhooks-cert-manager", components: []string{"../components/device-admission"}, namespace: "elsewhere",
			values: "{webhooks: {mode: cert-manager}, deviceAdmission: {enabled: true}}",
		},
		"device admission, self-managed, another namespace": {
			overlay: "operator/config/with-webhooks-self-managed", components: []string{"../components/device-admission"}, namespace: "elsewhere",
			values: "{webhooks: {mode: self-managed}, deviceAdmission: {enabled: true}}",
		},
		"gateway, another namespace": {overlay: "apiserver/config/with-operator", namespace: "elsewhere", values: "gateway: {enabled: true}"},
		"gateway":                    {overlay: "apiserver/config/with-operator", values: "gateway: {enabled: true}"},
		"gateway, plain text":        {overlay: "apiserver/config/with-operator", components: []string{"../components/plain-text"}, values: "gateway: {enabled: true, tls: {mode: none}}"},
		"gateway, certificate":       {overlay: "apiserver/config/with-operator", components: []string{"../components/cert-manager"}, values: "gateway: {enabled: true, tls: {mode: cert-manager}}"},
		"gateway, impersonation": {
			overlay: "apiserver/config/with-operator", components: []string{"../components/impersonate"},
			values: "gateway: {enabled: true, authentication: {mode: impersonate, clientCASecretName: raygate-apiserver-client-ca}}",
		},
		"optional rights": { // the chart gives them with the flags that need them
			overlay: "operator/config/default", only: rights,
			components: []string{"../components/routes", "../components/mtls", "../components/volcano", "../components/workload-aware-scheduling", "../components/kubernetes-proxy", "../components/history"},
			values: `{rbac: {routes: true}, batchScheduler: {name: volcano}, useKubernetesProxy: true, history: {url: "s3://b?region=r"},
				featureGates: [{name: RayClusterMTLS, enabled: true}, {name: KubernetesWAS, enabled: true}]}`,
		},
		"scheduler-plugins": {
			overlay: "operator/config/default", only: rights, components: []string{"../components/scheduler-plugins"}, values: "batchScheduler: {name: scheduler-plugins}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want, got := map[string]*unstructured.Unstructured{}, map[string]*unstructured.Unstructured{}
			into := cmp.Or(tc.namespace, namespace)
			for _, o := range kustomize(t, into, tc.overlay, tc.components...) {
				if o.GetKind() != "Namespace" && (tc.only == nil || tc.only(o)) {
					want[key(o)] = o
				}
			}
			for _, o := range renderInto(t, into, tc.values) {
				if tc.only == nil || tc.only(o) {
					got[key(o)] = o
				}
			}
			for key, o := range want {
				rendered := got[key]
				if rendered == nil {
					t.Errorf("the chart lacks %s", key)
					continue
				}
				comparable(t, rendered, o)
				if diff := gocmp.Diff(o.Object, rendered.Object); diff != "" {
					t.Errorf("%s (-kustomize +chart):\n%s", key, diff)
				}
				delete(got, key)
			}
			for key := range got {
				t.Errorf("kustomize lacks %s", key)
			}
			if len(want) < 8 {
				t.Errorf("only %d objects were compared", len(want))
			}
		})
	}
}

// The CRDs of the chart are those of operator/config, whole.
func TestCRDs(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "operator/config/crd/bases/*.yaml"))
	if err != nil || len(files) != 4 {
		t.Fatalf("CRDs %v, %v", files, err)
	}
	rendered := map[string]*unstructured.Unstructured{}
	for _, o := range render(t, "") {
		rendered[o.GetName()] = o
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := decode(t, data)
		got := rendered[want.GetName()]
		if got == nil {
			t.Errorf("the chart lacks the CRD %s", want.GetName())
			continue
		}
		want.SetAnnotations(got.GetAnnotations())
		want.Object["spec"].(map[string]any)["conversion"] = map[string]any{"strategy": "None"}
		if diff := gocmp.Diff(want.Object, got.Object); diff != "" {
			t.Errorf("%s is not that of operator/config (-want +got); run make generate:\n%s", want.GetName(), diff)
		}
	}
}
