package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	plain      = "text/plain; charset=utf-8"
	jsonType   = "application/json; charset=utf-8"
	kubeStatus = `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"services \"demo\" not found","code":404}`
	exampleJob = `{"type":"SUBMISSION","job_id":"02000000","submission_id":"demo-x7k2p","driver_info":{"id":"02000000"},
 "status":"RUNNING","entrypoint":"python main.py","message":"it runs","error_type":null,"start_time":1755600000000,"end_time":null,
 "metadata":{"owner":"a"},"runtime_env":{"pip":["requests"]},"driver_node_id":"ab12","driver_exit_code":null,"attempt_number":{"new":1}}`
)

// serve answers every request with the handler and returns a client of it.
func serve(t *testing.T, c Config, h http.HandlerFunc) *HTTPClient {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if c.URL != nil {
		u.Path, u.RawPath = c.URL.Path, c.URL.RawPath
	}
	c.URL = u
	client, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func answer(code int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func TestGetJob(t *testing.T) {
	c := serve(t, Config{}, answer(200, jsonType, exampleJob))
	got, err := c.GetJob(t.Context(), "demo-x7k2p")
	if err != nil {
		t.Fatal(err)
	}
	want := &Job{
		SubmissionID: "demo-x7k2p", JobID: "02000000", Type: "SUBMISSION", Status: Running, Message: "it runs", Entrypoint: "python main.py",
		StartTime: time.UnixMilli(1755600000000).UTC(), Metadata: map[string]string{"owner": "a"},
		RuntimeEnv: json.RawMessage(`{"pip":["requests"]}`), DriverNodeID: "ab12",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("job (-want +got):\n%s", diff)
	}
}

func TestLenientAboutDetails(t *testing.T) {
	cases := map[string]struct {
		text string
		want Job
	}{
		"nothing but the state": {`{"status":"PENDING"}`, Job{Status: Pending}},
		"nulls":                 {`{"status":"FAILED","message":null,"end_time":null,"metadata":null,"runtime_env":null}`, Job{Status: Failed}},
		"times as floats":       {`{"status":"STOPPED","end_time":1.7556e12}`, Job{Status: Stopped, EndTime: time.UnixMilli(1755600000000).UTC()}},
		"times out of range":    {`{"status":"STOPPED","start_time":1e300,"end_time":-5}`, Job{Status: Stopped}},
		"other types":           {`{"status":"SUCCEEDED","message":7,"metadata":{"a":1},"runtime_env":"x","driver_exit_code":"0"}`, Job{Status: Succeeded}},
		"an exit code":          {`{"status":"FAILED","driver_exit_code":3}`, Job{Status: Failed, DriverExitCode: new(3)}},
		"an endless exit code":  {`{"status":"FAILED","driver_exit_code":1e99}`, Job{Status: Failed}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var got Job
			if err := json.Unmarshal([]byte(tc.text), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("job (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefusals has every way to answer that is not a job. Only Ray's own 404 counts as an unknown job: HTTPMode submits then.
func TestRefusals(t *testing.T) {
	cases := map[string]struct {
		code        int
		contentType string
		body        string
		want        error
		proxy       bool
	}{
		"unknown to Ray":                {404, plain, "Job demo does not exist", ErrNotFound, false},
		"unknown to the API server":     {404, jsonType, kubeStatus, ErrUnavailable, true},
		"no such path at a Go server":   {404, plain, "404 page not found\n", ErrUnavailable, true},
		"a page of a load balancer":     {404, "text/html", "<html>", ErrUnavailable, true},
		"JSON of an API gateway":        {404, jsonType, `{"message":"no Route matched"}`, ErrUnavailable, true},
		"404 of a service mesh":         {404, "", "", ErrUnavailable, true},
		"bad request":                   {400, plain, "TypeError", ErrInvalid, false},
		"no such method":                {405, plain, "405: Method Not Allowed", ErrInvalid, false},
		"no token":                      {401, plain, "Unauthorized: missing", ErrUnauthenticated, false},
		"wrong token":                   {403, plain, "Forbidden: wrong", ErrForbidden, false},
		"no right to use the proxy":     {403, jsonType, `{"kind":"Status","status":"Failure"}`, ErrForbidden, true},
		"bad request to the API server": {400, jsonType, `{"kind":"Status"}`, ErrUnavailable, true},
		"too many requests":             {429, plain, "slow down", ErrUnavailable, false},
		"trouble":                       {500, plain, "Traceback (most recent call last)", ErrUnavailable, false},
		"an agent refuses":              {500, plain, "request failed with status code 400: no", ErrInvalid, false},
		"an agent does not know":        {500, plain, "request failed with status code 404: no", ErrNotFound, false},
		"no agent":                      {500, plain, "status code 503", ErrUnavailable, false},
		"no endpoints":                  {503, jsonType, `{"kind":"Status","status":"Failure"}`, ErrUnavailable, true},
		"a redirect":                    {302, "text/html", "", ErrUnavailable, true},
		"accepted":                      {202, jsonType, exampleJob, ErrMalformed, false},
		"nothing":                       {200, jsonType, "", ErrMalformed, false},
		"null":                          {200, jsonType, "null", ErrMalformed, false},
		"an empty object":               {200, jsonType, "{}", ErrMalformed, false},
		"a Status":                      {200, jsonType, `{"kind":"Status","status":"Failure"}`, ErrMalformed, false},
		"a Status of success":           {200, jsonType, `{"kind":"Status","status":"Success"}`, ErrMalformed, false},
		"a state in lower case":         {200, jsonType, `{"status":"running"}`, ErrMalformed, false},
		"a list":                        {200, jsonType, "[]", ErrMalformed, false},
		"a page to log in":              {200, "text/html", "<html>", ErrMalformed, true},
		"text":                          {200, plain, exampleJob, ErrMalformed, true},
		"too much":                      {200, jsonType, `{"status":"RUNNING","message":"` + strings.Repeat("x", 5000) + `"}`, ErrTooLarge, false},
		"too much of an error":          {500, plain, strings.Repeat("x", 10<<20), ErrUnavailable, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := serve(t, Config{MaxJob: 4096}, answer(tc.code, tc.contentType, tc.body))
			job, err := c.GetJob(t.Context(), "demo")
			assertKind(t, err, tc.want)
			var e *Error
			if !errors.As(err, &e) || e.Proxy != tc.proxy || len(err.Error()) > 2*maxMessage || strings.Contains(err.Error(), "\n") {
				t.Errorf("want a short error on one line with Proxy %t, got %#v", tc.proxy, err)
			}
			if job != nil {
				t.Errorf("a job next to an error: %v", job)
			}
		})
	}
}

var sentinels = []error{ErrNotFound, ErrDuplicate, ErrInvalid, ErrUnauthenticated, ErrForbidden, ErrUnavailable, ErrMalformed, ErrTooLarge}

// assertKind demands that the error matches the sentinel and no other.
func assertKind(t *testing.T, err, want error) {
	t.Helper()
	for _, s := range sentinels {
		if errors.Is(err, s) != errors.Is(want, s) {
			t.Errorf("want %v, got %v, which matches %v: %t", want, err, s, errors.Is(err, s))
		}
	}
}

func TestSubmitJob(t *testing.T) {
	const accepted = `{"job_id":"demo","submission_id":"demo"}`
	full := Submission{
		Entrypoint: "python main.py", SubmissionID: "demo", Metadata: map[string]string{"a": "b"}, RuntimeEnv: json.RawMessage(`{"pip":["x"]}`),
		EntrypointNumCPUs: 0.1, EntrypointNumGPUs: 2, EntrypointResources: map[string]float64{"special": 1},
	}
	cases := map[string]struct {
		submission Submission
		answer     http.HandlerFunc
		wantBody   string
		wantErr    error
	}{
		"all of it": {full, answer(200, jsonType, accepted),
			`{"entrypoint":"python main.py","submission_id":"demo","metadata":{"a":"b"},"runtime_env":{"pip":["x"]},"entrypoint_num_cpus":0.1,"entrypoint_num_gpus":2,"entrypoint_resources":{"special":1}}`, nil},
		"only what is needed": {Submission{Entrypoint: "ls"}, answer(200, jsonType, `{"job_id":"demo"}`), `{"entrypoint":"ls"}`, nil},
		"in use":              {full, answer(500, plain, "ValueError: Job demo exists. Please use a different submission_id."), "", ErrDuplicate},
		"in use, by an agent": {full, answer(500, plain, "status code 400: ... Please use a different submission_id."), "", ErrDuplicate},
		"no agent at all":     {full, answer(500, plain, "status code 404"), "", ErrUnavailable},
		"no id":               {full, answer(200, jsonType, `{}`), "", ErrMalformed},
		"no runtime_env":      {Submission{Entrypoint: "ls", RuntimeEnv: json.RawMessage("{")}, answer(200, jsonType, accepted), "", ErrInvalid},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if r.Method != http.MethodPost || r.URL.Path != "/api/jobs/" || r.Header.Get("Content-Type") != "application/json" {
					t.Errorf("got %s %s of type %q", r.Method, r.URL, r.Header.Get("Content-Type"))
				}
				if tc.wantBody != "" && tc.wantBody != string(body) {
					t.Errorf("body:\n%s", cmp.Diff(tc.wantBody, string(body)))
				}
				tc.answer(w, r)
			})
			id, err := c.SubmitJob(t.Context(), tc.submission)
			assertKind(t, err, tc.wantErr)
			if (err == nil) != (id == "demo") {
				t.Errorf("got id %q and error %v", id, err)
			}
		})
	}
}

func TestOtherCalls(t *testing.T) {
	ctx := t.Context()
	calls := map[string]func(*HTTPClient) (any, error){
		"list":    func(c *HTTPClient) (any, error) { return c.ListJobs(ctx) },
		"stop":    func(c *HTTPClient) (any, error) { return c.StopJob(ctx, "demo") },
		"delete":  func(c *HTTPClient) (any, error) { return nil, c.DeleteJob(ctx, "demo") },
		"logs":    func(c *HTTPClient) (any, error) { return wholeLog(ctx, c) },
		"version": func(c *HTTPClient) (any, error) { return c.Version(ctx) },
	}
	cases := map[string]struct {
		call, wantRequest, body string
		want                    any
		wantErr                 error
	}{
		"list":               {"list", "GET /api/jobs/", `[{"status":"PENDING"},{"status":"?"},7]`, []Job{{Status: Pending}}, nil},
		"list of none":       {"list", "GET /api/jobs/", `[]`, []Job{}, nil},
		"list of an old Ray": {"list", "GET /api/jobs/", `{"a":{"status":"PENDING"}}`, []Job(nil), ErrMalformed},
		"list that is null":  {"list", "GET /api/jobs/", `null`, []Job(nil), ErrMalformed},
		"stop":               {"stop", "POST /api/jobs/demo/stop", `{"stopped":true}`, true, nil},
		"stop too late":      {"stop", "POST /api/jobs/demo/stop", `{"stopped":false}`, false, nil},
		"stop without word":  {"stop", "POST /api/jobs/demo/stop", `{}`, false, ErrMalformed},
		"delete":             {"delete", "DELETE /api/jobs/demo", `{"deleted":true}`, nil, nil},
		"delete not done":    {"delete", "DELETE /api/jobs/demo", `{"deleted":false}`, nil, ErrMalformed},
		"logs":               {"logs", "GET /api/jobs/demo/logs", `{"logs":"a\nb"}`, "a\nb", nil},
		"logs still empty":   {"logs", "GET /api/jobs/demo/logs", `{"logs":""}`, "", nil},
		"logs missing":       {"logs", "GET /api/jobs/demo/logs", `{"kind":"Status"}`, "", ErrMalformed},
		"version": {"version", "GET /api/version", `{"version":"4","ray_version":"2.52.0","ray_commit":"ab","session_name":"s"}`,
			Version{API: "4", Ray: "2.52.0", Commit: "ab", Session: "s"}, nil},
		"version of something": {"version", "GET /api/version", `{"major":"1"}`, Version{}, ErrMalformed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				if got := r.Method + " " + r.URL.Path; got != tc.wantRequest {
					t.Errorf("want %s, got %s", tc.wantRequest, got)
				}
				answer(200, jsonType, tc.body)(w, r)
			})
			got, err := calls[tc.call](c)
			assertKind(t, err, tc.wantErr)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPathsAndHeaders(t *testing.T) {
	const token = Token("s3cret")
	api, _ := url.Parse("https://api:6443/prefix/")
	cases := map[string]struct {
		base     *url.URL
		id, want string
	}{
		"direct":            {nil, "demo", "/api/jobs/demo"},
		"a hostile id":      {nil, "a/../b?c#d%2e", "/api/jobs/a%2F..%2Fb%3Fc%23d%252e"},
		"through the proxy": {ServiceProxyURL(api, "ns", "demo-head-svc", "dashboard"), "x/y", "/prefix/api/v1/namespaces/ns/services/demo-head-svc:dashboard/proxy/api/jobs/x%2Fy"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := serve(t, Config{URL: tc.base, Token: token}, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.EscapedPath() != tc.want || r.URL.RawQuery != "" {
					t.Errorf("want %s, got %s", tc.want, r.URL)
				}
				if r.Header.Get("X-Ray-Authorization") != "Bearer s3cret" || r.Header.Get("Authorization") != "" {
					t.Errorf("headers: %v", r.Header)
				}
				answer(404, plain, "no")(w, r)
			})
			_, err := c.GetJob(t.Context(), tc.id)
			assertKind(t, err, ErrNotFound)
		})
	}
	for _, id := range []string{"", ".", ".."} {
		c := serve(t, Config{}, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("got %s", r.URL) })
		_, err := c.GetJob(t.Context(), id)
		assertKind(t, err, ErrInvalid)
	}
	c, err := New(Config{URL: api, Token: token})
	if err != nil {
		t.Fatal(err)
	}
	asJSON, err := json.Marshal(token)
	if err != nil {
		t.Fatal(err)
	}
	config := Config{Token: token}
	if text := fmt.Sprintf("%v %#v %+v %#v %s %q %s", c, *c, config, config, token, token, asJSON); strings.Contains(text, "s3cret") {
		t.Errorf("the token shows: %s", text)
	}
}

// TestRedirectKeepsToken sends a client elsewhere. Go would take all headers along but its own Authorization.
func TestRedirectKeepsToken(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("followed to %s with %v", r.URL, r.Header)
	}))
	defer elsewhere.Close()
	c := serve(t, Config{Token: "s3cret"}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	_, err := c.GetJob(t.Context(), "demo")
	assertKind(t, err, ErrUnavailable)
	_, err = c.TailJobLogs(t.Context(), "demo")
	assertKind(t, err, ErrUnavailable)
}

// inTime repeats a call with a short timeout until its answer comes in time, as on a busy machine one may be late.
func inTime[T any](t *testing.T, call func() (T, error)) T {
	t.Helper()
	answer, err := call()
	for end := time.Now().Add(time.Minute); errors.Is(err, ErrUnavailable) && time.Now().Before(end); {
		answer, err = call()
	}
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

// TestDeadlines has servers that never answer, or answer without an end.
func TestDeadlines(t *testing.T) {
	t.Parallel()
	short := Config{ReadTimeout: 50 * time.Millisecond, SubmitTimeout: 50 * time.Millisecond, LogsTimeout: 50 * time.Millisecond}
	cases := map[string]http.HandlerFunc{
		"no answer": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // or the server does not notice that the client is gone
			<-r.Context().Done()
		},
		"an endless answer": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", jsonType)
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(time.Millisecond)
			}
		},
	}
	for name, handler := range cases {
		t.Run(name, func(t *testing.T) {
			c := serve(t, short, handler)
			for call, do := range everyCall(t.Context(), c) {
				if err := do(); !errors.Is(err, ErrUnavailable) {
					t.Errorf("%s: want %v, got %v", call, ErrUnavailable, err)
				}
			}
		})
	}
}

// wholeLog reads all of the log of a job.
func wholeLog(ctx context.Context, c Client) (string, error) {
	log, err := c.JobLogs(ctx, "demo")
	if err != nil {
		return "", err
	}
	defer func() { _ = log.Close() }()
	text, err := io.ReadAll(log)
	if err != nil {
		return "", err
	}
	return string(text), nil
}

func everyCall(ctx context.Context, c Client) map[string]func() error {
	return map[string]func() error{
		"version":  func() error { _, err := c.Version(ctx); return err },
		"list":     func() error { _, err := c.ListJobs(ctx); return err },
		"get":      func() error { _, err := c.GetJob(ctx, "demo"); return err },
		"submit":   func() error { _, err := c.SubmitJob(ctx, Submission{Entrypoint: "ls"}); return err },
		"stop":     func() error { _, err := c.StopJob(ctx, "demo"); return err },
		"delete":   func() error { return c.DeleteJob(ctx, "demo") },
		"logs":     func() error { _, err := wholeLog(ctx, c); return err },
		"serve":    func() error { _, err := c.ServeDetails(ctx); return err },
		"activity": func() error { _, err := c.Activity(ctx); return err },
		"node log": func() error { _, err := nodeLog(ctx, c); return err },
		"tail": func() error {
			stream, err := c.TailJobLogs(ctx, "demo")
			if err != nil {
				return err
			}
			defer func() { _ = stream.Close() }()
			_, err = io.Copy(io.Discard, stream)
			return err
		},
	}
}

// nodeLog reads a log of a node.
func nodeLog(ctx context.Context, c Client) (string, error) {
	in, err := c.NodeLog(ctx, "n/1", "raylet.out", 7)
	if err != nil {
		return "", err
	}
	defer func() { _ = in.Close() }()
	text, err := io.ReadAll(in)
	return string(text), err
}

func TestNodeLog(t *testing.T) {
	c := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		answer(200, plain, "1\x00\xff of "+r.URL.RequestURI())(w, r)
	})
	const want = "1\x00\xff of /api/v0/logs/file?filename=raylet.out&format=text&lines=7&node_id=n%2F1"
	if got, err := nodeLog(t.Context(), c); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestCancelledByTheCaller(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := serve(t, Config{}, func(_ http.ResponseWriter, r *http.Request) { cancel(); <-r.Context().Done() })
	if _, err := c.GetJob(ctx, "demo"); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrUnavailable) {
		t.Errorf("want both %v and %v, got %v", context.Canceled, ErrUnavailable, err)
	}
}

func TestDirectURL(t *testing.T) {
	for address, want := range map[string]string{
		"demo-head-svc.ns.svc.cluster.local:8265": "http://demo-head-svc.ns.svc.cluster.local:8265",
		"[::1]:8265": "http://[::1]:8265",
		"":           "", "demo": "", "demo:": "", ":8265": "", "a@b:1": "", "a/b:1": "", "a\n:1": "",
	} {
		u, err := DirectURL(address)
		if got := fmt.Sprint(u); err == nil && got != want || err != nil && want != "" {
			t.Errorf("%q: want %q, got %q and %v", address, want, got, err)
		}
	}
	for _, u := range []*url.URL{nil, {}, {Scheme: "ftp", Host: "x"}, {Scheme: "http"}} {
		if _, err := New(Config{URL: u}); err == nil {
			t.Errorf("%v: want an error", u)
		}
	}
}
