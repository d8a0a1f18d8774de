package resource

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/apiserver/internal/flowcontrol"
	"github.com/raygate/raygate/apiserver/internal/store"
)

// The Pods of a large cluster are read in pages, of which little is kept.
func TestPodsInPages(t *testing.T) {
	const pages, perPage = 6, 50
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var page int
		_, _ = fmt.Sscanf(r.URL.Query().Get("continue"), "page-%d", &page)
		next := fmt.Sprintf("page-%d", page+1)
		if page == pages-1 {
			next = ""
		}
		var pods []string
		for n := range perPage {
			pods = append(pods, fmt.Sprintf(`{"metadata":{"name":"p-%d-%d","annotations":{"a":%q}},"spec":{"containers":[{"name":"x"}]},"status":{"phase":"Running"}}`, page, n, strings.Repeat("x", 20000)))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","metadata":{"continue":%q},"items":[%s]}`, next, strings.Join(pods, ","))
	}))
	defer server.Close()
	core, err := store.NewClient(&rest.Config{Host: server.URL}, clientscheme.Scheme, corev1.SchemeGroupVersion, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := flowcontrol.New(flowcontrol.Options{Identifier: authn.NewAnyone(), Limits: flowcontrol.Limits{Bytes: 8 << 20, CallerBytes: 8 << 20}}) // all Pods as they come take 24 MiB
	ctx, visit, err := e.Enter(t.Context(), &http.Request{Header: http.Header{}}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer visit.Leave()
	r := &Resource{Options: Options{Core: core}}
	got, err := r.pods(ctx, &store.Item{})
	if err != nil || len(got) != pages*perPage || got[7].Name != "p-0-7" || got[7].Status.Phase != corev1.PodRunning {
		t.Errorf("got %d Pods, %v", len(got), err)
	}
	if held := flowcontrol.Held(ctx); held > pages*perPage*leanPod {
		t.Errorf("%d bytes are held", held)
	}
}
