package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

// named returns an object of a manifest.
func named[T any](t *testing.T, objects []*unstructured.Unstructured, kind, name string) *T {
	t.Helper()
	at := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind && o.GetName() == name })
	if at < 0 {
		t.Fatalf("no %s %s", kind, name)
	}
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(objects[at].Object, typed, true); err != nil {
		t.Fatalf("%s %s: %v", kind, name, err)
	}
	return typed
}

// TestKubeRayManifests looks at the installation that stands in the place of KubeRay's API server: what scripts and clients know of that is there.
func TestKubeRayManifests(t *testing.T) {
	objects := render(t, "kuberay", "")
	for _, o := range objects {
		if o.GetNamespace() != "" && o.GetNamespace() != "ray-system" {
			t.Errorf("%s %s is in %s", o.GetKind(), o.GetName(), o.GetNamespace())
		}
	}
	labels := map[string]string{"app.kubernetes.io/name": "kuberay", "app.kubernetes.io/component": "kuberay-apiserver"}
	d := named[appsv1.Deployment](t, objects, "Deployment", "kuberay-apiserver")
	if !maps.Equal(d.Spec.Template.Labels, labels) || !maps.Equal(d.Spec.Selector.MatchLabels, labels) {
		t.Errorf("the Pods have the labels %v", d.Spec.Template.Labels)
	}
	container := d.Spec.Template.Spec.Containers[0]
	reached(t, d, find[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy")[0], nil)
	ports := map[string]int32{}
	for _, p := range container.Ports {
		ports[p.Name] = p.ContainerPort
	}
	if ports["http"] != 8888 || ports["grpc"] != 8887 || len(container.VolumeMounts)+len(d.Spec.Template.Spec.Volumes) > 0 {
		t.Errorf("the container is %v", container)
	}
	o, flags := NewOptions(), pflag.NewFlagSet("", pflag.ContinueOnError)
	o.AddFlags(flags)
	if err := flags.Parse(container.Args); err != nil {
		t.Fatal(err)
	}
	if err := o.Validate(); err != nil || o.V1.ServiceAccount != "ray-system/kuberay-apiserver" {
		t.Errorf("the arguments %v: %v", container.Args, err)
	}
	for name, want := range map[string]map[string]int32{"kuberay-apiserver": {"http": 31888, "rpc": 31887}, "kuberay-apiserver-service": {"http": 0, "rpc": 0}} {
		s := named[corev1.Service](t, objects, "Service", name)
		if !maps.Equal(s.Spec.Selector, labels) || len(s.Spec.Ports) != 2 {
			t.Errorf("Service %s is %v", name, s.Spec)
		}
		for _, p := range s.Spec.Ports {
			if p.NodePort != want[p.Name] || p.Port != map[string]int32{"http": 8888, "rpc": 8887}[p.Name] {
				t.Errorf("port of Service %s: %v", name, p)
			}
		}
	}
}

// TestKubeRayManifestsOnTheAPIServer has clients without a token do all that V1 has with the rights of that installation, and nothing else.
func TestKubeRayManifestsOnTheAPIServer(t *testing.T) {
	env, kube, c := controlPlane(t)
	for _, o := range render(t, "kuberay", "") {
		if o.GetKind() == "ClusterRole" || o.GetKind() == "ClusterRoleBinding" { // other tests install some of the same names
			if o.GetName() == "raygate-apiserver" {
				o.SetName("raygate-apiserver-of-kuberay")
			}
			if role, ok, _ := unstructured.NestedString(o.Object, "roleRef", "name"); ok && role == "raygate-apiserver" {
				_ = unstructured.SetNestedField(o.Object, "raygate-apiserver-of-kuberay", "roleRef", "name")
			}
		}
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
	token, err := kube.CoreV1().ServiceAccounts("ray-system").CreateToken(t.Context(), "raygate-apiserver", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	own := rest.AnonymousClientConfig(env.Config)
	own.BearerToken = token.Status.Token
	p := startProcess(t, own, authn.Passthrough, func(o *Options) {
		o.InsecureAllowRemoteNone, o.V1.Authentication, o.V1.ServiceAccount = true, v1None, "ray-system/kuberay-apiserver"
	})
	w := (&v1World{v1Client: v1Client{base: p.http}, process: p, kube: kube}).in(t, "kuberay-manifests")
	w.want(t, 200, "POST", w.path("clusters"), w.cluster("demo"), &kuberay.Cluster{})
	w.want(t, 200, "GET", w.path("clusters", "demo"), nil, &kuberay.Cluster{})
	w.want(t, 200, "GET", "/apis/v1/clusters", nil, &kuberay.ListAllClustersResponse{})
	w.want(t, 200, "GET", "/apis/v1/compute_templates", nil, &kuberay.ListAllComputeTemplatesResponse{})
	w.want(t, 200, "POST", w.path("services"), w.service("demo"), &kuberay.RayService{})
	w.want(t, 200, "PUT", w.path("services", "demo"), w.service("demo"), &kuberay.RayService{})
	w.want(t, 200, "POST", w.path("jobs"), w.job("demo"), &kuberay.RayJob{})
	for _, resource := range []string{"jobs", "services", "clusters"} {
		w.want(t, 200, "DELETE", w.path(resource, "demo"), nil, nil)
	}
	w.want(t, 200, "DELETE", w.path("compute_templates", "default-template"), nil, nil)
	if code, body, _ := w.send(t, "GET", "/api/v1/namespaces/default/services/kubernetes/proxy/", ""); code != 404 {
		t.Errorf("the proxy leads to other Services: %d %s", code, body)
	}
	if code, _, _ := w.send(t, "GET", "/apis/v2/namespaces/default/clusters", ""); code != 401 {
		t.Errorf("v2 asks for no token: %d", code)
	}
}
