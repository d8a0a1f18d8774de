package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/test/controlplane"
)

// render builds an overlay as kubectl does; kustomization, if there is one, takes the place of the overlay's file.
func render(t *testing.T, overlay, kustomization string) []*unstructured.Unstructured {
	t.Helper()
	fs := filesys.MakeFsInMemory()
	for _, root := range []string{"apiserver/config", "operator/config"} {
		base := filepath.Join("../../..", root)
		err := filepath.WalkDir(base, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".yaml") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if strings.Contains(path, "crd/bases/") { // long, and not looked at here
				data = []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + strings.TrimSuffix(filepath.Base(path), ".yaml") + "}\n")
			}
			relative, err := filepath.Rel(base, path)
			if err != nil {
				return err
			}
			return fs.WriteFile(filepath.Join("/", root, relative), data)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	folder := "/apiserver/config/" + overlay
	if kustomization != "" {
		if err := fs.WriteFile(folder+"/kustomization.yaml", []byte(kustomization)); err != nil {
			t.Fatal(err)
		}
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(fs, folder)
	if err != nil {
		t.Fatalf("building %s: %v", overlay, err)
	}
	var out []*unstructured.Unstructured
	for _, r := range built.Resources() {
		data, err := r.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(data, &o.Object); err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

// find returns the objects of a kind whose names begin as the gateway's do.
func find[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) []*T {
	t.Helper()
	var out []*T
	for _, o := range objects {
		if o.GetKind() != kind || !strings.HasPrefix(o.GetName(), "raygate-apiserver") {
			continue
		}
		typed := new(T)
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, typed, true); err != nil {
			t.Fatalf("%s %s: %v", kind, o.GetName(), err)
		}
		out = append(out, typed)
	}
	return out
}

const everything = "resources: [../deployment, ../rbac]\ncomponents: [../components/impersonate, ../components/cert-manager, ../components/v1]\n"

func TestManifests(t *testing.T) {
	for name, tc := range map[string]struct {
		overlay, kustomization string
		mode                   authn.Mode
		namespaces             []string
		plain                  bool
	}{
		"default":       {"default", "", authn.Passthrough, nil, false},
		"with-operator": {"with-operator", "", authn.Passthrough, nil, false},
		"namespaced":    {"namespaced", "", authn.Passthrough, []string{"$(NAMESPACE)"}, false},
		"components":    {"default", everything, authn.Impersonate, nil, false},
		"plain text":    {"default", "resources: [../deployment, ../rbac]\ncomponents: [../components/plain-text]\n", authn.Passthrough, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			objects := render(t, tc.overlay, tc.kustomization)
			d := find[appsv1.Deployment](t, objects, "Deployment")[0]
			container := d.Spec.Template.Spec.Containers[0]
			o, flags := NewOptions(), pflag.NewFlagSet("", pflag.ContinueOnError)
			o.AddFlags(flags)
			if err := flags.Parse(container.Args); err != nil {
				t.Fatal(err)
			}
			if o.Authentication != string(tc.mode) || !slices.Equal(o.Namespaces, tc.namespaces) || (o.TLSCertFile == "") != tc.plain || len(d.Spec.Template.Spec.Volumes) == 0 != tc.plain {
				t.Errorf("the arguments %v mean %s, %v", container.Args, o.Authentication, o.Namespaces)
			}
			if *d.Spec.Replicas < 2 || d.Spec.Strategy.RollingUpdate.MaxUnavailable.String() != "0" {
				t.Errorf("%d replicas, %v", *d.Spec.Replicas, d.Spec.Strategy)
			}
			reached(t, d, find[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy")[0], find[corev1.Service](t, objects, "Service"))
			if grace := *d.Spec.Template.Spec.TerminationGracePeriodSeconds; float64(grace) <= (o.DrainDelay + o.DrainTimeout).Seconds() {
				t.Errorf("the Pod has %d s to end, and draining takes %s", grace, o.DrainDelay+o.DrainTimeout)
			}
			for _, file := range []string{o.TLSCertFile, o.ClientCAFile} {
				if file != "" && !slices.ContainsFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return filepath.Dir(file) == m.MountPath }) {
					t.Errorf("nothing is mounted for %s", file)
				}
			}
			// The gateway reads for its cache and writes nothing on its own account but the key that replicas share.
			var rules []rbacv1.PolicyRule
			for _, r := range find[rbacv1.ClusterRole](t, objects, "ClusterRole") {
				rules = append(rules, r.Rules...)
			}
			for _, r := range find[rbacv1.Role](t, objects, "Role") {
				rules = append(rules, r.Rules...)
			}
			for _, r := range rules {
				if slices.Equal(r.ResourceNames, []string{"raygate-apiserver-page-tokens"}) && slices.Equal(r.Resources, []string{"secrets"}) && slices.Equal(r.Verbs, []string{"get", "update"}) {
					continue
				}
				if tc.mode == authn.Impersonate && slices.Equal(r.Resources, []string{"tokenreviews"}) && slices.Equal(r.Verbs, []string{"create"}) {
					continue // which writes nothing
				}
				for _, verb := range r.Verbs {
					if !slices.Contains([]string{"get", "list", "watch"}, verb) && (verb != "impersonate" || tc.mode != authn.Impersonate) {
						t.Errorf("the gateway may %s %v", verb, r.Resources)
					}
				}
			}
			if tc.namespaces != nil && len(find[rbacv1.ClusterRole](t, objects, "ClusterRole")) > 0 {
				t.Error("a gateway of one namespace has rights on the cluster")
			}
		})
	}
}

// reached demands that Services select the Pods and name their ports, and that the NetworkPolicy lets just these ports through.
func reached(t *testing.T, d *appsv1.Deployment, policy *networkingv1.NetworkPolicy, services []*corev1.Service) {
	t.Helper()
	if !maps.Equal(policy.Spec.PodSelector.MatchLabels, d.Spec.Template.Labels) {
		t.Errorf("the NetworkPolicy is for Pods with %v, and they have %v", policy.Spec.PodSelector.MatchLabels, d.Spec.Template.Labels)
	}
	var allowed, served []int32
	for _, p := range policy.Spec.Ingress[0].Ports {
		allowed = append(allowed, p.Port.IntVal)
	}
	names := map[string]bool{}
	for _, p := range d.Spec.Template.Spec.Containers[0].Ports {
		served = append(served, p.ContainerPort)
		names[p.Name] = true
	}
	slices.Sort(served)
	if !slices.Equal(allowed, served) {
		t.Errorf("ports %v are served, and the NetworkPolicy lets %v through", served, allowed)
	}
	for _, s := range services {
		for _, p := range s.Spec.Ports {
			if !names[p.TargetPort.StrVal] || !maps.Equal(s.Spec.Selector, d.Spec.Template.Labels) {
				t.Errorf("Service %s leads to port %s of Pods with %v", s.Name, &p.TargetPort, s.Spec.Selector)
			}
		}
	}
}

// controlPlane returns the shared control plane and two clients of it.
func controlPlane(t *testing.T) (*controlplane.Env, kubernetes.Interface, client.Client) {
	t.Helper()
	env := shared.Env(t)
	kube, err := kubernetes.NewForConfig(env.Config)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(env.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return env, kube, c
}

// The API server takes what default and namespaced consist of, the Pod security standard of the namespace lets the Pod in, and the rights that they grant are
// all that the gateway needs.
func TestManifestsOnTheAPIServer(t *testing.T) {
	env, kube, c := controlPlane(t)
	for name, namespaces := range map[string][]string{"default": nil, "namespaced": {"raygate-team"}} {
		namespace := "raygate-system"
		if namespaces != nil {
			namespace = namespaces[0]
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
			if _, err := kube.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		objects := render(t, name, "")
		for _, o := range objects {
			if o.GetNamespace() != "" {
				o.SetNamespace(namespace)
			}
			if subjects, ok, _ := unstructured.NestedSlice(o.Object, "subjects"); ok {
				subjects[0].(map[string]any)["namespace"] = namespace
				_ = unstructured.SetNestedSlice(o.Object, subjects, "subjects")
			}
			if err := c.Create(t.Context(), o); err != nil {
				t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
			}
		}
		template := find[appsv1.Deployment](t, objects, "Deployment")[0].Spec.Template
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{GenerateName: "gateway-", Namespace: namespace, Labels: template.Labels}, Spec: template.Spec}
		if err := c.Create(t.Context(), pod); err != nil && !meta.IsNoMatchError(err) {
			t.Errorf("%s: the Pod is refused: %v", name, err)
		}
		token, err := kube.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), "raygate-apiserver", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		own := rest.AnonymousClientConfig(env.Config)
		own.BearerToken = token.Status.Token
		startProcess(t, own, authn.Passthrough, func(o *Options) { // ready only if it may read
			o.Namespaces, o.PageTokenSecret = namespaces, namespace+"/raygate-apiserver-page-tokens"
		})
		secret, err := kube.CoreV1().Secrets(namespace).Get(t.Context(), "raygate-apiserver-page-tokens", metav1.GetOptions{})
		if err != nil || len(secret.Data[tokenKey]) < minTokenKey {
			t.Errorf("%s: there is no key of page tokens: %v", name, err)
		}
	}
}
