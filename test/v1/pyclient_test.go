package v1

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/raygate/raygate/internal/testing/await"
)

// pyClient has the habits of KubeRay's Python client: bodies with its own mixture of names, numbers for enums and misspelt members, no parameters of pages, no
// second try, errors that must be JSON with a message, and decoders that raise on what they do not find.
type pyClient struct{ *goClient }

// object is JSON as Python has it.
type object = map[string]any

func (c pyClient) call(ctx context.Context, method, path string, body any) (object, error) {
	var data []byte
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		data = text
	}
	code, answer, err := c.send(ctx, method, "/apis/v1/"+path, data, "Content-Type", "application/json", "accept", "application/json")
	if err != nil {
		return nil, err
	}
	var out object
	if err := json.Unmarshal(answer, &out); err != nil {
		return nil, fmt.Errorf("JSONDecodeError in %d %q: %w", code, answer, err)
	}
	if code/100 == 2 {
		return out, nil
	}
	text, ok := out["message"].(string)
	if !ok || text == "" {
		return nil, fmt.Errorf("KeyError: message in %s", answer)
	}
	return nil, fmt.Errorf("status %d: %s", code, text)
}

// raise ends the reading of an answer as an exception does.
func raise(format string, args ...any) { panic(fmt.Errorf(format, args...)) }

// decode runs a decoder and returns what it raised.
func decode(do func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = p.(error)
		}
	}()
	do()
	return nil
}

func member[T any](o object, key string) T {
	v, ok := o[key]
	if !ok {
		raise("KeyError: %s in %v", key, o)
	}
	t, ok := v.(T)
	if !ok {
		raise("TypeError: %s is %v", key, v)
	}
	return t
}

// optional is member for one that may be absent, but not of another type.
func optional[T any](o object, key string) (t T) {
	if _, ok := o[key]; ok {
		t = member[T](o, key)
	}
	return t
}

// oneOf is an optional text of a Python Enum, which an empty text is not of.
func oneOf(o object, key string, words ...string) {
	text, ok := o[key]
	for _, word := range words {
		ok = ok && text != word
	}
	if ok {
		raise("ValueError: %v is no %s", text, key)
	}
}

func decodeClusters(o object) []any {
	all := member[[]any](o, "clusters")
	for _, c := range all {
		decodeCluster(c.(object))
	}
	return all
}

func decodeCluster(o object) {
	for _, key := range []string{"name", "namespace", "user", "version"} {
		_ = optional[string](o, key)
	}
	_ = optional[float64](o, "environment") // a number, never a name
	_ = optional[object](o, "annotations")
	spec := member[object](o, "clusterSpec")
	head := member[object](spec, "headGroupSpec")
	decodeGroup(head)
	oneOf(head, "serviceType", "ClusterIP", "NodePort", "LoadBalancer")
	for _, g := range optional[[]any](spec, "workerGroupSpec") {
		group := g.(object)
		decodeGroup(group)
		_ = member[string](group, "groupName")
		low, n, high := optional[float64](group, "minReplicas"), optional[float64](group, "replicas"), member[float64](group, "maxReplicas")
		if low > n || n > high {
			raise("RuntimeError: %v <= %v <= %v", low, n, high)
		}
	}
	if options := optional[object](spec, "autoscalerOptions"); options != nil {
		oneOf(options, "upscalingMode", "Default", "Conservative", "Aggressive")
		decodeVolumes(options)
		decodeEnvironment(options, "envs")
	}
	for _, e := range optional[[]any](o, "events") {
		_ = member[string](e.(object), "id")
		_ = member[string](e.(object), "reason")
	}
	_ = optional[object](o, "serviceEndpoint")
	_ = optional[string](o, "clusterState")
}

func decodeGroup(o object) {
	_ = member[string](o, "computeTemplate")
	for key, value := range member[object](o, "rayStartParams") {
		if _, ok := value.(string); !ok {
			raise("AttributeError: %s", key)
		}
	}
	decodeVolumes(o)
	decodeEnvironment(o, "environment")
}

func decodeVolumes(o object) {
	for _, v := range optional[[]any](o, "volumes") {
		volume := v.(object)
		if kind := member[float64](volume, "volumeType"); kind < 0 || kind > 5 {
			raise("ValueError: %v is no type of a volume", kind)
		}
		for _, key := range []string{"hostPathType", "mountPropagationMode", "accessMode"} {
			_ = optional[float64](volume, key)
		}
		_ = member[string](volume, "name")
		_ = member[string](volume, "mountPath")
	}
}

func decodeEnvironment(o object, key string) {
	environment := optional[object](o, key)
	for _, from := range optional[object](environment, "valuesFrom") {
		_ = member[string](from.(object), "name")
		_ = optional[float64](from.(object), "source")
	}
}

func decodeTemplates(o object) []any {
	all := member[[]any](o, "computeTemplates")
	for _, t := range all {
		for _, key := range []string{"cpu", "memory"} {
			_ = member[float64](t.(object), key)
		}
		for _, toleration := range optional[[]any](t.(object), "tolerations") {
			oneOf(toleration.(object), "operator", "Exists", "Equal")
			oneOf(toleration.(object), "effect", "NoSchedule", "PreferNoSchedule", "NoExecute")
		}
	}
	return all
}

// pythonCluster is what the client's examples send.
func pythonCluster(w *world, name string) object {
	volume := func(kind int, more object) object {
		v := object{"name": fmt.Sprintf("v%d", kind), "mountPath": fmt.Sprintf("/v%d", kind), "volumeType": kind, "source": "s", "readOnly": true}
		maps.Copy(v, more)
		return v
	}
	environment := object{"values": object{"key": "val"}, "valuesFrom": object{"key2": object{"source": 1, "name": "secret", "key": "k"}}}
	return object{
		"name": name, "namespace": w.namespace, "user": "boris", "version": version, "environment": 0, "annotations": object{"a": "b"}, "envs": object{"values": object{"shared": "1"}},
		"clusterSpec": object{
			"headGroupSpec": object{
				"computeTemplate": w.template, "rayStartParams": object{"metrics-export-port": "8080", "num-cpus": "0"}, "image": image, "serviceType": "ClusterIP", "enableIngress": false,
				"service_account": "default", "image_pull_secret": "pull", "imagePullPolicy": "IfNotPresent", "environment": environment,
				"annotations": object{"c": "d"}, "labels": object{"e": "f"},
				"volumes": []any{volume(0, nil), volume(1, object{"hostPathType": 1, "mountPropagationMode": 1}), volume(2, object{"storage": "10Gi", "storageClassName": "x", "accessMode": 2}), volume(3, object{"items": object{"a": "b"}})},
			},
			"workerGroupSpec": []any{object{
				"groupName": "small", "computeTemplate": w.template, "replicas": 1, "minReplicas": 1, "maxReplicas": 5, "rayStartParams": object{}, "image": image,
				"service_account": "default", "imagePullSecret": "pull", "imagePullPolicy": "IfNotPresent", "environment": environment, "volumes": []any{volume(4, object{"items": object{"a": "b"}}), volume(5, object{"storage": "1Gi"})},
			}},
			"enableInTreeAutoscaling": true,
			"autoscalerOptions": object{
				"upscalingMode": "Default", "idleTimeoutSeconds": 60, "image": image, "imagePullPolicy": "Always", "cpu": "500m", "memory": "512Mi",
				"volumes": []any{object{"name": "v0", "mountPath": "/v0", "volumeType": 0}}, "envs": object{"values": object{"k": "v"}, "valuesFrom": object{"x": object{"source": 0, "name": "config"}}},
			},
		},
	}
}

func TestPythonClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := pyClient{&goClient{base: product.rest.base}}
	must := func(method, path string, body any) object {
		t.Helper()
		out, err := c.call(t.Context(), method, path, body)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		return out
	}
	decodes := func(what string, do func()) {
		t.Helper()
		if err := decode(do); err != nil {
			t.Errorf("%s: the decoder raises %v", what, err)
		}
	}
	base := "namespaces/" + w.namespace + "/"
	t.Run("templates", func(t *testing.T) {
		must("POST", base+"compute_templates", object{
			"name": "python", "namespace": w.namespace, "cpu": 2, "memory": 8, "gpu": 0, "gpu accelerator": "nvidia.com/gpu", "extended resources": object{"a/b": 1},
			"tolerations": []any{object{"key": "k", "operator": "Exists", "effect": "NoSchedule"}},
		})
		must("GET", base+"compute_templates/python", nil)
		for _, path := range []string{"compute_templates", base + "compute_templates", "namespaces/nothing-there/compute_templates"} {
			decodes(path, func() { decodeTemplates(must("GET", path, nil)) })
		}
		must("DELETE", base+"compute_templates/python", nil)
	})
	t.Run("clusters", func(t *testing.T) {
		decodes("an empty list", func() { decodeClusters(must("GET", "namespaces/nothing-there/clusters", nil)) })
		decodes("create", func() { decodeCluster(must("POST", base+"clusters", pythonCluster(w, "full"))) })
		must("POST", base+"clusters", object{"name": "demo", "namespace": w.namespace, "user": "boris", "version": version, "environment": 0, "clusterSpec": object{
			"headGroupSpec":   object{"computeTemplate": w.template, "rayStartParams": object{"metrics-export-port": "8080"}, "image": image},
			"workerGroupSpec": []any{object{"groupName": "small", "computeTemplate": w.template, "replicas": 1, "minReplicas": 1, "maxReplicas": 1, "image": image}},
		}})
		await.NoError(t, "wait_cluster_ready", func() error {
			one := must("GET", base+"clusters/demo", nil)
			decodes("get", func() { decodeCluster(one) })
			endpoints, _ := one["serviceEndpoint"].(object)
			if one["clusterState"] != "ready" || endpoints["dashboard"] != "8265" {
				return fmt.Errorf("state %v, endpoints %v", one["clusterState"], endpoints)
			}
			return nil
		})
		decodes("get", func() { decodeCluster(must("GET", base+"clusters/full", nil)) })
		decodes("list", func() {
			if n := len(decodeClusters(must("GET", base+"clusters", nil))); n != 2 {
				raise("%d clusters", n)
			}
		})
		decodes("list all", func() { decodeClusters(must("GET", "clusters", nil)) })
		must("DELETE", base+"clusters/full", nil)
	})
	t.Run("submissions", func(t *testing.T) {
		submitted := must("POST", base+"jobsubmissions/demo", object{
			"entrypoint": "echo $counter_name", "submissionId": "mine", "runtimeEnv": "env_vars:\n  counter_name: test_counter\n", "metadata": object{"a": "b"},
			"numCpus": ".5", "numGpus": 0, "resources": object{},
		})
		if submitted["submissionId"] != "mine" {
			t.Errorf("submitted as %v", submitted)
		}
		await.NoError(t, "the job ends", func() error {
			info := must("GET", base+"jobsubmissions/demo/mine", nil)
			if _, text := info["startTime"].(string); info["status"] != "SUCCEEDED" || !text {
				return fmt.Errorf("info %v", info)
			}
			return nil
		})
		if log := must("GET", base+"jobsubmissions/demo/log/mine", nil); log["log"] != "test_counter\n" {
			t.Errorf("log %v", log)
		}
		decodes("list", func() { _ = member[[]any](must("GET", base+"jobsubmissions/demo", nil), "submissions") })
		must("POST", base+"jobsubmissions/demo/mine", nil)
		must("DELETE", base+"jobsubmissions/demo/mine", nil)
	})
	t.Run("errors are JSON with a message", func(t *testing.T) {
		for path, want := range map[string]string{base + "clusters/unknown": "status 404", base + "clusters/": "status 400", "nothing": "status 404"} {
			if _, err := c.call(t.Context(), "GET", path, nil); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%s: %v", path, err)
			}
		}
		code, body, _, err := c.exchange(t.Context(), http.MethodGet, "/", nil)
		if err != nil || code != 404 || !strings.HasPrefix(string(body), `{"code":5,`) {
			t.Errorf("the root: %d %s %v", code, body, err)
		}
	})
}

// TestTheDecoderRaises holds the client to what it is said to raise on; without that TestPythonClient shows nothing.
func TestTheDecoderRaises(t *testing.T) {
	for name, text := range map[string]string{
		"an empty list":           `{}`,
		"a volume without type":   `{"clusters":[{"clusterSpec":{"headGroupSpec":{"computeTemplate":"a","rayStartParams":{},"volumes":[{"name":"a","mountPath":"/a"}]}}}]}`,
		"no start params":         `{"clusters":[{"clusterSpec":{"headGroupSpec":{"computeTemplate":"a"}}}]}`,
		"an empty service type":   `{"clusters":[{"clusterSpec":{"headGroupSpec":{"computeTemplate":"a","rayStartParams":{},"serviceType":""}}}]}`,
		"a null environment":      `{"clusters":[{"clusterSpec":{"headGroupSpec":{"computeTemplate":"a","rayStartParams":{},"environment":null}}}]}`,
		"names of enums":          `{"clusters":[{"environment":"DEV","clusterSpec":{"headGroupSpec":{"computeTemplate":"a","rayStartParams":{}}}}]}`,
		"bounds in a wrong order": `{"clusters":[{"clusterSpec":{"headGroupSpec":{"computeTemplate":"a","rayStartParams":{}},"workerGroupSpec":[{"groupName":"g","computeTemplate":"a","rayStartParams":{},"replicas":1,"minReplicas":2,"maxReplicas":3}]}}]}`,
	} {
		var o object
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		if err := decode(func() { decodeClusters(o) }); err == nil {
			t.Errorf("%s is read", name)
		}
	}
}
