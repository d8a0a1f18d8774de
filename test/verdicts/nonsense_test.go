package verdicts

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
func post(t *testing.T, body string) metav1.Status {
	t.Helper()
	raw, err := lab.core.Discovery().RESTClient().Post().AbsPath("/apis/ray.io/v1/namespaces/default/rayclusters").
		Param("dryRun", "All").Param("fieldValidation", "Strict").SetHeader("Content-Type", "application/yaml").Body([]byte(body)).DoRaw(t.Context())
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

// TestNonsenseNamesTheField sends nonsense: each answer names the field, and none is a server error.
func TestNonsenseNamesTheField(t *testing.T) {
	needLab(t)
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
	for name, tc := range map[string]struct {
		body string
		code int32
		want string // in the message
	}{
		"nothing wrong": {body: cluster("suspend: false"), code: 201},

		"a spec of the wrong type":       {body: object("a", "[]"), code: 422, want: "spec"},
		"a head that is a list":          {body: object("a", "{headGroupSpec: []}"), code: 422, want: "spec.headGroupSpec"},
		"groups that are an object":      {body: cluster("workerGroupSpecs: {}"), code: 422, want: "spec.workerGroupSpecs"},
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
		"fewer than none, as KubeRay":    {body: group("replicas: -1"), code: 201},
		"negative bounds":                {body: group("minReplicas: -2147483648"), code: 422, want: "spec.workerGroupSpecs: minReplicas must be at least 0"},
		"no hosts, as KubeRay":           {body: group("numOfHosts: 0"), code: 201},
		"a quantity that is a word":      {body: container("resources: {limits: {cpu: lots}}"), code: 422, want: "spec.headGroupSpec.template.spec.containers[0].resources.limits.cpu"},
		"a quantity of a thousand nines": {body: container("resources: {limits: {cpu: '" + strings.Repeat("9", 1000) + "x'}}"), code: 422, want: "containers[0].resources.limits.cpu"},
		"a quantity that takes hours":    {body: cluster("gcsFaultToleranceOptions: {backend: rocksdb, storage: {size: '1e-999999999'}}"), code: 422, want: "spec.gcsFaultToleranceOptions.storage.size"},
		"a quantity that is a fraction":  {body: container("resources: {limits: {cpu: 0.5}}"), code: 422, want: "containers[0].resources.limits.cpu"},

		"a version that is a novel": {body: cluster("rayVersion: '" + strings.Repeat("2.", 5000) + "'"), code: 422, want: "spec.rayVersion: Too long"},

		"a group twice":             {body: cluster("workerGroupSpecs: " + repeat(2, "{groupName: g, "+pod+"}")), code: 422, want: "spec.workerGroupSpecs[1]: Duplicate value"},
		"an unknown field":          {body: cluster("workerGroupSpec: []"), code: 400, want: `unknown field "spec.workerGroupSpec"`},
		"an unknown field of a Pod": {body: container("image_pull_policy: Always"), code: 400, want: `unknown field "spec.headGroupSpec.template.spec.containers[0].image_pull_policy"`},

		"a group of another script":  {body: cluster("workerGroupSpecs: [{groupName: 工人, replicas: 1, " + pod + "}]"), code: 422, want: "spec.workerGroupSpecs: Invalid value: groupName becomes"},
		"a group across two lines":   {body: cluster(`workerGroupSpecs: [{groupName: "a\nb", replicas: 1, ` + pod + "}]"), code: 422, want: "spec.workerGroupSpecs: Invalid value: groupName becomes"},
		"a group with nothing in it": {body: cluster(`workerGroupSpecs: [{groupName: "a\0b", replicas: 1, ` + pod + "}]"), code: 422, want: "spec.workerGroupSpecs: Invalid value: groupName becomes"},
		"a label of another script":  {body: group("replicas: 1, labels: {ключ: v}"), code: 201}, // policies and webhooks name it

		"no containers":                  {body: object("a", "{headGroupSpec: {template: {spec: {}}}}"), code: 422, want: "spec.headGroupSpec.template.spec.containers: Required value"},
		"two containers of one name":     {body: object("a", "{headGroupSpec: {template: {spec: {containers: [{name: ray}, {name: ray}]}}}}"), code: 422, want: "Duplicate value"},
		"two mounts at one path":         {body: container("volumeMounts: [{name: x, mountPath: /m}, {name: y, mountPath: /m}]"), code: 422, want: "Duplicate value"},
		"one port for two protocols":     {body: container("ports: [{containerPort: 1, protocol: TCP}, {containerPort: 1, protocol: UDP}]"), code: 201},
		"one port twice, one by default": {body: container("ports: [{containerPort: 1}, {containerPort: 1, protocol: TCP}]"), code: 422, want: "Duplicate value"},
	} {
		t.Run(name, func(t *testing.T) {
			got := post(t, tc.body)
			if got.Code != tc.code || !strings.Contains(got.Message, tc.want) {
				t.Errorf("%d %.500s; want %d with %q", got.Code, got.Message, tc.code, tc.want)
			}
			if got.Code == 422 && (got.Details == nil || len(got.Details.Causes) == 0) {
				t.Errorf("no causes in %+v", got)
			}
		})
	}
}
