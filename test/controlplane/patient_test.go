package controlplane

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestClientsRepeatWhatTimedOut(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if asked.Add(1) == 1 {
			w.WriteHeader(http.StatusGatewayTimeout)
			return
		}
		_, _ = w.Write([]byte(`{"kind":"Namespace","apiVersion":"v1"}`))
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL}
	config.Wrap(patiently)
	_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Patch(t.Context(), "a", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
	if err != nil || asked.Load() != 2 {
		t.Errorf("asked %d times, want 2; error %v", asked.Load(), err)
	}
}
