package controlplane

import (
	"fmt"
	"io"
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
	const calling = `Internal error occurred: failed calling webhook "a.b.c": failed to call webhook: Post "https://127.0.0.1:1/x?timeout=30s": `
	for name, c := range map[string]struct {
		code    int
		message string
		again   bool
	}{
		"request":         {http.StatusGatewayTimeout, "Timeout: request did not complete", true},
		"call of webhook": {http.StatusInternalServerError, calling + "context deadline exceeded", true},
		"webhook is down": {http.StatusInternalServerError, calling + "connect: connection refused", false},
		"another mistake": {http.StatusInternalServerError, "no space left", false},
		"a refusal":       {http.StatusForbidden, "context deadline exceeded", false},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if asked.Add(1) == 1 {
					w.WriteHeader(c.code)
					_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"message":%q}`, c.code, c.message)
					return
				}
				_, _ = io.WriteString(w, `{"kind":"Namespace","apiVersion":"v1"}`)
			}))
			defer server.Close()
			config := &rest.Config{Host: server.URL}
			config.Wrap(patiently)
			_, err := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Patch(t.Context(), "a", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
			if c.again && (err != nil || asked.Load() != 2) {
				t.Errorf("asked %d times, want 2; error %v", asked.Load(), err)
			}
			if !c.again && (err == nil || err.Error() != c.message || asked.Load() != 1) {
				t.Errorf("asked %d times, want 1; error %v", asked.Load(), err)
			}
		})
	}
}
