package raycluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	buildchild "github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/rbac"
	"github.com/raygate/raygate/operator/internal/build/route"
	"github.com/raygate/raygate/operator/internal/build/secret"
)

// full is a cluster with every child that needs nothing but Kubernetes.
func (w *world) full(name string) *rayv1.RayCluster {
	return w.cluster(name,
		raytest.Workers("tpu", 1, raytest.Hosts(2)),
		raytest.Autoscaling(),
		raytest.Annotations(map[string]string{rayv1.AnnotationEnableServeService: "true", "external-dns/hostname": "ray.example.com"}),
		raytest.Head(func(h *rayv1.HeadGroupSpec) { h.EnableIngress = new(true) }),
		raytest.Spec(func(s *rayv1.RayClusterSpec) { s.AuthOptions = &rayv1.AuthOptions{Mode: rayv1.AuthModeToken} }),
	)
}

// childrenOf are the objects that full asks for, with nothing but a name.
func (w *world) childrenOf(name string) map[string]client.Object {
	at := func(n string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: w.Namespace, Name: n} }
	return map[string]client.Object{
		"ServiceAccount":   &corev1.ServiceAccount{ObjectMeta: at(name)},
		"Role":             &rbacv1.Role{ObjectMeta: at(name)},
		"RoleBinding":      &rbacv1.RoleBinding{ObjectMeta: at(name)},
		"Ingress":          &networkingv1.Ingress{ObjectMeta: at(name + "-head-ingress")},
		"Secret":           &corev1.Secret{ObjectMeta: at(name)},
		"head Service":     &corev1.Service{ObjectMeta: at(name + "-head-svc")},
		"headless Service": &corev1.Service{ObjectMeta: at(name + "-headless")},
		"serve Service":    &corev1.Service{ObjectMeta: at(name + "-serve-svc")},
	}
}

func (w *world) eventuallyThere(what string, o client.Object) {
	w.T.Helper()
	w.Eventually(what, func() bool { return w.Read(o) })
}

// asOperator lets the operator act with the rights that the overlay default and more components give it, and no others.
func (w *world) asOperator(components ...string) {
	w.T.Helper()
	config := filepath.Join("..", "..", "..", "config")
	files := []string{filepath.Join(config, "rbac", "role.yaml")}
	for _, name := range append(components, "token-auth") {
		files = append(files, filepath.Join(config, "components", name, "role.yaml"))
	}
	w.operator = "operator-of-" + w.Namespace
	var rules []rbacv1.PolicyRule
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			w.T.Fatal(err)
		}
		role := &rbacv1.ClusterRole{}
		if err := yaml.UnmarshalStrict(text, role); err != nil {
			w.T.Fatal(err)
		}
		rules = append(rules, role.Rules...)
	}
	w.allow(rules...)
}

// allow gives the operator rights.
func (w *world) allow(rules ...rbacv1.PolicyRule) {
	w.T.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: w.operator + "-"}, Rules: rules}
	w.Create(role)
	w.Create(&rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: w.operator}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
	})
}

func TestChildrenAreMadeAndComeBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.asOperator()
	w.startOperator()
	w.Create(w.full("demo"))
	w.eventuallyReady("demo")
	for what, o := range w.childrenOf("demo") {
		w.eventuallyThere(what, o)
		uid := o.GetUID()
		if err := w.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		w.Eventually(what+" to come back", func() bool { return w.Read(o) && o.GetUID() != uid })
	}
	for _, reason := range []string{"CreatedServiceAccount", "CreatedRole", "CreatedRoleBinding", "CreatedIngress", "CreatedService"} {
		w.Eventually("event "+reason, func() bool { return len(w.Events("demo", reason)) > 0 })
	}
	// TestLostTokenIsReported is about the Secret.
	if c := meta.FindStatusCondition(w.get("demo").Status.Conditions, rayv1.RayClusterChildFailure); c != nil && c.Reason != "AuthTokenReplaced" {
		t.Errorf("condition of a cluster with all children: %+v", c)
	}
}

func TestBindingOfAnotherRoleIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rc := w.cluster("demo", raytest.Autoscaling())
	w.Create(rc)
	wrong := rbac.RoleBinding(w.get("demo"))
	wrong.RoleRef.Name = "other"
	w.Create(wrong)
	w.startOperator()
	w.Eventually("the right role", func() bool {
		rb := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "demo"}}
		return w.Read(rb) && rb.RoleRef.Name == "demo"
	})
}

func TestWhatIsSwitchedOffGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.asOperator()
	w.startOperator()
	w.Create(w.full("demo"))
	w.eventuallyReady("demo")
	objects := w.childrenOf("demo")
	for what, o := range objects {
		w.eventuallyThere(what, o)
	}
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) {
		rc.Spec.HeadGroupSpec.EnableIngress = nil
		rc.Spec.EnableInTreeAutoscaling = nil
		rc.Spec.AuthOptions = nil
		rc.Annotations = nil
	})
	for _, what := range []string{"Ingress", "serve Service"} {
		w.Eventually(what+" to go", func() bool { return !w.Read(objects[what]) })
	}
	w.fence("demo")
	// Pods that run use these.
	for _, what := range []string{"ServiceAccount", "Role", "RoleBinding", "Secret", "headless Service"} {
		if !w.Read(objects[what]) {
			t.Errorf("%s is gone while Pods use it", what)
		}
	}
	w.ChangeCluster("demo", func(rc *rayv1.RayCluster) { rc.Spec.Suspend = new(true) })
	for _, what := range []string{"ServiceAccount", "Role", "RoleBinding", "Secret"} {
		w.Eventually(what+" to go", func() bool { return !w.Read(objects[what]) })
	}
	if !w.Read(objects["head Service"]) || !w.Read(objects["headless Service"]) {
		t.Error("a Service that is still asked for is gone")
	}
}

func TestForeignChildrenAreReportedAndKeepNothingElseFromBeingMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "owner"}}
	w.Create(other)
	owner := *metav1.NewControllerRef(other, corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	theirs := map[string]client.Object{
		"Role":    &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "demo"}},
		"Ingress": &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: "demo-head-ingress"}, Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "x", Port: networkingv1.ServiceBackendPort{Number: 1}}}}},
		"Secret":  &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "demo"}, StringData: map[string]string{rayv1.AuthTokenSecretKey: "theirs"}},
		"Service": &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "demo-serve-svc"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}},
	}
	for _, o := range theirs {
		o.SetNamespace(w.Namespace)
		o.SetOwnerReferences([]metav1.OwnerReference{owner})
		w.Create(o)
	}
	counted, _ := w.startOperator()
	w.Create(w.full("demo"))
	w.eventuallyReady("demo")
	w.Eventually("the condition", func() bool {
		c := meta.FindStatusCondition(w.get("demo").Status.Conditions, rayv1.RayClusterChildFailure)
		if c == nil || c.Status != metav1.ConditionTrue || c.Reason != "FailedToCreateRole" {
			return false
		}
		for kind := range theirs {
			if !strings.Contains(c.Message, kind+" "+w.Namespace+"/demo") {
				return false
			}
		}
		return strings.Contains(c.Message, "its controller is ConfigMap owner")
	})
	before := len(counted.seen())
	w.oneEvent("demo", "FailedToCreateRole", "FailedToCreateIngress", "FailedToCreateSecret", "FailedToCreateService")
	if after := counted.seen(); len(after) > before+5 { // to look again is not to try again
		t.Errorf("%d writes for three looks at a cluster with four foreign children: %v", len(after)-before, after[before:])
	}
	for kind, o := range theirs {
		version := o.GetResourceVersion()
		if !w.Read(o) || o.GetResourceVersion() != version {
			t.Errorf("somebody else's %s was changed", kind)
		}
	}
}

// TestKubeRaysChildrenAreAdopted starts with what KubeRay 1.7 makes, and allows only the changes that are meant: our label on
// the two Services that KubeRay leaves without, the narrower Role, and the record of annotations.
func TestKubeRaysChildrenAreAdopted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Create(w.full("demo"))
	rc := w.get("demo")
	token := secret.Token(rc, []byte("x"))
	role := rbac.Role(rc)
	role.Rules[2].ResourceNames = nil
	ingress := route.Ingress(rc)
	headless := &corev1.Service{
		ObjectMeta: buildchild.Meta(rc, "demo-headless", map[string]string{rayv1.LabelHeadlessWorkerService: "demo"}),
		Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, PublishNotReadyAddresses: true,
			Selector: map[string]string{rayv1.LabelCluster: "demo", rayv1.LabelNodeType: "worker"}},
	}
	serve := &corev1.Service{
		ObjectMeta: buildchild.Meta(rc, "demo-serve-svc", map[string]string{
			rayv1.LabelOriginatedFromCRName: "demo", rayv1.LabelOriginatedFromCRD: "RayCluster", rayv1.LabelServe: "demo-serve"}),
		Spec: corev1.ServiceSpec{Selector: map[string]string{rayv1.LabelCluster: "demo"}, Ports: []corev1.ServicePort{{Name: "serve", Port: 8000}}},
	}
	for _, o := range []client.Object{rbac.ServiceAccount(rc), role, rbac.RoleBinding(rc), ingress, token, headless, serve} {
		w.Create(o)
	}
	counted, _ := w.startOperator()
	w.eventuallyReady("demo")
	w.fence("demo")
	var got []string
	for _, r := range counted.seen() {
		if !strings.Contains(r, "/pods") && !strings.Contains(r, "/events") && !strings.Contains(r, "/rayclusters") && !strings.Contains(r, "head-svc") {
			got = append(got, strings.TrimPrefix(r, "/namespaces/"+w.Namespace))
		}
	}
	changes, creates := 0, 0
	for _, r := range got {
		switch {
		case strings.HasPrefix(r, "PATCH"):
			changes++
		case strings.HasPrefix(r, "POST"):
			creates++ // of Services that the cache does not show, and refused; one is the head Service
		default:
			t.Errorf("unexpected request %s", r)
		}
	}
	if changes != 4 || creates != 3 {
		t.Errorf("%d patches and %d creates, want 4 and 3: %v", changes, creates, got)
	}
	if !w.Read(token) || string(token.Data[rayv1.AuthTokenSecretKey]) != "eA==" {
		t.Errorf("the token has changed")
	}
}

func TestRouteIsMadeWhenTheAPIComes(t *testing.T) {
	w := newWorld(t)
	_, stop := w.startOperator()
	w.Create(w.cluster("before", raytest.Head(func(h *rayv1.HeadGroupSpec) { h.EnableIngress = new(true) })))
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "before-head-ingress"}}
	w.eventuallyThere("an Ingress without the API", ingress)
	env := controlPlane.Env(t)
	remove, err := env.InstallKind(t.Context(), route.Kind)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Error(err)
		}
	})
	stop() // so that the test does not wait until it asks again
	w.startOperator()
	r := &unstructured.Unstructured{}
	r.SetGroupVersionKind(route.Kind)
	r.SetNamespace(w.Namespace)
	r.SetName("before-head-route")
	w.eventuallyThere("the Route", r)
	uid := r.GetUID()
	if err := w.Client.Delete(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the Route to come back", func() bool { return w.Read(r) && r.GetUID() != uid })
	w.Eventually("the Ingress to make way", func() bool { return !w.Read(ingress) })
	if err := unstructured.SetNestedField(r.Object, "elsewhere", "spec", "to", "name"); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the target", func() bool {
		name, _, _ := unstructured.NestedString(r.Object, "spec", "to", "name")
		return w.Read(r) && name == "before-head-svc"
	})
	w.ChangeCluster("before", func(rc *rayv1.RayCluster) { rc.Spec.HeadGroupSpec.EnableIngress = new(false) })
	w.Eventually("the Route to go", func() bool { return !w.Read(r) })
}
