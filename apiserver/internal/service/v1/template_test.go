package v1

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	modelv1 "github.com/raygate/raygate/apiserver/internal/model/v1"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// unfilled is a store without a cache.
type unfilled struct{ TemplateStore }

// Ready implements TemplateStore.
func (unfilled) Ready() error { return store.ErrNotSynced }

// Without a cache, no answer of Kubernetes has more than a page of ConfigMaps, of whatever size.
func TestTemplatesAreReadInPages(t *testing.T) {
	pages := map[string]string{"": "b", "b": "c", "c": ""} // continue tokens by the ones before
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Get("limit") != "100" {
			t.Errorf("the limit is %q", query.Get("limit"))
		}
		list := corev1.ConfigMapList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMapList"}, ListMeta: metav1.ListMeta{Continue: pages[query.Get("continue")]}}
		for _, kind := range []string{modelv1.ConfigTypeTemplate, "another"} {
			list.Items = append(list.Items, corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
				Name: "t" + query.Get("continue"), Namespace: "ns", Labels: map[string]string{modelv1.LabelConfigType: kind},
			}})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}))
	defer server.Close()
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	templates := &Templates{Core: kube.CoreV1().RESTClient(), In: func(string) (TemplateStore, error) { return unfilled{}, nil }}
	all, err := templates.list(t.Context(), "ns")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range all {
		names = append(names, one.GetName())
	}
	if got := strings.Join(names, " "); got != "t tb tc" {
		t.Errorf("the templates are %q", got)
	}
}
