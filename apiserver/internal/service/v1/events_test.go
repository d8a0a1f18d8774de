package v1

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// TestEventsAreNotWaitedFor has a Kubernetes that does not answer, and one that fails: the object is shown without.
func TestEventsAreNotWaitedFor(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"it hangs": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"it fails": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
	} {
		server := httptest.NewServer(answer)
		kube, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		warnings := 0
		events := &Events{Core: kube.CoreV1().RESTClient(), Warn: func(context.Context, string) { warnings++ }}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		if got := events.about(ctx, "ns", "uid"); len(got) > 0 || warnings != 1 || ctx.Err() != nil {
			t.Errorf("%s: %d events, %d warnings, %v", name, len(got), warnings, ctx.Err())
		}
		cancel()
		server.Close()
	}
}
