package raycli

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/raygate/raygate/internal/testing/await"
)

// SDK makes requests as Ray's job SDK does: with the unchanged path after the address, the headers of RAY_JOB_HEADERS, and the headers of
// Python's requests.
type SDK struct {
	t       *testing.T
	address string
	token   string
	client  *http.Client
}

// NewSDK returns an SDK that sends a token, and none if it is empty. It trusts the certificates of a file; an empty name means a gateway without TLS.
func NewSDK(t *testing.T, address, token, authority string) SDK {
	t.Helper()
	s := SDK{t, address, token, http.DefaultClient}
	if authority == "" {
		return s
	}
	pem, err := os.ReadFile(authority)
	roots := x509.NewCertPool()
	if err != nil || !roots.AppendCertsFromPEM(pem) {
		t.Fatalf("reading certificates: %v", err)
	}
	// Without HTTP/2, as Python's clients.
	s.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	return s
}

func (s SDK) send(method, path, contentType string, body []byte) (code int, answer []byte) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), await.Limit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.address+path, bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header = http.Header{"User-Agent": {"python-requests/2.32.5"}, "Accept": {"*/*"}, "Accept-Encoding": {"gzip, deflate"}, "Connection": {"keep-alive"}}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if answer, err = io.ReadAll(resp.Body); err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp.StatusCode, answer
}

// want sends a request, demands a code, and decodes the answer if there is something to decode it into.
func (s SDK) want(code int, method, path string, body, into any) {
	s.t.Helper()
	var data []byte
	contentType := ""
	switch b := body.(type) {
	case nil:
	case []byte:
		data = b
	default:
		contentType = "application/json"
		var err error
		if data, err = json.Marshal(b); err != nil {
			s.t.Fatal(err)
		}
	}
	got, answer := s.send(method, path, contentType, data)
	if got != code {
		s.t.Fatalf("%s %s: HTTP %d, want %d: %s", method, path, got, code, answer)
	}
	if into != nil {
		if err := json.Unmarshal(answer, into); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, answer)
		}
	}
}

// checkVersion makes the first call of the SDK. It reads ray_version, and the version of the API, which is text.
func (s SDK) checkVersion() {
	s.t.Helper()
	var answer struct {
		Version    string `json:"version"`
		RayVersion string `json:"ray_version"`
	}
	s.want(http.StatusOK, "GET", "/api/version", nil, &answer)
	if answer.Version == "" || answer.RayVersion == "" {
		s.t.Fatalf("the versions are %+v", answer)
	}
}

type job struct {
	SubmissionID string `json:"submission_id"`
	Status       string `json:"status"`
}

// Replay makes the requests of `ray job submit` with a working directory, `logs --follow`, `status`, `list`, `stop` and `delete`.
func Replay(t *testing.T, address, token, authority string) {
	t.Helper()
	s := NewSDK(t, address, token, authority)
	s.checkVersion()
	s.checkVersion()
	s.upload("_ray_pkg_00112233445566.zip", map[string]string{"data.txt": "from the working directory\n"})
	var accepted job
	env := map[string]any{"working_dir": "gcs://_ray_pkg_00112233445566.zip", "env_vars": map[string]string{"GREETING": "it's me"}}
	s.want(http.StatusOK, "POST", "/api/jobs/", map[string]any{"entrypoint": `cat data.txt; echo "$GREETING"`, "submission_id": "replayed", "runtime_env": env, "metadata": map[string]string{"a": "b"}}, &accepted)
	if accepted.SubmissionID != "replayed" {
		t.Errorf("accepted as %+v", accepted)
	}
	if log := s.tail("replayed"); log != "from the working directory\nit's me\n" {
		t.Errorf("the followed log is %q", log)
	}
	s.await("replayed", "SUCCEEDED")
	var logs struct{ Logs string }
	s.want(http.StatusOK, "GET", "/api/jobs/replayed/logs", nil, &logs)
	if !strings.HasSuffix(logs.Logs, "it's me\n") {
		t.Errorf("the log is %q", logs.Logs)
	}
	s.want(http.StatusOK, "POST", "/api/jobs/", map[string]any{"entrypoint": "exec sleep 300", "submission_id": "long"}, nil)
	s.want(http.StatusOK, "POST", "/api/jobs/long/stop", nil, nil)
	s.await("long", "STOPPED")
	var listed []job
	s.want(http.StatusOK, "GET", "/api/jobs/", nil, &listed)
	if len(listed) != 2 {
		t.Errorf("the list is %+v", listed)
	}
	s.want(http.StatusOK, "DELETE", "/api/jobs/replayed", nil, nil)
	s.want(http.StatusNotFound, "GET", "/api/jobs/replayed", nil, nil)
}

// upload sends a package that is not there yet. The body has no Content-Type, as data of Python's requests.
func (s SDK) upload(name string, files map[string]string) {
	s.t.Helper()
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for file, text := range files {
		f, err := z.Create(file)
		if err == nil {
			_, err = io.WriteString(f, text)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		s.t.Fatal(err)
	}
	path := "/api/packages/gcs/" + name
	s.want(http.StatusNotFound, "GET", path, nil, nil)
	s.want(http.StatusOK, "PUT", path, packed.Bytes(), nil)
	s.want(http.StatusOK, "GET", path, nil, nil)
}

// tail follows a log to its end, by a WebSocket.
func (s SDK) tail(id string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), await.Limit)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, s.address+"/api/jobs/"+id+"/logs/tail", &websocket.DialOptions{HTTPClient: s.client, HTTPHeader: http.Header{"Authorization": {"Bearer " + s.token}}})
	if err != nil {
		s.t.Fatalf("following a log: %v", err)
	}
	defer ws.CloseNow() //nolint:errcheck // it is closed
	var log strings.Builder
	for {
		_, part, err := ws.Read(ctx)
		if err != nil {
			if websocket.CloseStatus(err) != websocket.StatusNormalClosure {
				s.t.Errorf("the log ends with %v", err)
			}
			return log.String()
		}
		log.Write(part)
	}
}

func (s SDK) await(id, status string) {
	s.t.Helper()
	await.NoError(s.t, "job "+id+" to be "+status, func() error {
		var j job
		s.want(http.StatusOK, "GET", "/api/jobs/"+id, nil, &j)
		if j.Status != status {
			return fmt.Errorf("it is %s", j.Status)
		}
		return nil
	})
}

// Refused requires that the caller is refused with this code, before a request to a dashboard, and with a text that has the reason.
func (s SDK) Refused(code int, method, path string) {
	s.t.Helper()
	got, answer := s.send(method, path, "", []byte("{}"))
	var status struct{ Message string }
	if err := json.Unmarshal(answer, &status); got != code || err != nil || status.Message == "" {
		s.t.Errorf("%s %s: HTTP %d, want %d and a message: %s", method, path, got, code, answer)
	}
}
