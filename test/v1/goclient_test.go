package v1

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/raygate/raygate/internal/testing/await"
	"github.com/raygate/raygate/proto/gen/go/kuberay"
)

type message = proto.Message

// goClient has the habits of KubeRay's Go client, and of the curl by which its tests replace the transport: bodies are indented and have the names of the
// proto and of enums, both parameters of a list are always sent, redirects are followed with the same method, only 200 is a success, answers with a member that
// is not known are refused, be they a success or an error, and what looks like a passing failure is tried three more times, POST included.
type goClient struct {
	base string
	// authorization is the header as it is, which may lack a scheme.
	authorization string
	// requests counts requests sent, calls counts calls made: with correct codes for permanent failures a client needs one request per
	// call.
	requests, calls atomic.Int64
}

// httpError is a failure as the client's callers get it.
type httpError struct {
	code   int
	status *spb.Status
}

func (e *httpError) Error() string { return fmt.Sprintf("HTTP %d: %s", e.code, e.status.GetMessage()) }

// httpCode is the HTTP status of an error; 0 for one whose answer could not be read.
func httpCode(err error) int {
	if h := (*httpError)(nil); errors.As(err, &h) {
		return h.code
	}
	return 0
}

// retryable are the answers after which the client tries again.
var retryable = []int{408, 429, 500, 502, 503, 504}

func (c *goClient) call(ctx context.Context, method, path string, body, reply message) error {
	ctx, cancel := context.WithTimeout(ctx, await.Limit)
	defer cancel()
	var data []byte
	if body != nil && body.ProtoReflect().IsValid() {
		text, err := protojson.MarshalOptions{UseProtoNames: true, Multiline: true, Indent: "    "}.Marshal(body)
		if err != nil {
			return err
		}
		data = text
	}
	c.calls.Add(1)
	for delay, tries := 500*time.Millisecond, 0; ; delay, tries = delay*2, tries+1 {
		code, answer, err := c.send(ctx, method, path, data)
		if err != nil {
			return err
		}
		if code == http.StatusOK {
			if reply == nil {
				reply = &kuberay.Status{} // has no field that an empty answer could fill
			}
			return protojson.Unmarshal(answer, reply)
		}
		if slices.Contains(retryable, code) && tries < 3 {
			time.Sleep(delay)
			continue
		}
		st := &spb.Status{}
		if err := protojson.Unmarshal(answer, st); err != nil {
			return fmt.Errorf("decoding the error %d %q: %w", code, answer, err)
		}
		if st.GetCode() == 0 || st.GetMessage() == "" || len(st.GetDetails()) > 0 {
			return fmt.Errorf("the error %d is %s", code, answer)
		}
		return &httpError{code, st}
	}
}

// send sends one request and returns the answer's status and body.
func (c *goClient) send(ctx context.Context, method, path string, body []byte, headers ...string) (int, []byte, error) {
	code, answer, _, err := c.exchange(ctx, method, path, body, headers...)
	return code, answer, err
}

func (c *goClient) exchange(ctx context.Context, method, path string, body []byte, headers ...string) (int, []byte, http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, nil, err
	}
	r.Header.Set("Accept", "application/json")
	if len(body) > 0 || method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json") // also on a stop, which has no body
	}
	if c.authorization != "" {
		r.Header.Set("Authorization", c.authorization)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	c.requests.Add(1)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, nil, nil, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, data, resp.Header, err
}

// pathIn is the path of a collection of a namespace, and of what is in it.
func pathIn(namespace string, parts ...string) string {
	return "/apis/v1/namespaces/" + namespace + "/" + strings.Join(parts, "/")
}

// TestGoClient holds the client to its habits, and the gateway to what they ask for: no permanent failure is one that is tried again.
func TestGoClient(t *testing.T) {
	t.Run("passing failures are tried again, also of a POST", func(t *testing.T) {
		t.Parallel()
		answers := []int{503, 500, 200}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(answers[0])
			answers = answers[1:]
			_, _ = io.WriteString(w, "{}")
		}))
		defer server.Close()
		c := &goClient{base: server.URL}
		if err := c.call(t.Context(), "POST", "/", &kuberay.Cluster{Name: "x"}, &kuberay.Cluster{}); err != nil || c.requests.Load() != 3 {
			t.Errorf("%v after %d requests", err, c.requests.Load())
		}
	})
	t.Run("a member that is not known is refused, in a success and in an error", func(t *testing.T) {
		t.Parallel()
		for _, code := range []int{200, 400} {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(code)
				_, _ = io.WriteString(w, `{"code":3,"message":"m","new":1}`)
			}))
			if err := (&goClient{base: server.URL}).call(t.Context(), "GET", "/", nil, &spb.Status{}); err == nil || httpCode(err) != 0 {
				t.Errorf("an answer %d with a new member is %v", code, err)
			}
			server.Close()
		}
	})
	t.Run("no permanent failure of the gateway is tried again", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.goClient = &goClient{base: product.rest.base}
		cluster := w.cluster("demo")
		w.ok("POST", w.path("clusters"), cluster, &kuberay.Cluster{})
		w.refused(409, "POST", w.path("clusters"), cluster) // 500 in KubeRay's server, which made the client create it four times
		other := w.cluster("other")
		other.ClusterSpec.HeadGroupSpec.ComputeTemplate = "missing"
		w.refused(400, "POST", w.path("clusters"), other)
		w.refused(400, "POST", w.path("clusters"), w.cluster("Not_A_Name"))
		w.refused(400, "POST", w.path("compute_templates"), &kuberay.ComputeTemplate{Name: "unit", Namespace: w.namespace, Cpu: 1, Memory: 1, MemoryUnit: "bananas"})
		w.refused(400, "GET", w.path("clusters")+"?limit=1&continue=nonsense", nil)
		w.refused(400, "GET", w.path("clusters")+"?limit=-1&continue=", nil)
		w.refused(400, "POST", w.path("jobsubmissions", "demo"), &kuberay.RayJobSubmission{Entrypoint: "ls", EntrypointResources: map[string]string{"a": "much"}})
		w.refused(404, "POST", w.path("jobsubmissions", "missing"), &kuberay.RayJobSubmission{Entrypoint: "ls"})
		w.refused(400, "PUT", w.path("services", "demo"), func() message { s := w.service("demo"); s.ServeConfig_V2 = ""; return s }())
		if w.requests.Load() != w.calls.Load() {
			t.Errorf("%d calls made %d requests", w.calls.Load(), w.requests.Load())
		}
	})
}
