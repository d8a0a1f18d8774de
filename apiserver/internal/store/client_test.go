package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// An endless answer of a user's program behind the Service proxy is cut off.
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
		core, err := NewClient(&rest.Config{Host: server.URL}, clientscheme.Scheme, corev1.SchemeGroupVersion, nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err = core.Get().Namespace("a").Resource("services").Name("b:dashboard").SubResource("proxy").Suffix("api", "version").MaxRetries(0).Do(ctx).Error()
		if ctx.Err() != nil {
			t.Errorf("%d: the answer was read without end: %v", code, err)
		}
		if status, ok := err.(apierrors.APIStatus); code != http.StatusOK && (!ok || int(status.Status().Code) != code) {
			t.Errorf("%d: got %v", code, err)
		}
	}
}

// Answers of the API server count against the caller that they are read for, except for logs.
func TestAnswersCount(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"Secret","apiVersion":"v1","metadata":{"annotations":{"a":%q}}}`, strings.Repeat("x", 3<<20))
	}))
	defer server.Close()
	core, err := NewClient(&rest.Config{Host: server.URL}, clientscheme.Scheme, corev1.SchemeGroupVersion, nil)
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[int64]bool{64 << 20: true, 1 << 20: false} {
		e := flowcontrol.New(flowcontrol.Options{Identifier: authn.NewAnyone(), Limits: flowcontrol.Limits{Bytes: limit, CallerBytes: limit}})
		ctx, visit, err := e.Enter(t.Context(), &http.Request{Header: http.Header{}}, false)
		if err != nil {
			t.Fatal(err)
		}
		err = core.Get().Namespace("a").Resource("secrets").Name("b").Do(ctx).Error()
		var full *rpcstatus.Error
		if (err == nil) != want || !want && (!errors.As(err, &full) || full.Reason != "TOO_LARGE") {
			t.Errorf("with room for %d bytes: %v", limit, err)
		}
		if want && flowcontrol.Held(ctx) < 3<<20 {
			t.Errorf("%d bytes were counted", flowcontrol.Held(ctx))
		}
		visit.Leave()
		if _, err := core.Get().Namespace("a").Resource("pods").Name("b").SubResource("log").DoRaw(ctx); err != nil {
			t.Errorf("a log, with room for %d bytes: %v", limit, err)
		}
	}
}
