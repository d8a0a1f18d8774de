package v2_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/apiserver/internal/model/codec"
	modelv2 "github.com/raygate/raygate/apiserver/internal/model/v2"
	raygatev2 "github.com/raygate/raygate/proto/gen/go/raygate/v2"
)

// asKubectlPrints is an object as `kubectl get -o yaml` prints it, with all that a client would not write.
const asKubectlPrints = `
apiVersion: ray.io/v1
kind: RayCluster
metadata:
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      {"apiVersion":"ray.io/v1"}
    note: short
  creationTimestamp: "2026-01-31T12:00:00Z"
  generation: 3
  managedFields:
  - manager: kubectl
    operation: Apply
    fieldsV1: {"f:spec": {}}
  name: demo
  namespace: team-a
  resourceVersion: "9007199254740993"
  uid: 0d5f3a4e-4f0e-4b7e-9e53-0a5a4cbe0b6a
spec:
  rayVersion: 2.46.0
  enableInTreeAutoscaling: true
  headGroupSpec:
    rayStartParams:
      dashboard-host: 0.0.0.0
    serviceType: ClusterIP
    template:
      metadata:
        creationTimestamp: null
      spec:
        containers:
        - name: ray-head
          image: rayproject/ray:2.46.0
          ports:
          - containerPort: 6379
            name: gcs
            protocol: TCP
          resources:
            limits:
              cpu: "2"
              memory: 4Gi
          livenessProbe:
            httpGet: {path: /healthz, port: 8000}
  workerGroupSpecs:
  - groupName: small
    replicas: 3
    minReplicas: 0
    maxReplicas: 10
    numOfHosts: 1
    rayStartParams: {}
    scaleStrategy: {}
    template:
      spec:
        containers:
        - name: ray-worker
          image: rayproject/ray:2.46.0
          env:
          - name: RAY_DEBUG
            valueFrom:
              fieldRef: {fieldPath: metadata.name}
          volumeMounts:
          - {name: data, mountPath: /data}
        volumes:
        - name: data
          emptyDir: {sizeLimit: 10Gi}
        terminationGracePeriodSeconds: 30
status:
  state: ready
  desiredCPU: "8"
  desiredMemory: 16Gi
  desiredGPU: "0"
  desiredTPU: "0"
  desiredWorkerReplicas: 3
  lastUpdateTime: "2026-01-31T12:01:00Z"
  head: {podIP: 10.0.0.7, podName: demo-head-abcde}
  endpoints: {dashboard: "8265"}
  conditions:
  - type: HeadPodReady
    status: "True"
    reason: HeadPodRunningAndReady
    message: ""
    lastTransitionTime: "2026-01-31T12:01:00Z"
  observedGeneration: 3
`

func exampleCluster(t testing.TB) *rayv1.RayCluster {
	t.Helper()
	var m raygatev2.RayCluster
	if err := codec.Decode([]byte(asKubectlPrints), codec.YAML, &m); err != nil {
		t.Fatal(err)
	}
	return toRay(t, kinds[0], &m).(*rayv1.RayCluster)
}

func TestWhatKubectlPrintsIsTaken(t *testing.T) {
	rc := exampleCluster(t)
	if got := rc.Spec.WorkerGroupSpecs[0].Template.Spec.Volumes[0].EmptyDir.SizeLimit.String(); got != "10Gi" {
		t.Errorf("sizeLimit = %s", got)
	}
	if got := rc.ResourceVersion; got != "9007199254740993" {
		t.Errorf("resourceVersion = %s", got)
	}
	checkJSONIsTheResources(t, kinds[0], rc, checkRoundTrip(t, kinds[0], rc))
}

func TestDecodeReportsAllMistakes(t *testing.T) {
	const doc = `
apiVersion: ray.io/v2
kind: RayJob
metadata: {creationTimestamp: "2026-01-31T12:00:00.5Z"}
spec:
  headGroupSpec:
    rayStartParams: {port: 6379}
    template:
      spec:
        contaniers: []
        terminationGracePeriodSeconds: 1.5
        containers:
        - Name: a
          name: b
          resources: {limits: {cpu: many, memory: 1.5}}
          ports: [{containerPort: 3000000000}]
          livenessProbe: {httpGet: {port: true}}
        - null
  workerGroupSpecs:
  - {}
  - template: {spec: {hostNetwork: "yes"}}
  autoscalerOptions:
    env: [{name: A}, {nam: B}]
  gcsFaultToleranceOptions: {storage: {size: lots}}
status: {desiredCPU: few}
`
	var m raygatev2.RayCluster
	if err := codec.Decode([]byte(doc), codec.YAML, &m); err != nil {
		t.Fatal(err)
	}
	tree, err := modelv2.Tree(&m)
	if err != nil {
		t.Fatal(err)
	}
	errs := modelv2.Decode(tree, "RayCluster", &rayv1.RayCluster{})
	got := map[string]string{}
	for _, e := range errs {
		got[e.Field] = e.Origin + ": " + e.Detail
	}
	head := "spec.headGroupSpec.template.spec."
	want := map[string]string{
		"apiVersion":                 `bad-format: expected "ray.io/v1", got "ray.io/v2"`,
		"kind":                       `bad-format: expected "RayCluster", got "RayJob"`,
		"metadata.creationTimestamp": `bad-format: "2026-01-31T12:00:00.5Z" is not a time in RFC 3339 with whole seconds, such as 2026-01-31T12:00:00Z`,
		"spec.headGroupSpec.rayStartParams[port]":            `wrong-type: expected string, got number 6379; put it in quotes`,
		head + "contaniers":                                  `unknown-field: unknown field "contaniers", did you mean "containers"?`,
		head + "terminationGracePeriodSeconds":               `wrong-type: expected integer, got number 1.5`,
		head + "containers[0].Name":                          `unknown-field: unknown field "Name", did you mean "name"?`,
		head + "containers[0].resources.limits[cpu]":         `bad-format: "many" is not a quantity such as 500m, 2 or 16Gi`,
		head + "containers[0].resources.limits[memory]":      `wrong-type: expected quantity as a string or integer, got number 1.5; write "1.5"`,
		head + "containers[0].ports[0].containerPort":        `out-of-range: 3000000000 does not fit in a 32-bit integer`,
		head + "containers[0].livenessProbe.httpGet.port":    `wrong-type: expected integer or string, got boolean true`,
		head + "containers[1]":                               `wrong-type: expected object, got null`,
		"spec.workerGroupSpecs[1].template.spec.hostNetwork": `wrong-type: expected boolean, got string "yes"`,
		"spec.autoscalerOptions.env[1].nam":                  `unknown-field: unknown field "nam"`,
		"spec.gcsFaultToleranceOptions.storage.size":         `bad-format: "lots" is not a quantity such as 500m, 2 or 16Gi`,
		"status.desiredCPU":                                  `bad-format: "few" is not a quantity such as 500m, 2 or 16Gi`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
}
