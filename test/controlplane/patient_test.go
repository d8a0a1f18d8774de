package controlplane

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func TestClientsRepeatWhatTimedOut(t *testing.T) {
	const calling = `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"message":"Internal error occurred: failed calling webhook \"a.b.c\": failed to call webhook: Post \"https://127.0.0.1:1/x?timeout=30s\": `
	for name, c := range map[string]struct {
		code  int
		body  string
		again bool
	}{
		"request":         {http.StatusGatewayTimeout, "", true},
		"call of webhook": {http.StatusInternalServerError, calling + `context deadline exceeded"}`, true},
		"webhook is down": {http.StatusInternalServerError, calling + `connect: connection refused"}`, false},
		"another mistake": {http.StatusInternalServerError, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"message":"no space left"}`, false},
		"a refusal":       {http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"message":"context deadline exceeded"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if asked.Add(1) == 1 {
					w.WriteHeader(c.code)
					_, _ = io.WriteString(w, c.body)
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
			if _, said, _ := strings.Cut(c.body, `"message":"`); !c.again && (err == nil || asked.Load() != 1 || !strings.HasPrefix(said, strings.ReplaceAll(err.Error(), `"`, `\"`))) {
				t.Errorf("asked %d times, want 1; error %v", asked.Load(), err)
			}
		})
	}
}
