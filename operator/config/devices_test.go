package config_test

import (
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"

	"github.com/raygate/raygate/operator/internal/webhook/deviceadmission"
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
