package admission

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// post sends bytes as they are, as `kubectl create --validate=strict` does, and returns the answer.
func post(t *testing.T, body, contentType string) metav1.Status {
	t.Helper()
	raw, err := server.core.Discovery().RESTClient().Post().AbsPath("/apis/ray.io/v1/namespaces/default/rayclusters").
		Param("dryRun", "All").Param("fieldValidation", "Strict").SetHeader("Content-Type", contentType).Body([]byte(body)).DoRaw(t.Context())
	if err == nil {
		return metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated}
	}
	var status *apierrors.StatusError
	if !errors.As(err, &status) {
		t.Fatalf("no answer: %v", err)
	}
	answer := status.ErrStatus
	_ = json.Unmarshal(raw, &answer) // the answer in full, where there is one
	return answer
}

// TestNonsenseNamesTheField: whatever a client sends, it is told the field, and nothing is a fault of the server.
func TestNonsenseNamesTheField(t *testing.T) {
	const pod = "template: {spec: {containers: [{name: ray}]}}"
	object := func(name, spec string) string {
		return "{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: " + name + "}, spec: " + spec + "}"
	}
	cluster := func(fields string) string { return object("nonsense", "{headGroupSpec: {"+pod+"}, "+fields+"}") }
	group := func(fields string) string {
		return cluster("workerGroupSpecs: [{groupName: w, " + pod + ", " + fields + "}]")
	}
	container := func(fields string) string {
		return object("nonsense", "{headGroupSpec: {template: {spec: {containers: [{name: ray, "+fields+"}]}}}}")
	}
	repeat := func(n int, item string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = strings.ReplaceAll(item, "#", fmt.Sprint(i))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	asJSON := func(text string) string {
		raw, err := json.Marshal(parse(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for name, tc := range map[string]struct {
		body string
		code int32
		want string // in the message
		json bool   // body is JSON; otherwise YAML
	}{
		"nothing wrong": {body: cluster("suspend: false"), code: 201},

		"a spec of the wrong type":       {body: object("a", "[]"), code: 422, want: "spec"},
		"a text for a spec":              {body: object("a", "hello"), code: 422, want: "spec"},
		"a head that is a list":          {body: object("a", "{headGroupSpec: []}"), code: 422, want: "spec.headGroupSpec"},
		"groups that are an object":      {body: cluster("workerGroupSpecs: {}"), code: 422, want: "spec.workerGroupSpecs"},
		"a group that is a text":         {body: cluster("workerGroupSpecs: [a]"), code: 422, want: "spec.workerGroupSpecs[0]"},
		"a group that is null":           {body: cluster("workerGroupSpecs: [null]"), code: 422, want: "spec.workerGroupSpecs[0]"},
		"a truth as a text":              {body: cluster("suspend: 'yes'"), code: 422, want: "spec.suspend"},
		"a text as a truth":              {body: cluster("rayVersion: true"), code: 422, want: "spec.rayVersion"},
		"a version that YAML reads":      {body: cluster("rayVersion: 2.9"), code: 422, want: "spec.rayVersion"},
		"numbers in start parameters":    {body: group("rayStartParams: {num-cpus: 1}"), code: 422, want: "spec.workerGroupSpecs[0].rayStartParams.num-cpus"},
		"lists in labels":                {body: group("labels: {a: [b]}"), code: 422, want: "spec.workerGroupSpecs[0].labels.a"},
		"a text as a number":             {body: group("replicas: '1'"), code: 422, want: "spec.workerGroupSpecs[0].replicas"},
		"half a replica":                 {body: group("replicas: 0.5"), code: 422, want: "spec.workerGroupSpecs[0].replicas"},
		"a number beyond 32 bits":        {body: group("replicas: 2147483648"), code: 422, want: "spec.workerGroupSpecs[0].replicas"},
		"a number beyond 64 bits":        {body: group("replicas: 99999999999999999999"), code: 422, want: "spec.workerGroupSpecs[0].replicas"},
		"a number beyond all":            {body: strings.Replace(asJSON(group("replicas: 7")), `"replicas":7`, `"replicas":1e999`, 1), code: 400, want: "1e999", json: true},
		"no number at all":               {body: group("replicas: .nan"), code: 400, want: "NaN"},
		"fewer than none, as KubeRay":    {body: group("replicas: -1"), code: 201},
		"negative bounds":                {body: group("minReplicas: -2147483648"), code: 422, want: "spec.workerGroupSpecs: minReplicas must be at least 0"},
		"no hosts, as KubeRay":           {body: group("numOfHosts: 0"), code: 201},
		"a quantity that is a word":      {body: container("resources: {limits: {cpu: lots}}"), code: 422, want: "spec.headGroupSpec.template.spec.containers[0].resources.limits.cpu"},
		"a quantity of a thousand nines": {body: container("resources: {limits: {cpu: '" + strings.Repeat("9", 1000) + "x'}}"), code: 422, want: "containers[0].resources.limits.cpu"},
		"a quantity that takes hours":    {body: cluster("gcsFaultToleranceOptions: {backend: rocksdb, storage: {size: '1e-999999999'}}"), code: 422, want: "spec.gcsFaultToleranceOptions.storage.size"},
		"a quantity that is a fraction":  {body: container("resources: {limits: {cpu: 0.5}}"), code: 422, want: "containers[0].resources.limits.cpu"},
		"a quantity that is a list":      {body: container("resources: {limits: {cpu: [1]}}"), code: 422, want: "containers[0].resources.limits.cpu"},
		"a port that is a word":          {body: container("ports: [{containerPort: http}]"), code: 422, want: "containers[0].ports[0].containerPort"},

		"many groups, as KubeRay":    {body: cluster("workerGroupSpecs: " + repeat(1001, "{groupName: g#, "+pod+"}")), code: 201},
		"many labels, as KubeRay":    {body: group("labels: {" + strings.Trim(repeat(129, "k#: v"), "[]") + "}"), code: 201},
		"a version that is a novel":  {body: cluster("rayVersion: '" + strings.Repeat("2.", 5000) + "'"), code: 422, want: "spec.rayVersion: Too long"},
		"more than the server takes": {body: cluster("rayVersion: '" + strings.Repeat("2", 4<<20) + "'"), code: 413, want: "too large"},
		"a hundred wrong groups":     {body: cluster("workerGroupSpecs: " + repeat(100, "{groupName: g#, minReplicas: -1, "+pod+"}")), code: 422, want: "spec.workerGroupSpecs: minReplicas must be at least 0"},
		"a deep nest":                {body: strings.Replace(asJSON(cluster("suspend: false")), `"suspend":false`, `"x":`+strings.Repeat(`{"x":`, 500)+"1"+strings.Repeat("}", 500), 1), code: 400, want: `unknown field "spec.x"`, json: true},
		"a bottomless nest":          {body: strings.Replace(asJSON(cluster("suspend: false")), `"suspend":false`, `"x":`+strings.Repeat(`[`, 20000)+strings.Repeat("]", 20000), 1), code: 400, want: "exceeded max depth", json: true},
		"a nest of aliases": {body: "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\n" +
			"e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e]\ng: [*f,*f,*f,*f,*f,*f,*f,*f,*f]\n", code: 400, want: "excessive aliasing"},

		"a key twice":               {body: cluster("suspend: true, suspend: false"), code: 400, want: `key "suspend" already set in map`},
		"a key twice, in JSON":      {body: strings.Replace(asJSON(cluster("suspend: false")), `"suspend":false`, `"suspend":false,"suspend":true`, 1), code: 400, want: `duplicate field "spec.suspend"`, json: true},
		"a group twice":             {body: cluster("workerGroupSpecs: " + repeat(2, "{groupName: g, "+pod+"}")), code: 422, want: "spec.workerGroupSpecs[1]: Duplicate value"},
		"an environment name twice": {body: container("env: [{name: a}, {name: a}]"), code: 422, want: "containers[0].env[1]: Duplicate value"},
		"an unknown field":          {body: cluster("workerGroupSpec: []"), code: 400, want: `unknown field "spec.workerGroupSpec"`},
		"an unknown field of a Pod": {body: container("image_pull_policy: Always"), code: 400, want: `unknown field "spec.headGroupSpec.template.spec.containers[0].image_pull_policy"`},
		"a field by another case":   {body: cluster("RayVersion: 2.9.0"), code: 400, want: `unknown field "spec.RayVersion"`},
		"many unknown fields":       {body: cluster("a: 1, b: 2"), code: 400, want: `unknown field "spec.a", unknown field "spec.b"`},

		"a name of another script":   {body: object("кластер", "{headGroupSpec: {"+pod+"}}"), code: 422, want: "metadata.name"},
		"a name that is a picture":   {body: object("'🦄'", "{headGroupSpec: {"+pod+"}}"), code: 422, want: "metadata.name"},
		"a group of another script":  {body: cluster("workerGroupSpecs: [{groupName: 工人, replicas: 1, " + pod + "}]"), code: 422, want: "spec.workerGroupSpecs: Invalid value: groupName becomes"},
		"a group across two lines":   {body: cluster(`workerGroupSpecs: [{groupName: "a\nb", replicas: 1, ` + pod + "}]"), code: 422, want: "spec.workerGroupSpecs: Invalid value: groupName becomes"},
		"a group with nothing in it": {body: cluster(`workerGroupSpecs: [{groupName: "a\0b", replicas: 1, ` + pod + "}]"), code: 422, want: "spec.workerGroupSpecs: Invalid value: groupName becomes"},
		"a label of another script":  {body: group("replicas: 1, labels: {ключ: v}"), code: 201},                                                       // policies and webhooks name it
		"bytes that are no text":     {body: strings.Replace(asJSON(cluster("rayVersion: VERSION")), "VERSION", "\xff\xfe", 1), code: 201, json: true}, // as any JSON decoder of Go, with marks in their place

		"nothing":                     {body: "", code: 400, want: "unexpected end of JSON input", json: true},
		"a list of objects":           {body: "[]", code: 400, want: "cannot unmarshal array", json: true},
		"half an object":              {body: `{"apiVersion":"ray.io/v1","kind":"RayCluster"`, code: 400, want: "unexpected", json: true},
		"another kind":                {body: strings.Replace(cluster("suspend: false"), "RayCluster", "RayJob", 1), code: 422, want: "kind: Invalid value"},
		"another version":             {body: strings.Replace(cluster("suspend: false"), "ray.io/v1", "ray.io/v2", 1), code: 400, want: `version "v2"`},
		"another namespace":           {body: strings.Replace(cluster("suspend: false"), "name: nonsense", "name: a, namespace: elsewhere", 1), code: 400, want: "namespace"},
		"metadata that is a text":     {body: strings.Replace(cluster("suspend: false"), "{name: nonsense}", "hello", 1), code: 400, want: "ObjectMeta"},
		"labels that are a list":      {body: strings.Replace(cluster("suspend: false"), "name: nonsense", "name: a, labels: [b]", 1), code: 400, want: "ObjectMeta.labels"},
		"an annotation that is a map": {body: strings.Replace(cluster("suspend: false"), "name: nonsense", "name: a, annotations: {b: {c: d}}", 1), code: 400, want: "ObjectMeta.annotations"},
	} {
		t.Run(name, func(t *testing.T) {
			contentType := "application/yaml"
			if tc.json {
				contentType = "application/json"
			}
			got := post(t, tc.body, contentType)
			if got.Code != tc.code || !strings.Contains(got.Message, tc.want) {
				t.Errorf("%d %.500s; want %d with %q", got.Code, got.Message, tc.code, tc.want)
			}
			if got.Code == 422 && (got.Details == nil || len(got.Details.Causes) == 0) {
				t.Errorf("no causes in %+v", got)
			}
		})
	}
}

// TestNonsenseByKubectl is what somebody sees who types it.
func TestNonsenseByKubectl(t *testing.T) {
	const pod = "template: {spec: {containers: [{name: ray}]}}"
	for name, tc := range map[string]struct{ manifest, want string }{
		"a typo":            {"{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: {headGroupSpec: {" + pod + "}, workerGroups: []}}", `unknown field "spec.workerGroups"`},
		"two mistakes":      {"{apiVersion: ray.io/v1, kind: RayCluster, metadata: {name: a}, spec: {headGroupSpec: {" + pod + ", serviceType: Internal}, workerGroupSpecs: [{groupName: a b, replicas: 1, " + pod + "}]}}", "* spec.workerGroupSpecs: "},
		"a number too many": {"{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: a}, spec: {entrypoint: x, backoffLimit: -1, rayClusterSpec: {headGroupSpec: {" + pod + "}}}}", "spec.backoffLimit"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs, err := kubectl(t, tc.manifest, "create", "--validate=strict", "--dry-run=server", "-f", "-")
			if err == nil || !strings.Contains(errs, tc.want) {
				t.Errorf("%v %q, want %q", err, errs, tc.want)
			}
		})
	}
}
