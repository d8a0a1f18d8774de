package rayservice

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/pkg/dashboard/dashboardfake"
)

// stalled reports whether the condition Stalled has the reason.
func stalled(reason string) func(*rayv1.RayService) bool {
	return func(rs *rayv1.RayService) bool {
		c := meta.FindStatusCondition(rs.Status.Conditions, rayv1.RayServiceStalled)
		return c != nil && c.Status == metav1.ConditionTrue && c.Reason == reason
	}
}

// TestServiceFollowsTheTemplate also where no cluster changes, and leaves none of an earlier name.
func TestServiceFollowsTheTemplate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyService())
		s.comesUp()
		find := func(name string) *corev1.Service {
			svc := &corev1.Service{}
			err := s.store.Get(context.Background(), client.ObjectKey{Namespace: "default", Name: name}, svc)
			if apierrors.IsNotFound(err) {
				return nil
			}
			s.must(err)
			return svc
		}
		s.edit(func(spec *rayv1.RayServiceSpec) {
			spec.ServeService = &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}}
		})
		s.until("of another type", func(*rayv1.RayService) bool { return find("demo-serve-svc").Spec.Type == corev1.ServiceTypeNodePort })
		s.edit(func(spec *rayv1.RayServiceSpec) { spec.ServeService.Name = "shop" })
		s.until("renamed", func(*rayv1.RayService) bool { return find("shop") != nil && find("demo-serve-svc") == nil })
		s.until("ready", s.settled)
		s.edit(func(spec *rayv1.RayServiceSpec) { spec.ServeService = nil })
		s.until("renamed back", func(*rayv1.RayService) bool { return find("shop") == nil && find("demo-serve-svc") != nil })
		if s.made != 1 {
			t.Errorf("%d clusters were made", s.made)
		}
	})
}

// TestWhatCannotBeSentIsToldOf, and can be repaired.
func TestWhatCannotBeSentIsToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyService(func(spec *rayv1.RayServiceSpec) { spec.ServeConfigV2 = "{}" })) // Ray wants applications
		s.until("refused", stalled(rayv1.ReasonServeConfigRefused))
		s.until("told of", func(*rayv1.RayService) bool {
			return strings.Contains(s.told(), "Warning FailedToUpdateServeApplications")
		})
		s.edit(func(spec *rayv1.RayServiceSpec) { spec.ServeConfigV2 = config1 })
		s.comesUp()
		s.until("no longer stalled", func(rs *rayv1.RayService) bool { return !is(rs, rayv1.RayServiceStalled) })
		if n := strings.Count(s.told(), "Warning FailedToUpdateServeApplications"); n != 1 {
			t.Errorf("told of %d times:\n%s", n, s.told())
		}
	})
}

// TestLostAnswerIsNoFailure: Ray has accepted what it did not answer in time.
func TestLostAnswerIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyService())
		s.dash("demo-c1").LoseAnswers(1)
		s.comesUp()
		if strings.Contains(s.told(), "Warning") {
			t.Errorf("a warning:\n%s", s.told())
		}
	})
}

// TestTroubleOfDashboardsFlapsNothing: conditions stay, and nothing is written.
func TestTroubleOfDashboardsFlapsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyService())
		s.change = append(s.change, func(c *Config) { c.Probe = func(context.Context, dashboards.Pod) (bool, error) { return true, nil } })
		s.restart() // with proxies that answer all the time
		s.comesUp()
		s.quiet()
		before, d := s.get().ResourceVersion, s.dash(s.first)
		for range 3 {
			calls := d.Calls("ServeDetails")
			d.Fail(&dashboard.Error{Call: "ServeDetails", Kind: dashboard.ErrUnavailable, Code: 503})
			s.until("failures", func(*rayv1.RayService) bool { return d.Calls("ServeDetails") > calls })
			d.Fail(nil)
			calls = d.Calls("ServeDetails")
			s.until("answers", func(*rayv1.RayService) bool { return d.Calls("ServeDetails") > calls+1 })
		}
		if after := s.get(); after.ResourceVersion != before {
			t.Errorf("written for nothing: %+v\n%s", after.Status, s.told())
		}
	})
}

// last is a dashboard that answers nothing after it was sent a configuration.
type last struct {
	dashboard.Client
	fake *dashboardfake.Dashboard
}

// DeployServe implements dashboard.Client.
func (l *last) DeployServe(ctx context.Context, config json.RawMessage) error {
	err := l.Client.DeployServe(ctx, config)
	l.fake.Fail(&dashboard.Error{Call: "ServeDetails", Kind: dashboard.ErrUnavailable, Code: 503})
	return err
}

// TestHeadThatIsAwayIsNotLookedAtBusily: what ends that is an event.
func TestHeadThatIsAwayIsNotLookedAtBusily(t *testing.T) {
	for name, spoil := range map[string]func(*stage){
		"the head is not ready": func(s *stage) { s.set(s.downs, s.first, true) },
		"the dashboard fails after a configuration": func(s *stage) {
			s.change = append(s.change, func(c *Config) {
				connect := c.Connect
				c.Connect = func(a dashboards.Address, token dashboard.Token) (dashboard.Client, error) {
					d, err := connect(a, token)
					return &last{d, s.dash(s.first)}, err
				}
			})
			s.restart()
			s.edit(newConfig)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t, storyService())
				s.comesUp()
				spoil(s)
				for range 30 {
					s.until("looked at", once())
				}
				result, err := s.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: demo})
				if s.must(err); result.RequeueAfter > 0 && result.RequeueAfter < 5*time.Second {
					t.Errorf("looked at again after %s", result.RequeueAfter)
				}
			})
		})
	}
}

// TestRefusalWithAnotherTextEachTime, as of a webhook that puts the time into it, is tried again as seldom as one with the same text.
func TestRefusalWithAnotherTextEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyService())
		s.comesUp()
		refusals := 0
		s.change = append(s.change, func(c *Config) {
			c.Client = interceptor.NewClient(c.Client.(client.WithWatch), interceptor.Funcs{
				Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					if _, cluster := o.(*rayv1.RayCluster); !cluster {
						return c.Patch(ctx, o, p, opts...)
					}
					refusals++
					return apierrors.NewForbidden(schema.GroupResource{Resource: "rayclusters"}, o.GetName(), fmt.Errorf("request %d", refusals))
				},
			})
		})
		s.restart()
		s.edit(func(spec *rayv1.RayServiceSpec) { spec.RayClusterSpec.WorkerGroupSpecs[0].Replicas = new(int32(2)) })
		for end := time.Now().Add(time.Minute); time.Now().Before(end); {
			result, err := s.r.Reconcile(t.Context(), ctrl.Request{NamespacedName: demo})
			s.must(err)
			time.Sleep(min(max(result.RequeueAfter, time.Millisecond), time.Second))
		}
		if refusals < 2 || refusals > 4 {
			t.Errorf("%d attempts in a minute", refusals)
		}
		if rs := s.get(); !stalled(rayv1.ReasonChildRefused)(rs) {
			t.Errorf("conditions %+v", rs.Status.Conditions)
		}
	})
}

// TestRestartSendsNothing: an operator that knows nothing compares with what Ray runs.
func TestRestartSendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyService())
		s.comesUp()
		s.quiet()
		before := s.told()
		s.restart()
		s.quiet()
		if after := s.told(); after != before {
			t.Errorf("written for nothing:\n%s", strings.TrimPrefix(after, before))
		}
	})
}

// TestRefusedService gets no cluster while it is rejected. A service that runs keeps serving, and its health is still checked.
func TestRefusedService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyService())
		annotate := func(value map[string]string) {
			rs := s.get()
			rs.Annotations = value
			s.must(s.store.Update(t.Context(), rs))
		}
		refused := func(rs *rayv1.RayService) bool {
			return condition(rs, rayv1.RayServiceReady).Reason == rayv1.ReasonRayServiceValidationFailed
		}
		soon := map[string]string{rayv1.AnnotationInitializingTimeout: "soon"}
		annotate(soon)
		s.until("refused", refused)
		for range 5 {
			s.until("looked at", once())
		}
		if n := strings.Count(s.told(), "Warning InvalidRayServiceMetadata"); n != 1 || s.made > 0 {
			t.Errorf("told of %d times, with %d clusters:\n%s", n, s.made, s.told())
		}
		annotate(nil)
		s.comesUp()
		annotate(soon)
		s.until("refused again", refused)
		s.set(s.ill, s.first, true)
		s.until("looked after", func(rs *rayv1.RayService) bool { return rs.Status.NumServeEndpoints == 0 })
		s.set(s.ill, s.first, false)
		annotate(nil)
		s.until("ready again", s.settled)
	})
}

// TestServiceOfAnotherController is left as it is.
func TestServiceOfAnotherController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, storyService(func(spec *rayv1.RayServiceSpec) { spec.ManagedBy = new(rayv1.ManagedByMultiKueue) }))
		for range 5 {
			s.until("looked at", once())
		}
		if rs := s.get(); len(rs.Finalizers)+len(rs.Status.Conditions)+s.made > 0 {
			t.Errorf("%+v", rs)
		}
	})
}
