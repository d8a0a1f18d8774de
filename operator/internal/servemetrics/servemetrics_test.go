package servemetrics

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestExpressions holds the queries to those that promtool runs.
func TestExpressions(t *testing.T) {
	tested, err := os.ReadFile("../../../observability/rules/tests/canary.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range []string{"errorRate", "p50", "p99"} {
		if want := (Query{Namespace: "team", Cluster: "demo-bad", Over: 2 * time.Minute}).expression(metric); !strings.Contains(string(tested), "'"+want+"'") {
			t.Errorf("not tested: %s", want)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	vector := func(samples ...string) string {
		for i := range samples {
			samples[i] = fmt.Sprintf(`{"metric":{},"value":[1,"%s"]}`, samples[i])
		}
		return `{"status":"success","data":{"resultType":"vector","result":[` + strings.Join(samples, ",") + `]}}`
	}
	for name, tc := range map[string]struct {
		code   int
		answer string
		want   map[string]float64
		fails  string
	}{
		"a value":                  {200, vector("0.25"), map[string]float64{"errorRate": 0.25, "p99": 0.25}, ""},
		"no series":                {200, vector(), map[string]float64{}, ""},
		"no requests":              {200, vector("NaN"), map[string]float64{}, ""},
		"several values":           {200, vector("1", "2"), map[string]float64{}, ""},
		"no vector":                {200, `{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`, nil, "scalar"},
		"no Prometheus":            {200, "<html>", nil, "errorRate"},
		"an error":                 {503, `{"status":"error","errorType":"timeout","error":"query timed out"}`, nil, "503"},
		"an answer without an end": {200, vector("1") + strings.Repeat(" ", maxAnswer), nil, "too large"},
		"another host":             {302, "", nil, "errorRate"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/prefix/api/v1/query" || !strings.Contains(r.FormValue("query"), `ray_io_cluster="demo-x"`) {
					t.Errorf("%s %s", r.URL, r.FormValue("query"))
				}
				w.Header().Set("Location", "http://"+r.Host+"/prefix/elsewhere")
				w.WriteHeader(tc.code)
				_, _ = io.WriteString(w, tc.answer)
			}))
			defer server.Close()
			read, err := New(server.URL + "/prefix/")
			if err != nil {
				t.Fatal(err)
			}
			got, err := read(t.Context(), Query{Namespace: "team", Cluster: "demo-x", Metrics: []string{"errorRate", "p99"}, Over: time.Minute})
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("error %v, values (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestReadEnds with its context, although Prometheus does not answer.
func TestReadEnds(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-ended }))
	defer server.Close()
	defer close(ended)
	read, err := New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := read(ctx, Query{Metrics: []string{"errorRate"}}); ctx.Err() == nil || err == nil {
		t.Errorf("error %v", err)
	}
}
