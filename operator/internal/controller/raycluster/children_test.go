package raycluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/service"
	"github.com/raygate/raygate/operator/internal/optionalapi"
	"github.com/raygate/raygate/pkg/validation"
)

func publishing() raytest.ClusterOption {
	return raytest.Head(func(h *rayv1.HeadGroupSpec) { h.EnableIngress = new(true) })
}

func (b *bench) childFailure() *metav1.Condition {
	return meta.FindStatusCondition(b.status().Conditions, rayv1.RayClusterChildFailure)
}

func TestChildThatIsChangedBackIsRepairedLessOften(t *testing.T) {
	patches := 0
	b := newBench(t, raytest.RayCluster("ns/demo", publishing()), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if _, ok := o.(*networkingv1.Ingress); ok {
				patches++
			}
			return c.Patch(ctx, o, p, opts...)
		},
	})
	b.mustReconcile()
	spoil := func() {
		i := &networkingv1.Ingress{}
		if err := b.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "demo-head-ingress"}, i); err != nil {
			t.Fatal(err)
		}
		i.Spec.Rules[0].Host = "elsewhere"
		if err := b.client.Update(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 {
		spoil()
		b.mustReconcile()
	}
	if patches != 3 {
		t.Errorf("%d patches in one moment, want %d", patches, 3)
	}
	if c := b.childFailure(); c == nil || c.Reason != "FailedToUpdateIngress" || !strings.Contains(c.Message, "changed by something else") {
		t.Errorf("condition %+v", c)
	}
	b.clock.Step(3 * time.Second)
	b.mustReconcile()
	if patches != 3+1 || b.childFailure() != nil {
		t.Errorf("%d patches after a pause, condition %+v", patches, b.childFailure())
	}
}

func TestHeadServiceOfAnotherClusterIsLeftAlone(t *testing.T) {
	theirs := service.Head(raytest.RayCluster("ns/demo", raytest.UID("another")), service.Options{})
	theirs.OwnerReferences[0].Name = "another"
	b := newEmptyBench(t, raytest.RayCluster("ns/demo"), interceptor.Funcs{}, theirs)
	b.mustReconcile()
	c := meta.FindStatusCondition(b.status().Conditions, rayv1.RayClusterReplicaFailure)
	if c == nil || c.Reason != rayv1.ReasonFailedCreateHeadService || !strings.Contains(c.Message, "its controller is RayCluster another") {
		t.Errorf("condition %+v", c)
	}
}

func TestTheHeadServiceIsReported(t *testing.T) {
	b := newEmptyBench(t, raytest.RayCluster("ns/demo"), interceptor.Funcs{})
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo-head-svc"}}
	wantEvent := func(want string) {
		t.Helper()
		b.mustReconcile()
		if got := b.events(); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("want one event, %q, got %q", want, got)
		}
	}
	wantEvent("CreatedHeadPod Created Service demo-head-svc, head Pod demo-head-")
	if err := b.client.Get(t.Context(), client.ObjectKeyFromObject(svc), svc); err != nil {
		t.Fatal(err)
	}
	svc.Spec.Selector = map[string]string{"not": "ours"}
	if err := b.client.Update(t.Context(), svc); err != nil {
		t.Fatal(err)
	}
	wantEvent("UpdatedService Updated Service demo-head-svc")
	if err := b.client.Delete(t.Context(), svc); err != nil {
		t.Fatal(err)
	}
	b.reconciler.children.Gone(b.rc.UID, svc.UID)
	wantEvent("CreatedService Created Service demo-head-svc")
}

func TestPodsWaitForCertificates(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Spec(func(s *rayv1.RayClusterSpec) { s.TLSOptions = &rayv1.TLSOptions{Enabled: new(true)} }))
	b := newBench(t, rc, interceptor.Funcs{})
	mapper := meta.NewDefaultRESTMapper(nil)
	b.reconciler = New(Config{
		Client: b.client, Live: b.client, Recorder: b.recorder, Clock: b.clock, MTLS: true,
		APIs:       optionalapi.NewFixed(mapper, b.client, b.clock),
		Validation: validation.Options{Gates: map[validation.Gate]bool{validation.GateMTLS: true}},
	})
	result := b.mustReconcile()
	if c := meta.FindStatusCondition(b.status().Conditions, rayv1.RayClusterInvalidSpec); c == nil || !strings.Contains(c.Message, "cert-manager") || result.RequeueAfter == 0 {
		t.Errorf("without cert-manager: condition %+v, looks again after %s", c, result.RequeueAfter)
	}

	mapper.Add(cert.CertificateKind, meta.RESTScopeNamespace) // it is installed now
	b.clock.Step(optionalapi.AbsentFor)
	b.mustReconcile()
	stages := []struct {
		create []client.Object
		want   string // part of the message
	}{
		{want: "Certificate ray-head-cert-demo does not exist"},
		{create: []client.Object{cert.Head(rc, "", nil), cert.Worker(rc, nil)}, want: "Secret ray-head-secret-demo has not been filled"},
		{create: []client.Object{keyPair(names.HeadTLSSecret("demo"), cert.KeyCertificate)}, want: "has no tls.key"},
	}
	for _, stage := range stages {
		for _, o := range stage.create {
			if err := b.client.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		b.mustReconcile()
		c := b.childFailure()
		if c == nil || c.Reason != "CertificatesNotReady" || !strings.Contains(c.Message, stage.want) || len(b.pods()) != 0 {
			t.Errorf("condition %+v with %d Pods, want one about %q and no Pods", c, len(b.pods()), stage.want)
		}
	}
	full := keyPair(names.HeadTLSSecret("demo"), cert.KeyCertificate, cert.KeyPrivate, cert.KeyAuthority)
	if err := b.client.Update(t.Context(), full); err != nil {
		t.Fatal(err)
	}
	if err := b.client.Create(t.Context(), keyPair(names.WorkerTLSSecret("demo"), cert.KeyCertificate, cert.KeyPrivate, cert.KeyAuthority)); err != nil {
		t.Fatal(err)
	}
	b.mustReconcile()
	if len(b.pods()) != 1 || b.childFailure() != nil {
		t.Errorf("%d Pods, condition %+v, want a head and no condition", len(b.pods()), b.childFailure())
	}
}

func keyPair(name string, keys ...string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Data: map[string][]byte{}}
	for _, k := range keys {
		s.Data[k] = []byte("x")
	}
	return s
}

func TestServeServiceWithoutPortIsReported(t *testing.T) {
	b := newBench(t, raytest.RayCluster("ns/demo",
		raytest.Annotations(map[string]string{rayv1.AnnotationEnableServeService: "true"}),
		raytest.HeadContainer(func(c *corev1.Container) { c.Ports = []corev1.ContainerPort{{Name: "dashboard", ContainerPort: 8265}} }),
	), interceptor.Funcs{})
	b.mustReconcile()
	if c := b.childFailure(); c == nil || c.Reason != "FailedToCreateService" || !strings.Contains(c.Message, "would have no port") || len(b.pods()) != 1 {
		t.Errorf("condition %+v with %d Pods", c, len(b.pods()))
	}
}

// unknowing is a mapper whose API server cannot be asked.
type unknowing struct{ meta.RESTMapper }

func (unknowing) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, errors.New("the server is away")
}

func TestIngressWaitsUntilItIsKnownWhetherThereAreRoutes(t *testing.T) {
	cases := map[string]struct {
		opts    []raytest.ClusterOption
		wantErr bool
	}{
		"a cluster that wants none of both": {},
		"a cluster that wants one of them":  {opts: []raytest.ClusterOption{publishing()}, wantErr: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, raytest.RayCluster("ns/demo", tc.opts...), interceptor.Funcs{})
			b.reconciler = New(Config{Client: b.client, Live: b.client, Recorder: b.recorder, Clock: b.clock,
				APIs: optionalapi.NewFixed(unknowing{b.client.RESTMapper()}, b.client, b.clock)})
			if _, err := b.reconcile(); (err != nil) != tc.wantErr {
				t.Errorf("error %v, want one: %t", err, tc.wantErr)
			}
			var list networkingv1.IngressList
			if err := b.client.List(t.Context(), &list); err != nil || len(list.Items) != 0 {
				t.Errorf("%d Ingresses, %v", len(list.Items), err)
			}
			if len(b.pods()) != 1 {
				t.Errorf("%d Pods, want the head", len(b.pods()))
			}
		})
	}
}

// TestServeServiceOfRayServiceStays: an upgrade in steps leads requests through a Service of the name of a plain cluster's.
func TestServeServiceOfRayServiceStays(t *testing.T) {
	rc := raytest.RayCluster("ns/demo", raytest.Labels(map[string]string{rayv1.LabelOriginatedFromCRD: "RayService"}))
	b := newBench(t, rc, interceptor.Funcs{}, service.ClusterServe(rc))
	b.mustReconcile()
	if err := b.client.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "demo-serve-svc"}, &corev1.Service{}); err != nil {
		t.Error(err)
	}
}
