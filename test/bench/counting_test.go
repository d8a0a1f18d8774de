package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"
)

func TestClassify(t *testing.T) {
	tests := map[string]struct {
		method, url string
		want        string // empty: not counted
	}{
		"create of a Pod":           {"POST", "/api/v1/namespaces/a/pods", "create pods"},
		"binding is a subresource":  {"POST", "/api/v1/namespaces/a/pods/b/binding", "create pods/binding"},
		"status of a RayCluster":    {"PUT", "/apis/ray.io/v1/namespaces/a/rayclusters/b/status", "update rayclusters.ray.io/status"},
		"apply is a patch":          {"PATCH", "/apis/ray.io/v1/namespaces/a/rayclusters/b?force=true", "patch rayclusters.ray.io"},
		"watch of all namespaces":   {"GET", "/api/v1/pods?watch=true&resourceVersion=1", "watch pods"},
		"list of a namespace":       {"GET", "/api/v1/namespaces/a/pods", "list pods"},
		"get of a cluster resource": {"GET", "/api/v1/nodes/n", "get nodes"},
		"get of a namespace":        {"GET", "/api/v1/namespaces/a", "get namespaces"},
		"events of the new group":   {"POST", "/apis/events.k8s.io/v1/namespaces/a/events", "create events.events.k8s.io"},
		"discovery":                 {"GET", "/apis/ray.io/v1", ""},
		"health":                    {"GET", "/readyz", ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			q, ok := classify(httptest.NewRequest(tc.method, tc.url, nil))
			got := ""
			if ok {
				got = q.verb + " " + q.resource
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCountingProxyPassesOnAndCounts(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, body)
	}))
	defer server.Close()
	p, err := newCountingProxy(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	for range 2 {
		resp, err := http.Post(p.url()+"/api/v1/namespaces/a/pods", "text/plain", strings.NewReader("body"))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if diff := cmp.Diff("POST /api/v1/namespaces/a/pods body", string(got)); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
	}
	want := map[request]int{{"create", "pods"}: 2}
	if diff := cmp.Diff(want, p.reset(), cmp.AllowUnexported(request{})); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if n := len(p.reset()); n != 0 {
		t.Errorf("%d counts after reset, want none", n)
	}
}
