package config_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/raygate/raygate/operator/internal/webhook/deviceadmission"
	"github.com/raygate/raygate/operator/internal/webhook/registration"
	"github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/shipped"
)

// TestDeviceAdmission: the component adds its webhooks to the registrations of the others, so that certificates and namespaces follow, and is in no
// overlay by itself.
func TestDeviceAdmission(t *testing.T) {
	for _, overlay := range overlays {
		for _, w := range find[admissionregistrationv1.MutatingWebhookConfiguration](t, build(t, overlay, nil), "MutatingWebhookConfiguration") {
			if slices.ContainsFunc(w.Webhooks, func(w admissionregistrationv1.MutatingWebhook) bool { return strings.HasSuffix(w.Name, ".pod.ray.io") }) {
				t.Errorf("overlay %s has device admission", overlay)
			}
		}
		if !hasWebhooks(overlay) {
			continue
		}
		t.Run(overlay, func(t *testing.T) {
			objects := build(t, overlay, func(s string) string {
				s = strings.Replace(s, "- ../components/webhook\n", "- ../components/webhook\n- ../components/device-admission\n", 1)
				return strings.Replace(s, "namespace: raygate-system", "namespace: elsewhere", 1)
			})
			namespaceFollows(t, overlay, objects)
			mutating := find[admissionregistrationv1.MutatingWebhookConfiguration](t, objects, "MutatingWebhookConfiguration")[0]
			validating := find[admissionregistrationv1.ValidatingWebhookConfiguration](t, objects, "ValidatingWebhookConfiguration")[0]
			m, v := mutating.Webhooks[len(mutating.Webhooks)-1], validating.Webhooks[len(validating.Webhooks)-1]
			if m.Name != "devices.pod.ray.io" || *m.FailurePolicy != admissionregistrationv1.Ignore || *m.SideEffects != admissionregistrationv1.SideEffectClassNone ||
				*m.ReinvocationPolicy != admissionregistrationv1.IfNeededReinvocationPolicy || *m.ClientConfig.Service.Path != deviceadmission.MutatePath || m.ClientConfig.Service.Namespace != "elsewhere" {
				t.Errorf("completing: %+v", m)
			}
			if v.Name != "devices-check.pod.ray.io" || *v.FailurePolicy != admissionregistrationv1.Fail || *v.SideEffects != admissionregistrationv1.SideEffectClassNoneOnDryRun ||
				*v.ClientConfig.Service.Path != deviceadmission.ValidatePath || v.ClientConfig.Service.Namespace != "elsewhere" {
				t.Errorf("checking: %+v", v)
			}
			for _, rules := range [][]admissionregistrationv1.RuleWithOperations{m.Rules, v.Rules} {
				if len(rules) != 1 || !slices.Equal(rules[0].Resources, []string{"pods"}) || len(rules[0].Operations) != 1 || rules[0].Operations[0] != admissionregistrationv1.Create {
					t.Errorf("rules %+v", rules)
				}
			}
			c := find[appsv1.Deployment](t, objects, "Deployment")[0].Spec.Template.Spec.Containers[0]
			if !slices.Contains(c.Args, "--device-registry=shipped") {
				t.Errorf("arguments %v", c.Args)
			}
		})
	}
}

// TestDeviceScopes: what the components install is what the operator puts back, which therefore has nothing to do.
func TestDeviceScopes(t *testing.T) {
	program, err := load.Registry(shipped.HAMi)
	if err != nil {
		t.Fatal(err)
	}
	for scope, component := range map[string]string{"RayPods": "", "Labelled": "- ../components/device-admission-labelled\n", "All": "- ../components/device-admission-all\n"} {
		objects := build(t, "with-webhooks-self-managed", func(s string) string {
			return strings.Replace(s, "- ../components/webhook\n", "- ../components/webhook\n- ../components/device-admission\n"+component, 1)
		})
		mutating := find[admissionregistrationv1.MutatingWebhookConfiguration](t, objects, "MutatingWebhookConfiguration")[0]
		validating := find[admissionregistrationv1.ValidatingWebhookConfiguration](t, objects, "ValidatingWebhookConfiguration")[0]
		if got := mutating.Annotations[registration.AnnotationScope]; got != scope {
			t.Errorf("scope %s, want %s", got, scope)
		}
		c := fake.NewClientBuilder().WithObjects(mutating.DeepCopy(), validating.DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
			Update: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.UpdateOption) error {
				t.Errorf("%s: the operator would change %s", scope, o.GetName())
				return nil
			},
		}).Build()
		k := &registration.Keeper{Reader: c, Writer: c, Registry: load.NewLive(program), Namespace: "raygate-system",
			Mutating: mutating.Name, Validating: validating.Name, Every: time.Hour, Clock: clock.RealClock{}}
		once, cancel := context.WithCancel(t.Context())
		cancel()
		if err := k.Start(once); err != nil {
			t.Error(err)
		}
	}
}
