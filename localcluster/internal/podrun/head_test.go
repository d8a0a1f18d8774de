package podrun

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestHeadStartsForALostClient: a head is there for the next client, although the first has given up before it started.
func TestHeadStartsForALostClient(t *testing.T) {
	p := rayPod("head", headNode)
	r := testRuntime(t, p)
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(p)
	}))
	defer api.Close()
	var err error
	if r.opts.Client, err = kubernetes.NewForConfig(&rest.Config{Host: api.URL}); err != nil { // the fake one ignores contexts
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Endpoint(ctx, p, defaultDashboardPort); err != nil {
		t.Error(err)
	}
}
