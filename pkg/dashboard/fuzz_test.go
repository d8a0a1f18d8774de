package dashboard

import (
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// FuzzAnswers answers every call with any status, type and bytes: never a panic, always an end, and either an answer or an
// error of exactly one kind.
func FuzzAnswers(f *testing.F) {
	for _, body := range []string{exampleJob, kubeStatus, "[" + exampleJob + "]", `{"logs":"x"}`, `{"stopped":true}`, "null", "", "\x81\x03abc\x88\x02\x03\xe8", "\x81\x7f\xff\xff\xff\xff\xff\xff\xff\xff"} {
		for _, code := range []int{101, 200, 204, 302, 404, 500} {
			f.Add(code, jsonType, []byte(body))
			f.Add(code, plain, []byte(body))
		}
	}
	f.Add(200, jsonType, bytes.Repeat([]byte("["), 100000))
	f.Add(500, "text/plain; =", bytes.Repeat([]byte("é\x00\xff"), 10000))
	f.Fuzz(func(t *testing.T, code int, contentType string, body []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		c, err := New(Config{
			URL: &url.URL{Scheme: "http", Host: "demo:8265"}, Transport: cannedAnswer{code, contentType, body}, MaxJob: 1 << 16, MaxList: 1 << 16, MaxLogs: 1 << 16,
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, do := range everyCall(ctx, c) {
			err := do()
			if ctx.Err() != nil {
				t.Fatalf("%s does not end", name)
			}
			assertOneKind(t, name, err)
		}
		if job, err := c.GetJob(ctx, "demo"); err == nil {
			if !job.Status.known() {
				t.Errorf("a state that is not known: %q", job.Status)
			}
			if _, err := json.Marshal(job); err != nil {
				t.Errorf("encoding the job: %v", err)
			}
		}
	})
}

// FuzzServeAnswers answers the calls about Ray Serve with any status, type and bytes: never a panic, always an end, and either an answer that callers
// can work with or an error of exactly one kind.
func FuzzServeAnswers(f *testing.F) {
	for _, body := range []string{
		exampleServe, notStarted, kubeStatus, "null", "", "{}", "[]", `{"applications":{"a":{"deployments":{"d":{"target_num_replicas":-1,"replicas":[{"state":"RUNNING"},null,7]}}}}}`,
		`{"applications":{"a":{"status":"RUNNING","deployed_app_config":{"args":{"n":1e999}}}},"target_capacity":1e-300}`,
		`{"http_options":{"root_path":"/../..","ssl_certfile":"x"},"applications":{"":{},"default":{}}}`, `{"applications":{"":{"deployments":{"":{"replicas":[null,1]}}}}}`,
	} {
		for _, code := range []int{100, 200, 202, 204, 302, 400, 404, 503} {
			f.Add(code, jsonType, []byte(body))
			f.Add(code, plain, []byte(body))
		}
	}
	f.Add(200, jsonType, bytes.Repeat([]byte(`{"applications":`), 10000))
	f.Add(200, jsonType, bytes.Repeat([]byte(" "), 1<<17))
	f.Fuzz(func(t *testing.T, code int, contentType string, body []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		transport := cannedAnswer{code, contentType, body}
		base := &url.URL{Scheme: "http", Host: "demo:8265"}
		c, err := New(Config{URL: base, Transport: transport, MaxServe: 1 << 16})
		if err != nil {
			t.Fatal(err)
		}
		d, err := c.ServeDetails(ctx)
		assertOneKind(t, "ServeDetails", err)
		assertOneKind(t, "DeployServe", c.DeployServe(ctx, json.RawMessage(`{"applications":[]}`)))
		if healthy, err := ServeProxyHealthy(ctx, base, transport); err != nil || healthy != (code == http.StatusOK) {
			assertOneKind(t, "ServeProxyHealthy", err)
			if healthy {
				t.Errorf("healthy with %d", code)
			}
		}
		if ctx.Err() != nil {
			t.Fatal("it does not end")
		}
		if err != nil {
			if d != nil {
				t.Errorf("an answer next to the error %v", err)
			}
			return
		}
		if len(body) > 1<<16 {
			t.Errorf("%d bytes were read", len(body))
		}
		if d.TargetCapacity != nil && (*d.TargetCapacity < 0 || *d.TargetCapacity > 100) {
			t.Errorf("capacity %f", *d.TargetCapacity)
		}
		below := &url.URL{Scheme: "http", Host: "demo", Path: "/proxy"}
		if o := ParseHTTPOptions(d.HTTPOptions); o.RootPath != "" && below.JoinPath(o.RootPath).Path != "/proxy"+o.RootPath {
			t.Errorf("root path %q leads elsewhere", o.RootPath)
		}
		if _, err := json.Marshal(d); err != nil {
			t.Error(err)
		}
		for name, a := range d.Applications {
			for _, dep := range a.Deployments {
				if dep.RunningReplicas < 0 || dep.TargetReplicas != nil && *dep.TargetReplicas < 0 {
					t.Errorf("%s: %+v", name, dep)
				}
			}
		}
	})
}

func assertOneKind(t *testing.T, call string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	kinds := 0
	for _, s := range sentinels {
		if errors.Is(err, s) {
			kinds++
		}
	}
	var e *Error
	if kinds != 1 || !errors.As(err, &e) {
		t.Errorf("%s: want an Error of one kind, got %d of %v", call, kinds, err)
	}
}

// cannedAnswer is a transport that answers all requests alike, and a handshake as if it succeeded when the code is 101.
type cannedAnswer struct {
	code        int
	contentType string
	body        []byte
}

// RoundTrip implements http.RoundTripper.
func (a cannedAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	return &http.Response{
		StatusCode: a.code, Request: r, ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{
			"Content-Type": {a.contentType}, "Connection": {"Upgrade"}, "Upgrade": {"websocket"},
			"Sec-Websocket-Accept": {base64.StdEncoding.EncodeToString(sum[:])},
		},
		Body: &wire{Reader: bytes.NewReader(a.body)},
	}, nil
}

type wire struct{ io.Reader }

func (*wire) Write(p []byte) (int, error) { return len(p), nil }
func (*wire) Close() error                { return nil }
