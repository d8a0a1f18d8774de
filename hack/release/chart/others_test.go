package chart

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// team has the values of a data scientist, by the names of KubeRay's chart.
const team = `
fullnameOverride: research
image: {tag: 2.60.0-py311-gpu}
imagePullSecrets: [{name: pull}]
labels: {kueue.x-k8s.io/queue-name: team-a}
common: {containerEnv: [{name: HTTP_PROXY, value: "http://proxy:3128"}]}
gcsFaultTolerance: {enabled: true, redisAddress: "redis:6379", redisPassword: {valueFrom: {secretKeyRef: {name: redis, key: password}}}}
head:
  enableInTreeAutoscaling: true
  autoscalerOptions: {idleTimeoutSeconds: 60}
  initArgs: {num-cpus: "0"}
  containerEnv: [{name: A, value: "1"}]
  sidecarContainers: [{name: logs, image: fluent-bit}]
  command: ["bash", "-c"]
  podSecurityContext: {fsGroup: 1000}
worker: {replicas: 2, maxReplicas: 4, resources: {limits: {nvidia.com/gpu: 1}}, resourceClaims: [{name: gpu, resourceClaimTemplateName: one}]}
additionalWorkerGroups:
  smallGroup: {disabled: true, replicas: 3}
  cpu: {disabled: false, replicas: 0, minReplicas: 0, maxReplicas: 3, rayStartParams: {}, image: {tag: 2.60.0}, labels: {pool: cpu}, tolerations: [{operator: Exists}]}
service: {type: LoadBalancer}
spec: {upgradeStrategy: {type: Recreate}}
`

func cluster(t *testing.T, values string) map[string]any {
	t.Helper()
	objects := renderChart(t, loadFrom(t, filepath.Join(root, "charts/ray-cluster")), "team-a", values)
	if len(objects) != 1 || objects[0].GetKind() != "RayCluster" {
		t.Fatalf("%d objects", len(objects))
	}
	return objects[0].Object
}

// The RayCluster of the chart is one that the CRD takes as it is: no field is unknown, and none has a wrong type.
func TestRayClusterFitsCRD(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "operator/config/crd/bases/ray.io_rayclusters.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(data, &crd); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(crd.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == "v1" })
	var schema apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[i].Schema.OpenAPIV3Schema, &schema, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := structuralschema.NewStructural(&schema)
	if err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(&schema)
	if err != nil {
		t.Fatal(err)
	}
	for _, values := range []string{"", team, "worker: {disabled: true}"} {
		object := cluster(t, values)
		for _, problem := range validation.ValidateCustomResource(nil, object, validator) {
			t.Errorf("%q: %v", values, problem)
		}
		options := structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true}
		for _, field := range pruning.PruneWithOptions(object, structural, true, options) {
			t.Errorf("%q: the field %s is unknown", values, field)
		}
	}
}

// Each value reaches the RayCluster.
func TestRayClusterValues(t *testing.T) {
	object := cluster(t, team)
	get := func(fields ...string) any {
		v, _, err := unstructured.NestedFieldNoCopy(object, fields...)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	head := get("spec", "headGroupSpec", "template", "spec").(map[string]any)
	container := head["containers"].([]any)[0].(map[string]any)
	workers := get("spec", "workerGroupSpecs").([]any)
	group := workers[1].(map[string]any)
	image := group["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["image"]
	got := map[string]any{
		"name": get("metadata", "name"), "queue": get("metadata", "labels", "kueue.x-k8s.io/queue-name"), "version": get("spec", "rayVersion"),
		"autoscaler": get("spec", "autoscalerOptions", "idleTimeoutSeconds"), "redis": get("spec", "gcsFaultToleranceOptions", "redisAddress"),
		"cpus": get("spec", "headGroupSpec", "rayStartParams", "num-cpus"), "service": get("spec", "headGroupSpec", "serviceType"),
		"image": container["image"], "env": len(container["env"].([]any)), "containers": len(head["containers"].([]any)), "strategy": get("spec", "upgradeStrategy", "type"),
		"groups": len(workers), "name of the second": group["groupName"], "its replicas": group["replicas"], "its image": image,
	}
	want := map[string]any{
		"name": "research", "queue": "team-a", "version": "2.60.0", "autoscaler": int64(60), "redis": "redis:6379", "cpus": "0", "service": "LoadBalancer",
		"image": "rayproject/ray:2.60.0-py311-gpu", "env": 2, "containers": 2, "strategy": "Recreate", "groups": 2, "name of the second": "cpu", "its replicas": int64(0),
		"its image": "rayproject/ray:2.60.0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("RayCluster (-want +got):\n%s", diff)
	}
	if name := cluster(t, "")["metadata"].(map[string]any)["name"]; name != "raygate-kuberay" {
		t.Errorf("the RayCluster is called %v", name)
	}
}

// ofCRDs reports whether an object is a CRD, or belongs to the policy that validates updates with its rules.
func ofCRDs(o *unstructured.Unstructured) bool {
	return o.GetKind() == "CustomResourceDefinition" || strings.HasPrefix(o.GetKind(), "ValidatingAdmissionPolicy")
}

// The chart of CRDs alone has those of the chart raygate, for each mode of webhooks.
func TestCRDChart(t *testing.T) {
	crds := loadFrom(t, filepath.Join(root, "charts/raygate-crds"))
	for values, of := range map[string]string{
		"":                               "",
		"crds: {keep: false}":            "crds: {keep: false}",
		"webhooks: {mode: self-managed}": "webhooks: {mode: self-managed}",
		"webhooks: {mode: cert-manager, namespace: raygate-system}": "webhooks: {mode: cert-manager}",
	} {
		want := map[string]any{}
		for _, o := range render(t, of) {
			if ofCRDs(o) {
				want[key(o)] = o.Object
			}
		}
		into := namespace
		if values == "webhooks: {mode: cert-manager, namespace: raygate-system}" {
			into = "crds"
		}
		got := map[string]any{}
		for _, o := range renderChart(t, crds, into, values) {
			got[key(o)] = o.Object
		}
		if diff := cmp.Diff(want, got); diff != "" || len(want) != 12 {
			t.Errorf("%q (-raygate +raygate-crds):\n%.2000s", values, diff)
		}
	}
}
