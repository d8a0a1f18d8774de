package convert_test

import (
	"testing"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/clients/go/convert"
	"github.com/raygate/raygate/pkg/manifest"
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
	tree, mistakes := manifest.Read([]byte(asKubectlPrints), true)
	if len(mistakes) > 0 {
		t.Fatal(mistakes.ToAggregate())
	}
	m := kinds[0].empty()
	convert.FillKnown(m, tree)
	return toRay(t, kinds[0], m).(*rayv1.RayCluster)
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
