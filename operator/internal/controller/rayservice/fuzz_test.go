package rayservice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/rayservice"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/operator/internal/serveplan"
	"github.com/raygate/raygate/pkg/dashboard"
)

// canned answers all requests alike.
type canned struct {
	code        int
	contentType string
	body        []byte
}

// RoundTrip implements http.RoundTripper.
func (a canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.code == 0 {
		return nil, errors.New("connection refused")
	}
	return &http.Response{
		StatusCode: a.code, Request: r, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {a.contentType}}, Body: io.NopCloser(bytes.NewReader(a.body)),
	}, nil
}

func (a canned) client(t testing.TB) dashboard.Client {
	t.Helper()
	c, err := dashboard.New(dashboard.Config{URL: &url.URL{Scheme: "http", Host: "demo:8265"}, Transport: a, MaxServe: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func addReplies(f *testing.F, codes ...int) {
	f.Helper()
	const running = `{"applications":{"shop":{"status":"RUNNING","deployed_app_config":{"name":"shop","import_path":"a:b"},"deployments":{"Front":{"status":"HEALTHY","target_num_replicas":1,"replicas":[{"state":"RUNNING"}]}}}},"target_capacity":100}`
	long := bytes.Repeat([]byte(`\u0000`), 20000)
	for _, body := range []string{
		running, "{}", "null", "[]", "", `{"applications":{}}`, `{"applications":{"shop":{}}}`, `{"applications":{"":{"status":"RUNNING"},"default":{"status":"UNHEALTHY"}}}`,
		`{"applications":{"shop":{"status":"DEPLOY_FAILED","message":"` + string(long) + `","deployments":{"` + string(long) + `":{"status":"UNHEALTHY","target_num_replicas":1e300}}}}}`,
		`{"applications":{"shop":{"status":"` + string(long) + `"}},"target_capacity":-1,"http_options":{"root_path":"/../../secrets"}}`, `{"apiVersion":"v1","kind":"Status"}`, "<html>",
	} {
		for _, code := range codes {
			f.Add(code, "application/json", []byte(body))
		}
		f.Add(200, "text/html", []byte(body))
	}
}

// FuzzServeReply plans by any reply of Ray Serve: no panic, a status that can be saved and does not change by itself, and no switch to a cluster whose
// applications do not run.
func FuzzServeReply(f *testing.F) {
	addReplies(f, 0, 200, 299, 400, 401, 404, 500, 503)
	f.Fuzz(func(t *testing.T, code int, contentType string, body []byte) {
		if code < 0 || code > 999 {
			return
		}
		rs := storyService(inSteps(50, 25))
		rs.Status.ActiveServiceStatus.RayClusterName, rs.Status.PendingServiceStatus.RayClusterName = "demo-a", "demo-b"
		d, err := canned{code, contentType, body}.client(t).ServeDetails(t.Context())
		at := time.Unix(1760000000, 0)
		plan := func() serveplan.Plan {
			s := newScope(rs, at, nil)
			answer := serveAnswer{Value: d, AskedAt: at, Err: err}
			if err != nil {
				answer.AskedAt, answer.FailedAt, answer.FailingSince = time.Time{}, at, at.Add(-time.Hour)
			}
			s.in.Strategy, s.in.Suffix = serveplan.Strategy{NewCluster: true}, func() string { return "c" }
			s.in.HeadService, s.in.ServeService = "demo-a", "demo-a"
			for _, name := range s.used() {
				match := rayservice.Different
				if name == "demo-b" {
					match = rayservice.Same
				}
				s.in.Clusters[name] = serveplan.Cluster{Match: match, HeadReady: true, Pods: 1, Serve: serveOf(s, answer, tracked{known: true, text: config1})}
			}
			return serveplan.Next(s.in)
		}
		p := plan()
		assertSavable(t, &p.Status)
		if again := plan(); serveplan.Differs(&p.Status, &again.Status) {
			t.Errorf("the same reply says something else (-first +second):\n%s", cmp.Diff(p.Status, again.Status))
		}
		all := err == nil && len(d.Applications) > 0
		if err == nil {
			for _, app := range d.Applications {
				all = all && app.Status == rayv1.ApplicationRunning
			}
		}
		if (p.Services == "demo-b") != all {
			t.Errorf("the Services lead to %s: %s", p.Services, body)
		}
	})
}

// turncoat is a dashboard that answers anything until it is well.
type turncoat struct {
	dashboard.Client
	good dashboard.Client
	well *atomic.Bool
}

// ServeDetails implements dashboard.Client.
func (d turncoat) ServeDetails(ctx context.Context) (*dashboard.ServeDetails, error) {
	if d.well.Load() {
		return d.good.ServeDetails(ctx)
	}
	return d.Client.ServeDetails(ctx)
}

// DeployServe implements dashboard.Client.
func (d turncoat) DeployServe(ctx context.Context, config json.RawMessage) error {
	if d.well.Load() {
		return d.good.DeployServe(ctx, config)
	}
	return d.Client.DeployServe(ctx, config)
}

// FuzzServeReplies reconciles with any reply of Ray Serve, to questions and to configurations: no error, and the service comes up when the replies are
// what they should be.
func FuzzServeReplies(f *testing.F) {
	addReplies(f, 200, 400)
	f.Fuzz(func(t *testing.T, code int, contentType string, body []byte) {
		if code < 0 || code > 999 {
			return
		}
		synctest.Test(t, func(t *testing.T) {
			bad, well := canned{code, contentType, body}.client(t), &atomic.Bool{}
			s := newStage(t, storyService())
			s.change = append(s.change, func(c *Config) {
				c.Connect = func(a dashboards.Address, token dashboard.Token) (dashboard.Client, error) {
					good, err := s.connect(a, token)
					return turncoat{bad, good, well}, err
				}
			})
			s.restart()
			s.until("begun", func(rs *rayv1.RayService) bool { return len(s.clusters()) == 1 })
			for range 12 {
				s.until("looked at", once())
				assertSavable(t, &s.get().Status)
			}
			well.Store(true)
			s.until("ready", func(rs *rayv1.RayService) bool {
				return is(rs, rayv1.RayServiceReady) && rs.Status.ActiveServiceStatus.Applications["shop"].Status == rayv1.ApplicationRunning
			})
		})
	})
}
