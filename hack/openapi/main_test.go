package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", `{"openapi":"3.1.0","info":{"title":"a"},"tags":[{"name":"A"}],
		"paths":{"/a:watch":{"get":{"parameters":[{"name":"pageSize","description":"page_size of it"}],
			"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/x"}}}}}}}},
		"components":{"schemas":{"X":{"type":"object","properties":{"podIP":{"type":"string","format":"int64","description":"pod_ip is it"}}}}}}`)
	write(t, dir, "b", `{"openapi":"3.1.0","tags":[{"name":"B"}],
		"paths":{"/b/logs":{"get":{"responses":{"200":{"content":{"application/json":{}}}}}},"/b":{"post":{"requestBody":{"content":{"application/json":{}}},"responses":{}}}},
		"components":{"schemas":{"Y":{"type":"object"}}}}`)
	if err := run(dir); err != nil {
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
	delete(got["components"].(object), "securitySchemes")
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
	if err := run(dir); err == nil {
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
