package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

const (
	partSuffix = ".openapi.json"
	merged     = "raygate.v2.openapi.json"
)

// object is a JSON object.
type object = map[string]any

func main() {
	dir := flag.String("dir", "proto/gen/openapi", "directory with the documents per service; the merged one is written there")
	from := flag.String("samples", "samples", "directory with the objects to show as examples")
	flag.Parse()
	if err := run(*dir, *from); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(dir, from string) error {
	paths, err := parts(filepath.Join(dir, "raygate"))
	if err != nil {
		return err
	}
	doc := object{
		"openapi": "3.1.0",
		"info": object{
			"title":       "raygate",
			"version":     "v2",
			"description": "Ray clusters on Kubernetes. Objects are those of the custom resources in ray.io/v1.",
		},
		"security": []any{object{"bearer": []any{}}},
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading %s: %w", path, err)
		}
		var part object
		if err := json.Unmarshal(data, &part); err != nil {
			return fmt.Errorf("decoding %s: %w", path, err)
		}
		if err := merge(doc, part); err != nil {
			return fmt.Errorf("merging %s: %w", path, err)
		}
	}
	correct(doc)
	of, err := readSamples(from)
	if err != nil {
		return err
	}
	addExamples(doc, of)
	describeErrors(doc)

	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("encoding the merged document: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, merged), buf.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the merged document: %w", err)
	}
	return os.RemoveAll(filepath.Join(dir, "raygate"))
}

func parts(dir string) ([]string, error) {
	var paths []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, partSuffix) {
			paths = append(paths, path)
		}
		return err
	})
	if err == nil && len(paths) == 0 {
		err = errors.New("there are none")
	}
	if err != nil {
		return nil, fmt.Errorf("looking for documents below %s: %w", dir, err)
	}
	slices.Sort(paths)
	return paths, nil
}

// merge adds the paths, schemas and tags of part to doc. Services share schemas; two that differ are refused.
func merge(doc, part object) error {
	for key, value := range part {
		switch v := value.(type) {
		case object:
			if key == "info" {
				continue
			}
			into, ok := doc[key].(object)
			if !ok {
				into = object{}
				doc[key] = into
			}
			for name, content := range v {
				old, clash := into[name]
				if clash && key == "components" {
					// One level deeper: schemas by name.
					if err := merge(into, object{name: content}); err != nil {
						return err
					}
					continue
				}
				if clash && !equal(old, content) {
					return fmt.Errorf("%s %q stands in two documents with different content", key, name)
				}
				into[name] = content
			}
		case []any:
			list, _ := doc[key].([]any)
			doc[key] = append(list, v...)
		}
	}
	return nil
}

func equal(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// correct changes what the generator does not know about the API.
func correct(doc object) {
	components := doc["components"].(object)
	components["securitySchemes"] = object{"bearer": object{
		"type": "http", "scheme": "bearer", "description": "A token that the Kubernetes API server accepts.",
	}}
	for _, schema := range components["schemas"].(object) {
		properties, _ := schema.(object)["properties"].(object)
		for name, property := range properties {
			useJSONName(property.(object), name)
		}
	}
	for path, item := range doc["paths"].(object) {
		for _, operation := range item.(object) {
			if op, ok := operation.(object); ok {
				correctParameters(op)
				correctBodies(op, path)
				correctCode(op)
			}
		}
	}
	eachSchema(doc, correctSchema)
}

func correctParameters(op object) {
	parameters, _ := op["parameters"].([]any)
	for _, parameter := range parameters {
		p := parameter.(object)
		useJSONName(p, p["name"].(string))
	}
}

// correctSchema makes integers of 64 bits numbers, and lets a Struct have any member.
func correctSchema(s object) {
	if s["type"] == "string" && (s["format"] == "int64" || s["format"] == "uint64") {
		s["type"] = "integer"
	}
	if s["type"] == "object" && s["properties"] == nil && s["additionalProperties"] == nil {
		s["additionalProperties"] = true
	}
}

// correctBodies lists the media types a body really has.
func correctBodies(op object, path string) {
	if body, ok := op["requestBody"].(object); ok {
		addYAML(body)
	}
	for code, response := range op["responses"].(object) {
		r := response.(object)
		content, ok := r["content"].(object)
		switch {
		case ok && code == "200" && strings.HasSuffix(path, ":watch"):
			one := content["application/json"]
			r["content"] = object{"application/x-ndjson": one, "text/event-stream": one}
			continue
		case ok && code == "200" && strings.HasSuffix(path, "/logs"):
			r["content"] = object{"text/plain": object{"schema": object{"type": "string"}}}
			continue
		}
		addYAML(r)
	}
}

// correctCode changes the success code of a create to 201.
func correctCode(op object) {
	id, _ := op["operationId"].(string)
	_, method, _ := strings.Cut(id, "_")
	responses := op["responses"].(object)
	if response, ok := responses["200"]; ok && strings.HasPrefix(method, "Create") {
		responses["201"] = response
		delete(responses, "200")
	}
}

func addYAML(body object) {
	if content, ok := body["content"].(object); ok {
		content["application/yaml"] = content["application/json"]
	}
}

// useJSONName puts the JSON name where the comment of a proto field begins with the field's own name.
func useJSONName(described object, name string) {
	text, _ := described["description"].(string)
	if rest, ok := strings.CutPrefix(text, snake(name)); ok {
		described["description"] = name + rest
	}
}

// snake turns a JSON name into the name of the proto field; a run of capitals is one word.
func snake(name string) string {
	var b strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		if unicode.IsUpper(r) {
			if i > 0 && !unicode.IsUpper(runes[i-1]) {
				b.WriteByte('_')
			}
			r = unicode.ToLower(r)
		}
		b.WriteRune(r)
	}
	return b.String()
}

func eachSchema(v any, visit func(object)) {
	switch v := v.(type) {
	case object:
		if _, ok := v["type"].(string); ok {
			visit(v)
		}
		for _, child := range v {
			eachSchema(child, visit)
		}
	case []any:
		for _, child := range v {
			eachSchema(child, visit)
		}
	}
}
