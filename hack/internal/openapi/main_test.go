package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", `{"openapi":"3.1.0","info":{"title":"a"},"tags":[{"name":"A"}],
		"paths":{"/a:watch":{"get":{"operationId":"ClusterService_WatchClusters","parameters":[{"name":"pageSize","description":"page_size of it"}],
			"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/x"}}}}}}}},
		"components":{"schemas":{"X":{"type":"object","properties":{"podIP":{"type":"string","format":"int64","description":"pod_ip is it"}}}}}}`)
	write(t, dir, "b", `{"openapi":"3.1.0","tags":[{"name":"B"}],
		"paths":{"/b/logs":{"get":{"operationId":"JobService_GetJobLogs","responses":{"200":{"content":{"application/json":{}}}}}},"/b":{"post":{"operationId":"ClusterService_FrobCluster","requestBody":{"content":{"application/json":{}}},"responses":{}}}},
		"components":{"schemas":{"Y":{"type":"object"}}}}`)
	if err := run(dir, "../../../samples"); err != nil {
		t.Fatal(err)
	}

	data, err := os.ReadFile(filepath.Join(dir, merged))
	if err != nil {
		t.Fatal(err)
	}
	var got object
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "info")
	delete(got, "security")
	for _, name := range []string{"securitySchemes", "examples", "responses"} {
		delete(got["components"].(object), name)
	}
	eachOperation(got, func(_, _ string, op object) { // see TestDocument
		for status := range op["responses"].(object) {
			if status > "299" {
				delete(op["responses"].(object), status)
			}
		}
		delete(op, "operationId")
	})
	dropExamples(got)
	ref := object{"schema": object{"$ref": "#/x"}}
	want := object{
		"openapi": "3.1.0",
		"tags":    []any{object{"name": "A"}, object{"name": "B"}},
		"paths": object{
			"/a:watch": object{"get": object{
				"parameters": []any{object{"name": "pageSize", "description": "pageSize of it"}},
				"responses":  object{"200": object{"content": object{"application/x-ndjson": ref, "text/event-stream": ref}}},
			}},
			"/b/logs": object{"get": object{
				"responses": object{"200": object{"content": object{"text/plain": object{"schema": object{"type": "string"}}}}},
			}},
			"/b": object{"post": object{
				"requestBody": object{"content": object{"application/json": object{}, "application/yaml": object{}}},
				"responses":   object{},
			}},
		},
		"components": object{"schemas": object{
			"X": object{"type": "object", "properties": object{
				"podIP": object{"type": "integer", "format": "int64", "description": "podIP is it"},
			}},
			"Y": object{"type": "object", "additionalProperties": true},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("merged document (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(dir, "raygate")); !os.IsNotExist(err) {
		t.Errorf("the parts are still there: %v", err)
	}
}

func TestRunRefusesDifferentSchemasOfOneName(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", `{"paths":{},"components":{"schemas":{"X":{"type":"object"}}}}`)
	write(t, dir, "b", `{"paths":{},"components":{"schemas":{"X":{"type":"string"}}}}`)
	if err := run(dir, "../../../samples"); err == nil {
		t.Error("want an error")
	}
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	dir = filepath.Join(dir, "raygate", "v2")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+partSuffix), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func dropExamples(v any) {
	switch v := v.(type) {
	case object:
		delete(v, "example")
		delete(v, "examples")
		for _, child := range v {
			dropExamples(child)
		}
	case []any:
		for _, child := range v {
			dropExamples(child)
		}
	}
}

// TestDocument holds the generated document to what readers rely on. That the gateway takes the examples is a test of apiserver/cmd/apiserver.
func TestDocument(t *testing.T) {
	data, err := os.ReadFile("../../../proto/gen/openapi/" + merged)
	if err != nil {
		t.Fatal(err)
	}
	var doc object
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	operations := 0
	eachOperation(doc, func(path, verb string, op object) {
		operations++
		where := verb + " " + path
		for _, p := range op["parameters"].([]any) {
			if p.(object)["in"] == "path" && p.(object)["example"] == nil {
				t.Errorf("%s: parameter %v has no example", where, p.(object)["name"])
			}
		}
		wantExample := func(what string, body object) {
			for media, content := range body["content"].(object) {
				if strings.HasSuffix(media, "json") && content.(object)["examples"] == nil {
					t.Errorf("%s: %s has no example of %s", where, what, media)
				}
			}
		}
		if body, ok := op["requestBody"].(object); ok {
			wantExample("the body", body)
		}
		responses := op["responses"].(object)
		for status, r := range responses {
			if strings.HasPrefix(status, "2") {
				wantExample(status, r.(object))
			}
		}
		for _, status := range []string{"400", "401", "403", "404", "429", "500", "503", "504"} {
			if responses[status] == nil {
				t.Errorf("%s: nothing is said of status %s", where, status)
			}
		}
		if _, conflict := responses["409"]; conflict != (verb != "get") {
			t.Errorf("%s: status 409 is described: %v", where, conflict)
		}
	})
	if operations < 50 {
		t.Errorf("only %d operations", operations)
	}
	eachRef(doc, func(ref string) {
		var at any = doc
		for part := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			o, _ := at.(object)
			at = o[part]
		}
		if at == nil {
			t.Errorf("nothing is at %s", ref)
		}
	})
}

func eachRef(v any, visit func(string)) {
	switch v := v.(type) {
	case object:
		if ref, ok := v["$ref"].(string); ok {
			visit(ref)
		}
		for _, child := range v {
			eachRef(child, visit)
		}
	case []any:
		for _, child := range v {
			eachRef(child, visit)
		}
	}
}
