package chart

import (
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// `kubectl ray version` asks for Deployments of all namespaces with the label of KubeRay's operator, and shows the image of what it finds: the operator and nothing else,
// in each way to install it.
func TestOperatorIsFoundByItsLabel(t *testing.T) {
	kuberay, err := os.ReadFile("testdata/kuberay-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, objects := range map[string][]*unstructured.Unstructured{
		"chart":                     render(t, ""),
		"chart with webhooks":       render(t, "{gateway: {enabled: true}, webhooks: {mode: self-managed}}"),
		"chart in one namespace":    render(t, "{singleNamespaceInstall: true, gateway: {enabled: true}}"),
		"values of KubeRay":         render(t, string(kuberay)),
		"kustomize":                 kustomize(t, namespace, "operator/config/default"),
		"kustomize, with webhooks":  kustomize(t, namespace, "operator/config/with-webhooks-self-managed"),
		"kustomize, with a gateway": kustomize(t, namespace, "apiserver/config/with-operator"),
	} {
		var found []string
		for _, o := range objects {
			if o.GetKind() == "Deployment" && o.GetLabels()["app.kubernetes.io/component"] == "kuberay-operator" {
				found = append(found, o.GetName())
			}
		}
		if len(found) != 1 {
			t.Errorf("%s: the Deployments %q have the label, want one", name, found)
			continue
		}
		containers := find[appsv1.Deployment](t, objects, "Deployment", found[0]).Spec.Template.Spec.Containers
		repository, tag, ok := strings.Cut(containers[0].Image, ":")
		if !ok || tag == "" || !strings.HasSuffix(repository, "raygate-operator") || len(containers) != 1 {
			t.Errorf("%s: the image is %q of %d containers, want that of the operator with a tag", name, containers[0].Image, len(containers))
		}
	}
}
