package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A request is lost when it has no answer, or one that is not of the application, and each is counted where it was sent to.
func TestDuring(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.Contains(r.URL.Path, "/services/good:8000/proxy/shop"):
			_, _ = w.Write([]byte(`{"application":"shop"}`))
		case strings.Contains(r.URL.Path, "/services/other:"):
			_, _ = w.Write([]byte(`{"application":"other"}`))
		default:
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	l := &load{client: server.Client(), host: server.URL, namespace: "ns", logf: t.Logf}
	var n atomic.Int32
	targets := []goal{{"good", "a"}, {"good", "b"}, {"other", "b"}, {"none", "b"}}
	got, err := l.during(t.Context(), 20, func() goal { return targets[int(n.Add(1))%4] }, func(context.Context) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]tally{"a": {5, 0}, "b": {15, 10}}, got, cmp.AllowUnexported(tally{})); diff != "" || total(got) != (tally{20, 10}) {
		t.Errorf("tallies (-want +got):\n%s", diff)
	}
	broken := errors.New("broken")
	if _, err := l.during(t.Context(), 1000000, func() goal { return targets[0] }, func(context.Context) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("want the error of what happens, got %v", err)
	}
}

func TestQuestions(t *testing.T) {
	q := &questions{}
	for _, r := range []struct{ method, url string }{
		{"GET", "/api/v1/namespaces/ns/services/my-shop-abcde-head-svc:8265/proxy/api/serve/applications/?api_type=declarative"},
		{"GET", "/api/v1/namespaces/ns/services/my-shop-fghij-head-svc:8265/proxy/api/serve/applications/"}, // of the same service
		{"PUT", "/api/v1/namespaces/ns/services/my-shop-abcde-head-svc:8265/proxy/api/serve/applications/"},
		{"GET", "/api/v1/namespaces/ns/services/my-shop-abcde-head-svc:8265/proxy/api/jobs/"},
		{"GET", "/api/v1/namespaces/ns/pods/my-shop-abcde-head:8000/proxy/-/healthz"},
		{"GET", "/api/v1/namespaces/ns/services/my-shop-head-svc"},
	} {
		q.note(httptest.NewRequest(r.method, r.url, nil))
	}
	if diff := cmp.Diff(map[string]int{"my-shop": 2}, q.counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	if got := q.most(8 * time.Second); got != 0.5 {
		t.Errorf("%v in 2 s", got)
	}
}

func TestReportIdleServices(t *testing.T) {
	var report Report
	s := &session{name: "services", opts: Options{Services: 100}, report: &report, logf: t.Logf}
	s.reportIdleServices(10, 1.5, 1, map[request]int{
		{"get", "services/proxy"}: 600, {"get", "pods/proxy"}: 3000, {"update", "services/proxy"}: 1, {"update", "rayservices.ray.io/status"}: 2,
		{"watch", "pods"}: 3, {"list", "pods"}: 4,
	})
	got := map[string]float64{}
	for _, row := range report.Rows[1:] {
		got[row.What+" "+row.Verdict] = row.Measured
	}
	want := map[string]float64{
		"100 RayServices that deploy: questions to the dashboards of one in 2 s, at most missed": 1.5,
		"100 RayServices, idle: questions to the dashboard of one in 10 s, at most reached":      1,
		"100 RayServices, idle: API writes and configurations for Ray in a minute missed":        3,
		"  API reads besides watches ":         4,
		"  health checks of proxies on heads ": 3000,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}
