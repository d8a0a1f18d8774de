package rayjob

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/pkg/dashboard"
	"github.com/raygate/raygate/test/raysim"
)

// liar gives one answer to the first requests, whatever they are, and leaves the rest to a simulated head.
type liar struct {
	code        int
	contentType string
	body        []byte
	honest      http.Handler

	mu   sync.Mutex
	lies int
}

// RoundTrip implements http.RoundTripper.
func (l *liar) RoundTrip(req *http.Request) (*http.Response, error) {
	l.mu.Lock()
	lie := l.lies > 0
	l.lies--
	l.mu.Unlock()
	if !lie {
		rec := httptest.NewRecorder()
		l.honest.ServeHTTP(rec, req)
		return rec.Result(), nil
	}
	code := l.code
	if code < 100 || code > 999 {
		code = 200
	}
	return &http.Response{
		StatusCode: code, ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{"Content-Type": {l.contentType}}, ContentLength: -1,
		Body: io.NopCloser(bytes.NewReader(l.body)), Request: req,
	}, nil
}

// FuzzDashboardReplies has a dashboard answer anything for a while, or for ever. The job always comes to an end, and Ray never has
// it more than once.
func FuzzDashboardReplies(f *testing.F) {
	const known = `{"type":"SUBMISSION","submission_id":"x","status":"RUNNING","entrypoint":"x","start_time":1755600000000}`
	for _, body := range []string{known, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":404}`, `{"status":"Failure"}`, "{}", "null", "[]", "", "\x00\xff", `{"job_id":7}`, `{"stopped":"yes"}`} {
		for _, code := range []int{200, 201, 204, 301, 400, 401, 404, 500, 503} {
			f.Add(code, "application/json", []byte(body), uint8(code%7), code%2 == 0)
		}
		f.Add(404, "text/plain", []byte(body), uint8(3), false)
		f.Add(500, "text/html", []byte(body), uint8(255), true)
	}
	f.Add(200, "application/json", bytes.Repeat([]byte(`[`), 1<<20), uint8(255), false)
	f.Add(200, "application/json", append([]byte(`{"status":"`), bytes.Repeat([]byte("x"), 5<<20)...), uint8(2), false)
	f.Add(200, "application/json", append([]byte(`{"status":"FAILED","message":"`), append(bytes.Repeat([]byte("é"), 1<<20), `"}`...)...), uint8(9), false)
	f.Fuzz(func(t *testing.T, code int, contentType string, body []byte, lies uint8, fails bool) {
		synctest.Test(t, func(t *testing.T) {
			assertEnds(t, &liar{code: code, contentType: contentType, body: body, lies: int(lies)}, fails)
		})
	})
}

func assertEnds(t *testing.T, l *liar, fails bool) {
	t.Helper()
	exit := 0
	if fails {
		exit = 1
	}
	head, err := raysim.New(raysim.Options{Dir: t.TempDir(), Run: func(_ context.Context, launch raysim.Launch) (int, error) {
		launch.Started()
		return exit, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer head.Close()
	l.honest = head
	j := storyJob(rayv1.HTTPMode)
	j.Spec.ActiveDeadlineSeconds, j.Spec.BackoffLimit = new(int32(120)), nil // for a dashboard that says RUNNING for ever
	st := newStage(t, j)
	st.change = func(c *Config) {
		c.Limits.StatusCheck = time.Minute
		c.Connect = func(dashboards.Address, dashboard.Token) (dashboard.Client, error) {
			return dashboard.New(dashboard.Config{URL: &url.URL{Scheme: "http", Host: "demo:8265"}, Transport: l})
		}
	}
	st.restart()
	st.play(onlooker, finished)
	if n := len(head.Jobs()); n > 1 {
		t.Errorf("Ray has %d jobs", n)
	}
}
