package registration_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/raygate/raygate/operator/config"
	"github.com/raygate/raygate/operator/internal/webhook/registration"
	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/shipped"
	"github.com/raygate/raygate/test/controlplane"
)

// controlPlane calls for each Pod webhooks that do not exist: no test makes one.
var controlPlane = controlplane.Share(controlplane.Options{CRDs: controlplane.NoCRDs, Own: true, Nodes: -1, WithoutScheduler: true, WithoutControllerManager: true})

func TestMain(m *testing.M) { controlPlane.Main(m) }

const (
	system    = "raygate-system"
	component = "../../../config/components/device-admission"
)

var ca = []byte("-----BEGIN CERTIFICATE-----\nMIIBVjCB/qADAgECAgEBMAoGCCqGSM49BAMCMAAwHhcNMjYwMTAxMDAwMDAwWhcN\n-----END CERTIFICATE-----\n")

// operator is a client with the rights that the component gives to the operator, and no others.
func operator(t *testing.T, env *controlplane.Env, w *controlplane.World) client.Client {
	t.Helper()
	for _, file := range []string{"role.yaml", "role_binding.yaml"} {
		data, err := os.ReadFile(filepath.Join(component, file))
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(data, &u.Object); err != nil {
			t.Fatal(err)
		}
		if err := w.Client.Create(t.Context(), u); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	as := rest.CopyConfig(env.Config)
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + system + ":raygate-operator"}
	c, err := client.New(as, client.Options{Scheme: controlplane.Scheme(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// registrations are both configurations as typed objects.
type registrations struct {
	mutating   admissionregistrationv1.MutatingWebhookConfiguration
	validating admissionregistrationv1.ValidatingWebhookConfiguration
}

func (r *registrations) objects() []client.Object { return []client.Object{&r.mutating, &r.validating} }

func webhook(t *testing.T, kind string, into any) {
	t.Helper()
	w, err := config.DeviceWebhook(kind, system)
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(w, into); err != nil {
		t.Fatal(err)
	}
}

// install registers the webhooks as the component does, with a CA, and next to a webhook of others in the same configurations.
func install(t *testing.T, w *controlplane.World) {
	t.Helper()
	meta := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: name, Labels: map[string]string{"team": "a"}, Annotations: map[string]string{registration.AnnotationScope: "RayPods", "note": "here"}}
	}
	var r registrations
	r.mutating.ObjectMeta, r.validating.ObjectMeta = meta("raygate-mutating-webhook"), meta("raygate-validating-webhook")
	r.mutating.Webhooks = make([]admissionregistrationv1.MutatingWebhook, 2)
	r.validating.Webhooks = make([]admissionregistrationv1.ValidatingWebhook, 2)
	for i := range 2 {
		webhook(t, "mutating", &r.mutating.Webhooks[i])
		webhook(t, "validating", &r.validating.Webhooks[i])
		r.mutating.Webhooks[i].ClientConfig.CABundle, r.validating.Webhooks[i].ClientConfig.CABundle = ca, ca
	}
	r.mutating.Webhooks[0].Name, r.validating.Webhooks[0].Name = "others.example.com", "others.example.com"
	for _, o := range r.objects() {
		w.Create(o)
		t.Cleanup(func() { _ = w.Client.Delete(context.Background(), o) })
	}
}

func read(t *testing.T, w *controlplane.World) *registrations {
	t.Helper()
	r := &registrations{}
	r.mutating.Name, r.validating.Name = "raygate-mutating-webhook", "raygate-validating-webhook"
	if !w.Read(&r.mutating) || !w.Read(&r.validating) {
		return nil
	}
	return r
}

// spec is what is compared: all that somebody has written.
func (r *registrations) spec() []any {
	var out []any
	if r == nil {
		return nil
	}
	for _, o := range r.objects() {
		out = append(out, o.GetLabels(), o.GetAnnotations())
	}
	return append(out, r.mutating.Webhooks, r.validating.Webhooks)
}

// keep runs a keeper until the end of the test. The returned function waits until it has looked twice, from the beginning to the end.
func keep(t *testing.T, w *controlplane.World, c client.Client, registry string) (looked func()) {
	t.Helper()
	p, err := load.Registry([]byte(registry))
	if err != nil {
		t.Fatal(err)
	}
	reads := &reads{Reader: c}
	k := &registration.Keeper{Reader: reads, Writer: c, Registry: load.NewLive(p), Namespace: system,
		Mutating: "raygate-mutating-webhook", Validating: "raygate-validating-webhook", Every: 50 * time.Millisecond, Clock: clock.RealClock{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = k.Start(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return func() {
		t.Helper()
		enough := reads.n.Load() + 3*2 // of two configurations; the first look may have begun before
		w.Eventually("the keeper to look", func() bool { return reads.n.Load() >= enough })
	}
}

// reads counts them.
type reads struct {
	client.Reader
	n atomic.Int64
}

func (r *reads) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	r.n.Add(1)
	return r.Reader.Get(ctx, key, o, opts...)
}

// TestPutBack: a registration that a client changes or deletes is restored, by two replicas that do not compete. Additions of
// others stay.
func TestPutBack(t *testing.T) {
	env := controlPlane.Env(t)
	w := env.World(t, "registrations-")
	install(t, w)
	c := operator(t, env, w)
	before := read(t, w)
	var looked [2]func()
	for i := range looked {
		looked[i] = keep(t, w, c, string(shipped.HAMi))
	}
	last := func(r *registrations) (*admissionregistrationv1.MutatingWebhook, *admissionregistrationv1.ValidatingWebhook) {
		return &r.mutating.Webhooks[len(r.mutating.Webhooks)-1], &r.validating.Webhooks[len(r.validating.Webhooks)-1]
	}
	back := func(what string, want *registrations) {
		t.Helper()
		w.Eventually(what+" to be put back", func() bool { return cmp.Equal(read(t, w).spec(), want.spec()) })
	}
	for _, tc := range []struct {
		name string
		edit func(m *admissionregistrationv1.MutatingWebhook, v *admissionregistrationv1.ValidatingWebhook)
	}{
		{"narrowed rules", func(m *admissionregistrationv1.MutatingWebhook, v *admissionregistrationv1.ValidatingWebhook) {
			m.Rules[0].Resources, v.Rules[0].Resources = []string{"pods/status"}, []string{"pods/status"}
		}},
		{"the failure policy", func(m *admissionregistrationv1.MutatingWebhook, v *admissionregistrationv1.ValidatingWebhook) {
			m.FailurePolicy, v.FailurePolicy = new(admissionregistrationv1.Fail), new(admissionregistrationv1.Ignore)
		}},
		{"selectors", func(m *admissionregistrationv1.MutatingWebhook, v *admissionregistrationv1.ValidatingWebhook) {
			m.ObjectSelector, v.ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, nil
			m.NamespaceSelector.MatchExpressions = m.NamespaceSelector.MatchExpressions[:1]
		}},
		{"conditions", func(m *admissionregistrationv1.MutatingWebhook, v *admissionregistrationv1.ValidatingWebhook) {
			m.MatchConditions[0].Expression, v.MatchConditions = "false", nil
		}},
		{"the time limit and the address", func(m *admissionregistrationv1.MutatingWebhook, v *admissionregistrationv1.ValidatingWebhook) {
			m.TimeoutSeconds, v.ClientConfig.Service.Path = new(int32(1)), new("/elsewhere")
		}},
	} {
		r := read(t, w)
		tc.edit(last(r))
		for _, o := range r.objects() {
			if err := w.Client.Update(t.Context(), o); err != nil {
				t.Fatal(tc.name, err)
			}
		}
		back(tc.name, before)
	}

	r := read(t, w)
	r.mutating.Webhooks, r.validating.Webhooks = r.mutating.Webhooks[:1], r.validating.Webhooks[:1]
	for _, o := range r.objects() {
		if err := w.Client.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	back("webhooks with their CA", before)
	for _, o := range read(t, w).objects() {
		if err := w.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	back("deleted configurations", before)

	// Not ours: more namespaces that are left out, a condition, a renewed CA, another registration's rules.
	r = read(t, w)
	m, v := last(r)
	more := metav1.LabelSelectorRequirement{Key: "control-plane", Operator: metav1.LabelSelectorOpDoesNotExist}
	m.NamespaceSelector.MatchExpressions = slices.Insert(m.NamespaceSelector.MatchExpressions, 0, more)
	m.NamespaceSelector.MatchLabels = map[string]string{"a": "b"}
	v.MatchConditions = slices.Insert(v.MatchConditions, 0, admissionregistrationv1.MatchCondition{Name: "theirs", Expression: "true"})
	v.ClientConfig.CABundle = append(slices.Clone(ca), ca...)
	r.mutating.Webhooks[0].Rules[0].Resources = []string{"services"}
	for _, o := range r.objects() {
		if err := w.Client.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	theirs := read(t, w)
	m, _ = last(r)
	m.FailurePolicy = new(admissionregistrationv1.Fail)
	r.mutating.ResourceVersion = theirs.mutating.ResourceVersion
	if err := w.Client.Update(t.Context(), &r.mutating); err != nil {
		t.Fatal(err)
	}
	back("what is ours and nothing else", theirs)

	// Replicas that agree write nothing.
	still := read(t, w)
	for _, twice := range looked {
		twice()
	}
	if now := read(t, w); now.mutating.ResourceVersion != still.mutating.ResourceVersion || now.validating.ResourceVersion != still.validating.ResourceVersion {
		t.Error("replicas go on to write")
	}
}

// TestLeftAlone: without the annotation nothing is put back, changed or deleted.
func TestLeftAlone(t *testing.T) {
	env := controlPlane.Env(t)
	w := env.World(t, "registrations-off-")
	install(t, w)
	looked := keep(t, w, operator(t, env, w), string(shipped.HAMi))
	r := read(t, w)
	for _, o := range r.objects() {
		o.SetAnnotations(nil)
	}
	r.mutating.Webhooks[1].FailurePolicy = new(admissionregistrationv1.Fail)
	for _, o := range r.objects() {
		if err := w.Client.Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	looked()
	if now := read(t, w); !cmp.Equal(now.spec(), r.spec()) {
		t.Errorf("changed: %s", cmp.Diff(r.spec(), now.spec()))
	}
	for _, o := range r.objects() {
		if err := w.Client.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	looked()
	if read(t, w) != nil {
		t.Error("created anew")
	}
}

// TestScopes: who installs chooses the Pods by an annotation, and the registry whether Pods without devices matter.
func TestScopes(t *testing.T) {
	const absent = "apiVersion: devices.ray.io/v1alpha1\nkind: DeviceRegistry\nvendors:\n- name: a\n  resources: {count: a.io/x}\n  absentEnv: [{name: HIDDEN, value: \"1\"}]\n"
	env := controlPlane.Env(t)
	w := env.World(t, "registrations-scopes-")
	install(t, w)
	keep(t, w, operator(t, env, w), absent)
	for scope, want := range map[string]struct {
		policy, given admissionregistrationv1.FailurePolicyType
		keys          []string
	}{
		"Labelled": {policy: admissionregistrationv1.Fail, keys: []string{"devices.ray.io/enabled"}},
		"All":      {policy: admissionregistrationv1.Ignore},
		"RayPods":  {policy: admissionregistrationv1.Ignore, given: admissionregistrationv1.Ignore, keys: []string{"ray.io/node-type"}},
	} {
		w.Eventually("the annotations", func() bool {
			r := read(t, w)
			for _, o := range r.objects() {
				o.SetAnnotations(map[string]string{registration.AnnotationScope: scope})
				if want.given != "" {
					o.GetAnnotations()[registration.AnnotationFailurePolicy] = string(want.given)
				}
				if err := w.Client.Update(t.Context(), o); err != nil {
					return false // the keeper was faster
				}
			}
			return true
		})
		w.Eventually("the registration of "+scope, func() bool {
			r := read(t, w)
			m, v := &r.mutating.Webhooks[1], &r.validating.Webhooks[1]
			var keys []string
			for _, e := range v.ObjectSelector.MatchExpressions {
				keys = append(keys, e.Key)
			}
			ours := m.ObjectSelector.MatchExpressions
			return slices.Equal(keys, want.keys) && *v.FailurePolicy == want.policy && *m.FailurePolicy == admissionregistrationv1.Ignore &&
				len(ours) == len(keys)+1 && ours[len(ours)-1].Key == "devices.ray.io/webhook" && len(m.MatchConditions) == 1 && len(v.MatchConditions) == 2
		})
	}
}
