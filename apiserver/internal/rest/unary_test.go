package rest_test

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/metadata"
	"k8s.io/apimachinery/pkg/types"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/interceptor"
	"github.com/raygate/raygate/apiserver/internal/rest"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// late is a stub that answers when the time of its caller is over.
type late struct{ stub }

func (late) Get(ctx context.Context, _ types.NamespacedName, _ store.ReadOptions) (*store.Item, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		return store.ParseItem([]byte(`{"metadata":{"name":"demo"}}`))
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestClientsBoundCallsByHeader(t *testing.T) {
	h := build(t, late{}, false, flowcontrol.Limits{}, authn.NewAnyone())
	for timeout, want := range map[string]int{"": http.StatusOK, "20m": http.StatusGatewayTimeout, "soon": http.StatusBadRequest} {
		var headers []string
		if timeout != "" {
			headers = []string{"Grpc-Timeout", timeout}
		}
		if w := call(h, "GET", clusters+"/demo", "", headers...); w.Code != want {
			t.Errorf("%q: %d, want %d: %s", timeout, w.Code, want, w.Body)
		}
	}
}

// warned is a stub of which calls fail after a warning.
type warned struct{ stub }

func (warned) Get(ctx context.Context, _ types.NamespacedName, _ store.ReadOptions) (*store.Item, error) {
	interceptor.AddWarning(ctx, "about to\nfail: é")
	return nil, context.Canceled
}

func TestWarningsComeWithErrors(t *testing.T) {
	w := call(build(t, warned{}, false, flowcontrol.Limits{}, authn.NewAnyone()), "GET", clusters+"/demo", "")
	if got := w.Header().Get("Warning"); w.Code == http.StatusOK || got != `299 - "about to fail:  "` {
		t.Errorf("%d with the warning %q", w.Code, got)
	}
}

// An id of a submission may have a colon, which its Location shows as it is. Names of objects have none, so that there it begins a verb.
func TestSubmissionsWithColons(t *testing.T) {
	h := newGateway(t, false)
	for path, want := range map[string]string{
		"/demo/submissions/exp:1": "NOT_FOUND", "/demo/submissions/exp:stop": "NOT_FOUND", "/demo:fly": "PATH_NOT_FOUND", "/demo/submissions:fly": "PATH_NOT_FOUND",
	} {
		if p := problemOf(t, call(h, "GET", clusters+path, "")); p.Reason != want {
			t.Errorf("%s: %+v, want %s", path, p, want)
		}
	}
}

// A short answer has a length, and says that a longer one could have been compressed; a verb without a name is no path.
func TestHeadersOfShortAnswers(t *testing.T) {
	h := newGateway(t, false)
	w := call(h, "POST", clusters, good, "Accept-Encoding", "gzip")
	if w.Code != http.StatusCreated || w.Header().Get("Content-Length") != strconv.Itoa(w.Body.Len()) || !slices.Contains(w.Header().Values("Vary"), "Accept-Encoding") {
		t.Errorf("%d with %v", w.Code, w.Header())
	}
	if w := call(h, "POST", clusters+"/:scale", `{}`); w.Code != http.StatusNotFound {
		t.Errorf("a verb without a name: %d", w.Code)
	}
}

func TestMetadata(t *testing.T) {
	got := rest.Metadata(http.Header{"If-Match": {"7"}, "X-Remote-User": {"root"}, "Authorization": {"Bearer t"}}, map[string]string{"If-Match": "if-match", "X-Request-Id": "x-request-id"})
	if diff := cmp.Diff(metadata.MD{"if-match": {"7"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
