package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// samples are the smallest objects of each kind, as users write them; their file names are those of the kinds.
type samples map[string]object

func readSamples(dir string) (samples, error) {
	all := samples{}
	files, err := filepath.Glob(filepath.Join(dir, "*.minimal.yaml"))
	if err == nil && len(files) == 0 {
		err = errors.New("there are none")
	}
	if err != nil {
		return nil, fmt.Errorf("looking for samples in %s: %w", dir, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading a sample: %w", err)
		}
		var sample object
		if err := yaml.UnmarshalStrict(data, &sample); err != nil {
			return nil, fmt.Errorf("decoding %s: %w", file, err)
		}
		all[sample["kind"].(string)] = sample
	}
	return all, nil
}

// parameters are examples by name. Parameters that are not listed are texts with an example in their description.
var parameters = object{
	"namespace": "default", "name": "minimal", "requestId": "3f2c8a1e-5d2b-4c61-9a34-0b1c2d3e4f50", "pageSize": 100, "labelSelector": "team=a,tier!=web",
	"orderBy": "createTime desc", "view": "FULL", "etag": "4711", "fieldManager": "my-program", "propagation": "FOREGROUND", "timeout": "600s",
	"updateMask": "spec.suspend", "filter": `name : "exp-"`, "validateOnly": true, "force": true, "allowOverwrite": true, "allowMissing": true,
	"skipInitial": true, "includeChildren": true, "cluster": "minimal", "submissionId": "raysubmit_1", "submission_id": "raysubmit_1",
	"kind": "RayJob", "month": "2026-11", "groupBy": "queue,owner",
	"packageName": packageName, "package_name": packageName, "jobName": "minimal",
}

// packageName has the sum of a package.
const packageName = "_ray_pkg_9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08.zip"

// patch is the example body of update and apply, besides the kind: a part of the object.
var patch = object{"metadata": object{"labels": object{"team": "a"}}}

// addExamples gives each operation an example of its parameters, its body and its answer.
func addExamples(doc object, of samples) {
	components := doc["components"].(object)
	schemas := components["schemas"].(object)
	shown := shared{named: object{}, names: map[string]string{}}
	components["examples"] = shown.named
	eachOperation(doc, func(_, _ string, op object) {
		method, kind := methodName(op), kindOf(op)
		list, _ := op["parameters"].([]any)
		for _, p := range list {
			parameter := p.(object)
			if example, ok := parameters[parameter["name"].(string)]; ok {
				parameter["example"] = example
			}
		}
		if strings.HasPrefix(method, "Wait") {
			each(list, "for", "condition="+conditionOf(kind))
		}
		if body, ok := op["requestBody"].(object); ok {
			shown.set(body, method+".request", requestExample(method, kind, of, schemaOf(body), schemas))
		}
		for status, response := range op["responses"].(object) {
			if strings.HasPrefix(status, "2") {
				shown.set(response.(object), method, answerExample(method, kind, of, schemaOf(response.(object)), schemas))
			}
		}
	})
}

func each(parameters []any, name, example string) {
	for _, p := range parameters {
		if parameter := p.(object); parameter["name"] == name {
			parameter["example"] = example
		}
	}
}

// kinds are the kinds of the services.
var kinds = map[string]string{"ClusterService": "RayCluster", "JobService": "RayJob", "ServeService": "RayService", "CronJobService": "RayCronJob"}

func kindOf(op object) string {
	service, _, _ := strings.Cut(op["operationId"].(string), "_")
	return kinds[service]
}

func conditionOf(kind string) string {
	if kind == "RayCluster" {
		return "RayClusterProvisioned"
	}
	return "Ready"
}

func requestExample(method, kind string, of samples, schema string, schemas object) any {
	if of[kind] == nil { // no kind of Kubernetes
		return fromSchema(schema, schemas, 0)
	}
	switch {
	case strings.HasPrefix(method, "Create"):
		return of[kind]
	case strings.HasPrefix(method, "Replace"):
		return stored(of[kind], false)
	case strings.HasPrefix(method, "Update"):
		return patch
	case strings.HasPrefix(method, "Apply"):
		return overlaid(object{"apiVersion": "ray.io/v1", "kind": kind}, patch)
	case strings.HasPrefix(method, "Scale"):
		return object{"replicas": 3, "maxReplicas": 5}
	}
	return fromSchema(schema, schemas, 0)
}

func answerExample(method, kind string, of samples, schema string, schemas object) any {
	if of[kind] == nil {
		return fromSchema(schema, schemas, 0)
	}
	switch {
	case strings.HasSuffix(schema, "."+kind):
		return stored(of[kind], !strings.HasPrefix(method, "Create"))
	case strings.HasPrefix(method, "Delete"):
		return object{"uid": uid}
	case strings.HasPrefix(method, "Watch"):
		return object{"type": "ADDED", messageOf(kind): stored(of[kind], true), "resumeToken": "cnY6NDcxMQ"}
	case strings.HasSuffix(method, "Events"):
		return object{"events": []any{object{
			"type": "Normal", "reason": "CreatedHeadPod", "message": "Created head Pod minimal-head-x7f", "object": object{"kind": kind, "name": "minimal", "uid": uid},
			"count": 1, "firstTime": created, "lastTime": created, "source": "raygate-operator",
		}}}
	case strings.HasPrefix(method, "List"):
		return object{
			"apiVersion": "ray.io/v1", "kind": kind + "List", "metadata": object{"resourceVersion": "4711"},
			"items": []any{stored(of[kind], true)}, "nextPageToken": "bmV4dA", "totalSize": 101,
		}
	case method == "DiagnoseCronJob":
		return object{"ready": true}
	case strings.HasPrefix(method, "Diagnose"):
		return object{"findings": []any{object{
			"severity": "ERROR", "reason": "ImagePullFailed", "message": "container ray-head: ImagePullBackOff: no such image",
			"object": object{"kind": "Pod", "name": "minimal-head-x7f"}, "remedy": "correct the image, or give the Pod credentials for its registry",
		}}}
	}
	return fromSchema(schema, schemas, 0)
}

// messageOf is the JSON name of a kind's field in messages, such as cronJob.
func messageOf(kind string) string {
	name := strings.TrimPrefix(kind, "Ray")
	return strings.ToLower(name[:1]) + name[1:]
}

const (
	uid     = "5b1f0a52-7c1d-4f5e-8c0f-2f0c5e6d7a8b"
	created = "2026-01-31T12:00:00Z"
)

// stored is a sample as Kubernetes has it.
func stored(sample object, withStatus bool) object {
	o := overlaid(sample, object{"metadata": object{"namespace": "default", "uid": uid, "resourceVersion": "4711", "generation": 1, "creationTimestamp": created}})
	if withStatus {
		o["status"] = object{"observedGeneration": 1}
		if o["kind"] == "RayCronJob" {
			o["status"] = object{"lastScheduleTime": created}
		}
	}
	return o
}

// overlaid returns a with the members of b, which are merged where both are objects.
func overlaid(a, b object) object {
	out := object{}
	maps.Copy(out, a)
	for name, value := range b {
		below, isObject := value.(object)
		if old, ok := out[name].(object); ok && isObject {
			value = overlaid(old, below)
		}
		out[name] = value
	}
	return out
}

// fromSchema generates an example answer if there is no better one.
func fromSchema(name string, schemas object, depth int) any {
	schema, _ := schemas[name].(object)
	properties, _ := schema["properties"].(object)
	out := object{}
	for property, value := range properties {
		out[property] = fromProperty(value.(object), schemas, depth)
	}
	return out
}

func fromProperty(p, schemas object, depth int) any {
	if ref, ok := p["$ref"].(string); ok && depth < 3 {
		return fromSchema(strings.TrimPrefix(ref, schemaPrefix), schemas, depth+1)
	}
	switch p["type"] {
	case "string":
		if p["format"] == "date-time" {
			return created
		}
		return "text"
	case "integer", "number":
		return 1
	case "boolean":
		return true
	case "array":
		return []any{}
	}
	return object{}
}

const schemaPrefix = "#/components/schemas/"

// schemaOf is the name of the schema of a body.
func schemaOf(body object) string {
	content, _ := body["content"].(object)
	for _, media := range content {
		schema, _ := media.(object)["schema"].(object)
		ref, _ := schema["$ref"].(string)
		return strings.TrimPrefix(ref, schemaPrefix)
	}
	return ""
}

// shared are the examples by name; operations with the same one share it.
type shared struct {
	named object
	names map[string]string // by content
}

// set sets an example in the JSON forms of a body; the YAML has the same content.
func (s shared) set(body object, name string, example any) {
	content, _ := body["content"].(object)
	if content["application/json"] == nil && content["application/x-ndjson"] == nil {
		return // text
	}
	data, _ := json.Marshal(example) // made of JSON
	if known, ok := s.names[string(data)]; ok {
		name = known
	}
	s.names[string(data)], s.named[name] = name, object{"value": example}
	for media, value := range content {
		if strings.HasSuffix(media, "json") {
			content[media] = overlaid(value.(object), object{"examples": object{"example": object{"$ref": "#/components/examples/" + name}}})
		}
	}
}

// eachOperation calls visit for each operation, sorted by path and verb.
func eachOperation(doc object, visit func(path, verb string, op object)) {
	paths := doc["paths"].(object)
	for _, path := range sortedKeys(paths) {
		item := paths[path].(object)
		for _, verb := range sortedKeys(item) {
			if op, ok := item[verb].(object); ok {
				visit(path, verb, op)
			}
		}
	}
}

func sortedKeys(o object) []string {
	keys := make([]string, 0, len(o))
	for key := range o {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
