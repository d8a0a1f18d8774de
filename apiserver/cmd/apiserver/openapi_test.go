package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/raygate/raygate/apiserver/internal/authn"
	"github.com/raygate/raygate/proto/gen/openapi"
)

// openAPIDocument is the OpenAPI document, as far as this test goes.
type openAPIDocument struct {
	Paths map[string]map[string]struct {
		OperationID string
		Parameters  []struct {
			Name, In string
			Example  any
		}
		RequestBody shownBody
		Responses   map[string]shownBody
	}
	Components struct {
		Examples map[string]struct{ Value json.RawMessage }
	}
}

type shownBody struct {
	Content map[string]struct {
		Examples map[string]struct {
			Ref string `json:"$ref"`
		}
	}
}

func (d *openAPIDocument) example(b shownBody) json.RawMessage {
	return d.Components.Examples[strings.TrimPrefix(b.Content["application/json"].Examples["example"].Ref, "#/components/examples/")].Value
}

// TestOpenAPIExamples sends each example of the document to a gateway on a real API server.
func TestOpenAPIExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	var d openAPIDocument
	if err := json.Unmarshal(openapi.V2, &d); err != nil {
		t.Fatal(err)
	}
	p := startProcess(t, shared.Env(t).Config, authn.None)
	send := func(method, path string, body []byte) (int, []byte) {
		t.Helper()
		resp, err := (restEntry{base: p.http, contentType: "application/json"}).send(t.Context(), method, path, body)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, answer
	}
	// The objects that the examples are about, of the examples themselves.
	for path, item := range d.Paths {
		if op, ok := item["post"]; ok && !beyond(path) && strings.Contains(op.OperationID, "_Create") {
			path = strings.Replace(path, "{namespace}", "default", 1)
			code, answer := send(http.MethodPost, path, d.example(op.RequestBody))
			if code != http.StatusCreated {
				t.Fatalf("POST %s: %d %s", path, code, answer)
			}
			defer send(http.MethodDelete, path+"/minimal", nil) // the context of the test is over when its cleanup begins
		}
	}
	for path, item := range d.Paths {
		for method, op := range item {
			// A watch does not end, and sends what the others do.
			target, stream := withParameters(path, op.Parameters), strings.HasSuffix(path, ":watch")
			t.Run(method+" "+path, func(t *testing.T) {
				if stream || beyond(path) {
					return
				}
				body := d.example(op.RequestBody)
				code, answer := send(strings.ToUpper(method), target, body)
				switch {
				case strings.Contains(op.OperationID, "_Create"): // there is one of the name
					if code != http.StatusConflict {
						t.Errorf("%s: %d %s", target, code, answer)
					}
				case strings.Contains(op.OperationID, "_Replace"): // the example has the uid of another object
					if code/100 != 2 && code != http.StatusConflict {
						t.Errorf("%s: %d %s", target, code, answer)
					}
				case strings.Contains(op.OperationID, "_Wait"):
					if code/100 != 2 && code != http.StatusGatewayTimeout {
						t.Errorf("%s: %d %s", target, code, answer)
					}
				case strings.HasSuffix(op.OperationID, "_ScaleService") && strings.Contains(string(answer), "no worker groups"): // the smallest service has none
				case code/100 != 2:
					t.Errorf("%s: %d %s", target, code, answer)
				}
				for status, shown := range op.Responses {
					if strings.HasPrefix(status, "2") && code/100 == 2 {
						sameMembers(t, d.example(shown), answer)
					}
				}
			})
		}
	}
}

// beyond reports whether a path needs a running Ray, a history or a store of packages; such paths have their own tests.
func beyond(path string) bool {
	return strings.Contains(path, "/submissions") || strings.Contains(path, "/history") || strings.Contains(path, "/packages") || strings.HasSuffix(path, "/usage") || strings.HasSuffix(path, "/logs") || strings.HasSuffix(path, ":stop") || strings.HasSuffix(path, ":trigger")
}

// withParameters fills in the examples of the parameters. It only writes with validate_only, skips versions and keeps waits short.
func withParameters(path string, parameters []struct {
	Name, In string
	Example  any
}) string {
	query := url.Values{}
	for _, p := range parameters {
		switch {
		case p.In == "path":
			path = strings.Replace(path, "{"+p.Name+"}", fmt.Sprint(p.Example), 1)
		case p.Name == "etag", p.Name == "uid", p.Example == nil:
		case p.Name == "timeout":
			query.Set(p.Name, "0.2s")
		case p.Name == "filter":
			query.Set(p.Name, `name = "minimal"`)
		case p.Name == "labelSelector":
			query.Set(p.Name, "tier!=web")
		default:
			query.Set(p.Name, fmt.Sprint(p.Example))
		}
	}
	return path + "?" + query.Encode()
}

// sameMembers checks that what an example shows at the top is what there can be, by the first level: the gateway answers strictly by the schema.
func sameMembers(t *testing.T, example, answer []byte) {
	t.Helper()
	var shown, got map[string]any
	if err := json.Unmarshal(example, &shown); err != nil {
		t.Fatalf("the example is no object: %v", err)
	}
	if err := json.NewDecoder(bytes.NewReader(answer)).Decode(&got); err != nil {
		t.Fatalf("the answer is no object: %v", err)
	}
	for name, value := range got {
		if _, ok := shown[name]; !ok && name != "status" {
			t.Errorf("the answer has %s = %v, of which the example says nothing", name, value)
		}
	}
}
