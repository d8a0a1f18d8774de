package store

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// What users run behind the Service proxy may answer without an end. It is cut off.
func TestEndlessAnswerOfAProxy(t *testing.T) {
	for _, code := range []int{http.StatusOK, http.StatusNotFound, http.StatusInternalServerError} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			for part := make([]byte, 1<<20); ; {
				if _, err := w.Write(part); err != nil {
					return
				}
			}
		}))
		defer server.Close()
		core, err := NewClient(&rest.Config{Host: server.URL}, clientscheme.Scheme, corev1.SchemeGroupVersion, ClientOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err = core.Get().Namespace("a").Resource("services").Name("b:dashboard").SubResource("proxy").Suffix("api", "version").MaxRetries(0).Do(ctx).Error()
		if ctx.Err() != nil {
			t.Errorf("%d: the answer was read for three seconds: %v", code, err)
		}
		if status, ok := err.(apierrors.APIStatus); code != http.StatusOK && (!ok || int(status.Status().Code) != code) { //nolint:errorlint // client-go returns it so
			t.Errorf("%d: got %v", code, err)
		}
	}
}
