package console

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/authz"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	gateway "github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/rpcstatus"
)

// token is what Kubernetes knows in these tests, as the token of ada.
const token = "header.payload.signature-of-ada"

// grants are what ada may do, as verb resource.
type grants map[string]bool

// Authorize implements authz.Authorizer.
func (g grants) Authorize(_ context.Context, a authz.Access) error {
	what := a.Verb + " " + a.Resource
	if a.Subresource != "" {
		what += "/" + a.Subresource
	}
	if a.Name != "" {
		what += " " + a.Name
	}
	if g[what] {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Resource: a.Resource}, a.Name, nil)
}

func newConsole(t *testing.T, mode authn.Mode, g grants) *Console {
	t.Helper()
	table := rpcstatus.NewTable(rpcstatus.Row{Err: authn.ErrNoCredentials, Code: 16, Reason: "UNAUTHENTICATED"},
		rpcstatus.Row{Err: authn.ErrBadCredentials, Code: 16, Reason: "UNAUTHENTICATED"})
	identifier := authn.NewAnyone()
	if mode == authn.Passthrough {
		identifier = authn.NewTokens(func(ctx context.Context) (*authenticationv1.SelfSubjectReview, error) {
			if authn.CallerFrom(ctx).Key() != keyOf(t, token) && authn.CallerFrom(ctx).Key() != keyOf(t, longToken) {
				return nil, apierrors.NewUnauthorized("the token has expired")
			}
			return &authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: "ada", Groups: []string{"readers"}}}}, nil
		}, nil)
	}
	c, err := New(Options{
		Login: mode == authn.Passthrough, FlowControl: flowcontrol.New(flowcontrol.Options{Identifier: identifier, Table: table, MaxBody: 1 << 20}), Authorizer: g, Version: "v1.2.3",
		WriteError: func(w http.ResponseWriter, err error) {
			st, code := gateway.Failure(table, w.Header(), err)
			w.WriteHeader(code)
			_, _ = io.WriteString(w, st.Message())
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// keyOf is the key of the caller with a token.
func keyOf(t *testing.T, text string) string {
	t.Helper()
	var key string
	_, _ = authn.NewTokens(func(ctx context.Context) (*authenticationv1.SelfSubjectReview, error) {
		key = authn.CallerFrom(ctx).Key()
		return nil, apierrors.NewUnauthorized("")
	}, nil)(&http.Request{Header: http.Header{"Authorization": {"Bearer " + text}}}).Lookup(t.Context())
	return key
}

// served is the console in the server of the gateway, beside an API that answers 418 to what is its own.
func served(c *Console, origins ...string) http.Handler {
	api := gateway.API{Prefix: "/apis/v2/", WriteError: c.WriteError, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/apis/v2/") {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.WriteHeader(http.StatusTeapot)
	})}
	return c.WithSession(gateway.New(gateway.Options{APIs: append([]gateway.API{api}, c.APIs()...), Origins: origins}))
}

// call sends a request as the gateway gets it.
func call(c *Console, method, target, body string, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	served(c).ServeHTTP(w, r)
	return w
}

func decode[T any](t *testing.T, w *httptest.ResponseRecorder) (into T) {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("HTTP %d: %s", w.Code, w.Body)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &into); err != nil {
		t.Fatal(err)
	}
	return into
}

// logOf returns what f logs, at the most verbose level.
func logOf(t *testing.T, f func()) string {
	t.Helper()
	var fs flag.FlagSet
	klog.InitFlags(&fs)
	for name, value := range map[string]string{"logtostderr": "false", "alsologtostderr": "false", "stderrthreshold": "FATAL", "v": "10"} {
		if err := fs.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	var text bytes.Buffer
	klog.SetOutput(&text)
	t.Cleanup(func() {
		klog.SetOutput(io.Discard)
		_ = fs.Set("v", "0")
		_ = fs.Set("logtostderr", "true")
	})
	klog.V(10).Info("Begin")
	f()
	klog.Flush()
	if !strings.Contains(text.String(), "Begin") {
		t.Fatal("the log does not arrive here")
	}
	return text.String()
}
