package webhook

import (
	"os"
	"slices"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"
)

// TestTheOperatorDoesNotAskItself holds that the configuration knows the operator by its user name: what it writes is not validated, and it
// is not warned of edits of clusters that belong to a RayJob or a RayService, as every other ServiceAccount is.
func TestTheOperatorDoesNotAskItself(t *testing.T) {
	data, err := os.ReadFile("../../config/components/webhook/validating.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	if err := yaml.UnmarshalStrict(data, &configuration); err != nil {
		t.Fatal(err)
	}
	want := admissionregistrationv1.MatchCondition{
		Name: "not-the-operator", Expression: "request.userInfo.username != 'system:serviceaccount:raygate-system:raygate-operator'",
	}
	for _, w := range configuration.Webhooks {
		if !slices.Contains(w.MatchConditions, want) {
			t.Errorf("%s: conditions %v, want among them %v", w.Name, w.MatchConditions, want)
		}
	}
	if len(configuration.Webhooks) == 0 {
		t.Error("no webhook")
	}
}
