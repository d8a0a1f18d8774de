package children

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/service"
)

// served is the Service as an API server gives it back: with defaults and allocated values.
func served(change ...func(*corev1.Service)) *corev1.Service {
	s := service.Head(raytest.RayCluster("ns/demo"), service.Options{})
	s.UID, s.CreationTimestamp = "svc", raytest.Epoch
	s.Spec.ClusterIPs = []string{corev1.ClusterIPNone}
	s.Spec.Type = corev1.ServiceTypeClusterIP
	s.Spec.SessionAffinity = corev1.ServiceAffinityNone
	for i := range s.Spec.Ports {
		s.Spec.Ports[i].Protocol = corev1.ProtocolTCP
		s.Spec.Ports[i].TargetPort = intstr.FromInt32(s.Spec.Ports[i].Port)
	}
	for _, c := range change {
		c(s)
	}
	return s
}

// applier writes single objects.
type applier struct {
	Client  client.Client
	Live    client.Reader
	Keep    func(client.Object)
	AsFound bool
}

func (a applier) writer() *Writer {
	return New(Config{Client: a.Client, Live: a.Live, Clock: clocktesting.NewFakeClock(raytest.Epoch.Time)})
}

func (a applier) Object(ctx context.Context, owner, desired, current client.Object) (Operation, error) {
	return a.writer().put(ctx, owner, attempt{}, Child{Desired: desired, Keep: a.Keep, AsFound: a.AsFound}, current)
}

func (a applier) Remove(ctx context.Context, owner, current client.Object) (bool, error) {
	r := a.writer().Remove(ctx, owner, current)
	return r.Done == Delete, errorOf(r)
}

func (a applier) SetController(ctx context.Context, owner client.Object, ref metav1.OwnerReference, current client.Object, want bool) (bool, error) {
	r := a.writer().SetController(ctx, owner, ref, current, want)
	return r.Done == Update, errorOf(r)
}

func errorOf(r Result) error {
	switch {
	case r.Stale:
		return apierrors.NewConflict(schema.GroupResource{}, r.Name, errors.New("stale"))
	case r.Failure != nil && r.Failure.Taken:
		return notOwned
	case r.Failure != nil:
		return errors.New(r.Failure.Message)
	}
	return r.Err
}

var notOwned = &errNotOwned{}

// Is makes errors.Is know any of the type.
func (*errNotOwned) Is(target error) bool { return target == error(notOwned) }

func TestObject(t *testing.T) {
	rc := raytest.RayCluster("ns/demo")
	cases := map[string]struct {
		stored     *corev1.Service // in the API server
		hidden     bool            // the cache does not show it
		desired    func(*corev1.Service)
		wantResult Operation
		wantErr    error
		wantWrites int
		check      func(t *testing.T, s *corev1.Service)
	}{
		"missing":                            {wantResult: Create, wantWrites: 1},
		"as wanted, with defaults":           {stored: served(), wantResult: None},
		"as wanted, but the cache is behind": {stored: served(), hidden: true, wantResult: None, wantWrites: 1},
		"a user's annotation stays": {
			stored:     served(func(s *corev1.Service) { s.Annotations = map[string]string{"mine": "1"} }),
			desired:    func(s *corev1.Service) { s.Annotations = map[string]string{"wanted": "2"} },
			wantResult: Update,
			wantWrites: 1,
			check: func(t *testing.T, s *corev1.Service) {
				if s.Annotations["mine"] != "1" || s.Annotations["wanted"] != "2" {
					t.Errorf("annotations are %v", s.Annotations)
				}
			},
		},
		"a port too many goes": {
			stored: served(func(s *corev1.Service) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: "old", Port: 1, Protocol: corev1.ProtocolTCP})
			}),
			wantResult: Update,
			wantWrites: 1,
			check: func(t *testing.T, s *corev1.Service) {
				for _, p := range s.Spec.Ports {
					if p.Name == "old" {
						t.Error("the port is still there")
					}
				}
			},
		},
		"an address cannot change": {
			stored:     served(func(s *corev1.Service) { s.Spec.ClusterIP, s.Spec.ClusterIPs = "10.0.0.7", []string{"10.0.0.7"} }),
			wantResult: None,
		},
		"somebody else's": {
			stored:     served(func(s *corev1.Service) { s.OwnerReferences = nil }),
			hidden:     true,
			wantResult: None, wantErr: notOwned, wantWrites: 1,
		},
		"an earlier cluster's": {
			stored:     served(func(s *corev1.Service) { s.OwnerReferences[0].UID = "earlier" }),
			wantResult: None, wantErr: errPredecessor,
		},
		"on its way out": {
			stored: served(func(s *corev1.Service) {
				s.DeletionTimestamp, s.Finalizers = new(metav1.Now()), []string{"x/y"}
			}),
			wantResult: None, wantErr: errBeingDeleted,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := clientgoscheme.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			writes := 0
			b := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					writes++
					return c.Create(ctx, o, opts...)
				},
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					writes++
					return c.Patch(ctx, o, p, opts...)
				},
			})
			if tc.stored != nil {
				b = b.WithObjects(tc.stored.DeepCopy())
			}
			c := b.Build()
			var current client.Object
			if tc.stored != nil && !tc.hidden {
				found := &corev1.Service{}
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(tc.stored), found); err != nil {
					t.Fatal(err)
				}
				current = found
			}
			desired := service.Head(rc, service.Options{})
			if tc.desired != nil {
				tc.desired(desired)
			}
			got, err := applier{Client: c, Live: c}.Object(t.Context(), rc, desired, current)
			if !errors.Is(err, tc.wantErr) || (err == nil) != (tc.wantErr == nil) {
				t.Fatalf("error %v, want %v", err, tc.wantErr)
			}
			if got != tc.wantResult {
				t.Errorf("result %s, want %s", got, tc.wantResult)
			}
			if writes != tc.wantWrites {
				t.Errorf("%d writes, want %d", writes, tc.wantWrites)
			}
			if tc.check != nil {
				tc.check(t, desired)
			}
		})
	}
}
