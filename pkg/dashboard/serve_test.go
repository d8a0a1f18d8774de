package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	notStarted   = `{"deploy_mode":"MULTI_APP","controller_info":{},"proxies":{},"applications":{},"target_capacity":null}`
	exampleServe = `{"http_options":{"host":"0.0.0.0","port":8000},"grpc_options":null,"proxies":{"n1":{"status":"HEALTHY"}},"target_capacity":50.0,
 "applications":{"shop":{"name":"shop","route_prefix":"/shop","status":"RUNNING","message":"fine","last_deployed_time_s":1760000000.5,
  "deployed_app_config":{"name":"shop","import_path":"pkg.mod:app"},"new":{"x":1},
  "deployments":{"Front":{"name":"Front","status":"HEALTHY","message":"","target_num_replicas":2,
   "replicas":[{"replica_id":"r1","state":"RUNNING"},{"replica_id":"r2","state":"STARTING"}]}}}}}`
)

func TestServeDetails(t *testing.T) {
	shop := ServeApplication{
		Status: "RUNNING", Message: "fine", Config: json.RawMessage(`{"name":"shop","import_path":"pkg.mod:app"}`),
		Deployments: map[string]ServeDeployment{"Front": {Status: "HEALTHY", TargetReplicas: new(2), RunningReplicas: 1}},
	}
	cases := map[string]struct {
		code       int
		text       string
		want       *ServeDetails
		wantFailed error
	}{
		"all of it": {200, exampleServe, &ServeDetails{
			Applications: map[string]ServeApplication{"shop": shop}, TargetCapacity: new(50.0), HTTPOptions: json.RawMessage(`{"host":"0.0.0.0","port":8000}`),
		}, nil},
		"Serve does not run":             {200, notStarted, &ServeDetails{Applications: map[string]ServeApplication{}}, nil},
		"another good status code":       {202, notStarted, &ServeDetails{Applications: map[string]ServeApplication{}}, nil},
		"nothing in it":                  {200, `{}`, &ServeDetails{Applications: map[string]ServeApplication{}}, nil},
		"null for applications":          {200, `{"applications":null}`, &ServeDetails{Applications: map[string]ServeApplication{}}, nil},
		"null for an application":        {200, `{"applications":{"a":null}}`, &ServeDetails{Applications: map[string]ServeApplication{}}, nil},
		"a word that nobody knows":       {200, `{"applications":{"a":{"status":"NAPPING"}}}`, &ServeDetails{Applications: map[string]ServeApplication{"a": {Status: "NAPPING", Deployments: map[string]ServeDeployment{}}}}, nil},
		"details of another type":        {200, `{"applications":{"a":{"status":7,"deployments":[]}},"target_capacity":"x"}`, &ServeDetails{Applications: map[string]ServeApplication{"a": {Deployments: map[string]ServeDeployment{}}}}, nil},
		"a capacity that cannot be":      {200, `{"target_capacity":1e300}`, &ServeDetails{Applications: map[string]ServeApplication{}}, nil},
		"applications of another type":   {200, `{"applications":[]}`, nil, ErrMalformed},
		"an application of another type": {200, `{"applications":{"a":"RUNNING"}}`, nil, ErrMalformed},
		"a Status of Kubernetes":         {200, `{"apiVersion":"v1","kind":"Status"}`, nil, ErrMalformed},
		"null":                           {200, `null`, nil, ErrMalformed},
		"cut off":                        {200, exampleServe[:200], nil, ErrMalformed},
		"GCS is away":                    {503, `Failed to get a response from the controller`, nil, ErrUnavailable},
		"Serve is not installed":         {501, `Serve dependencies are not installed`, nil, ErrUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := serve(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/serve/applications/" || r.URL.Query().Get("api_type") != "declarative" || r.Method != http.MethodGet {
					t.Errorf("%s %s", r.Method, r.URL)
				}
				kind := jsonType
				if tc.code >= 300 {
					kind = plain
				}
				answer(tc.code, kind, tc.text)(w, r)
			})
			got, err := c.ServeDetails(t.Context())
			if got != nil {
				var want map[string]json.RawMessage
				if err := json.Unmarshal([]byte(tc.text), &want); err != nil || !cmp.Equal(want, got.Answer) {
					t.Errorf("answer %s, %v", got.Answer, err)
				}
				got.Answer = nil
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("details (-want +got):\n%s", diff)
			}
			if tc.wantFailed != nil {
				assertKind(t, err, tc.wantFailed)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDeployServe(t *testing.T) {
	const config = `{"applications":[{"name":"a","import_path":"m:a"}],"target_capacity":50}`
	cases := map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"accepted":                 {answer(200, plain, ""), nil},
		"accepted in another way":  {answer(204, "", ""), nil},
		"refused":                  {answer(400, plain, "1 validation error"), ErrInvalid},
		"trouble":                  {answer(500, plain, "Traceback"), ErrUnavailable},
		"a wrong token":            {answer(403, plain, "no"), ErrForbidden},
		"a page to log in":         {answer(200, "text/html", "<html>"), ErrMalformed},
		"no Service at the proxy":  {answer(404, jsonType, kubeStatus), ErrUnavailable},
		"no endpoint at the proxy": {answer(503, jsonType, `{"kind":"Status"}`), ErrUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := serve(t, Config{Token: "secret", URL: &url.URL{Path: "/proxy/"}}, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				h := r.Header
				if r.Method != http.MethodPut || r.URL.Path != "/proxy/api/serve/applications/" || r.URL.RawQuery != "" || string(body) != config ||
					h.Get("Content-Type") != "application/json" || h.Get("X-Ray-Authorization") != "Bearer secret" || h.Get("Authorization") != "" {
					t.Errorf("%s %s %v: %s", r.Method, r.URL, h, body)
				}
				tc.answer(w, r)
			})
			err := c.DeployServe(t.Context(), json.RawMessage(config))
			if tc.want == nil {
				if err != nil {
					t.Error(err)
				}
				return
			}
			assertKind(t, err, tc.want)
		})
	}
	c := serve(t, Config{}, func(http.ResponseWriter, *http.Request) { t.Error("text that is no JSON is sent") })
	assertKind(t, c.DeployServe(t.Context(), json.RawMessage(`{`)), ErrInvalid)
}

func TestParseHTTPOptions(t *testing.T) {
	for text, want := range map[string]ServeHTTPOptions{
		"":                                     {},
		"null":                                 {},
		`[]`:                                   {},
		`{"host":"0.0.0.0","port":8000}`:       {},
		`{"root_path":"/api/v2/"}`:             {RootPath: "/api/v2"},
		`{"root_path":"/"}`:                    {},
		`{"root_path":7,"ssl_certfile":[]}`:    {},
		`{"ssl_certfile":"/tls/cert.pem"}`:     {TLS: true},
		`{"root_path":"/a","ssl_certfile":""}`: {RootPath: "/a"},
		// It becomes part of a URL of the API server.
		`{"root_path":"/../../../secrets"}`:                 {},
		`{"root_path":"/a/../b"}`:                           {},
		`{"root_path":"/%2e%2e/a"}`:                         {},
		`{"root_path":"/a?b=c"}`:                            {},
		`{"root_path":"a"}`:                                 {},
		`{"root_path":"//host/a"}`:                          {},
		`{"root_path":"/` + strings.Repeat("a", 300) + `"}`: {},
	} {
		if got := ParseHTTPOptions(json.RawMessage(text)); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// TestTooManyApplications: callers go through all of them again and again.
func TestTooManyApplications(t *testing.T) {
	for name, text := range map[string]string{
		"applications": `{"applications":{"":{}` + many(maxServeParts, `,"%d":{}`) + `}}`,
		"deployments":  `{"applications":{"a":{"deployments":{"":{}` + many(maxServeParts, `,"%d":{}`) + `}}}}`,
	} {
		c := serve(t, Config{}, answer(200, jsonType, text))
		_, err := c.ServeDetails(t.Context())
		if !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func many(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}
