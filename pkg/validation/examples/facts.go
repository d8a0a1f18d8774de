package examples

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

// clusterFacts are about other objects and about the writer of the request.
func clusterFacts() []row[cluster] {
	knowing := func(f validation.Facts, gates ...validation.Gate) validation.Options {
		o := validation.Options{Facts: &f, Gates: map[validation.Gate]bool{}}
		for _, g := range gates {
			o.Gates[g] = true
		}
		return o
	}
	policy := func(rc *cluster) {
		rc.Spec.NetworkPolicy = &rayv1.NetworkPolicyConfig{Mode: new(rayv1.NetworkPolicyDenyAllIngress)}
	}
	stored := func(s rayv1.GcsEmbeddedStorage) func(*cluster) {
		return withGCS(rayv1.GcsFaultToleranceOptions{Backend: rayv1.GcsFTBackendRocksDB, Storage: &s})
	}
	storage := func(size string) func(*cluster) {
		return stored(rayv1.GcsEmbeddedStorage{Size: new(resource.MustParse(size))})
	}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany, corev1.ReadOnlyMany}
	reversed := []corev1.PersistentVolumeAccessMode{corev1.ReadOnlyMany, corev1.ReadWriteMany}
	claim := &corev1.PersistentVolumeClaimSpec{AccessModes: modes, Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}}}
	victims := func(names ...string) func(*cluster) {
		return func(rc *cluster) { autoscaling(rc); group(rc).ScaleStrategy.WorkersToDelete = names }
	}
	owned := func(rc *cluster) {
		rc.OwnerReferences = []metav1.OwnerReference{{APIVersion: rayv1.GroupVersion.String(), Kind: "RayService", Name: "shop", UID: "u", Controller: new(true)}}
	}
	hosts := func(n int32) func(*cluster) { return func(rc *cluster) { group(rc).NumOfHosts = n } }
	return []row[cluster]{
		{ID: "RC-121", Name: "3 by 2", Mutate: hosts(2), Fix: hosts(3), WantFields: at(group0 + ".numOfHosts"), Options: knowing(validation.Facts{WantedPods: map[string]int64{"cpu": 3}})},
		{ID: "RC-122", Name: "foreign", Mutate: policy, WantFields: at("spec.networkPolicy"), Options: knowing(validation.Facts{ForeignNetworkPolicies: []string{"demo-head"}}, validation.GateNetworkPolicy)},
		{ID: "RC-123", Name: "missing", Mutate: both(autoscaling, func(rc *cluster) { headPod(rc).ServiceAccountName = "ray" }), WantFields: at("spec.headGroupSpec.template.spec.serviceAccountName"), Options: knowing(validation.Facts{ServiceAccountMissing: true})},
		{ID: "RC-124", Name: "missing", Mutate: both(tokenAuth, func(rc *cluster) { rc.Spec.AuthOptions.SecretName = new("token") }), Fix: func(rc *cluster) { rc.Spec.AuthOptions.SecretName = nil }, WantFields: at("spec.authOptions.secretName"), Options: knowing(validation.Facts{AuthSecretMissing: true})},
		{ID: "RC-125", Name: "larger", Mutate: storage("2Gi"), Fix: storage("1Gi"), WantFields: at("spec.gcsFaultToleranceOptions.storage.size"), Warning: true, Options: knowing(validation.Facts{Claim: claim}, validation.GateEmbeddedGCSStorage)},
		{ID: "RC-125", Name: "another class", Mutate: stored(rayv1.GcsEmbeddedStorage{StorageClassName: new("fast")}), Fix: stored(rayv1.GcsEmbeddedStorage{StorageClassName: new("")}), WantFields: at("spec.gcsFaultToleranceOptions.storage.storageClassName"), Warning: true, Options: knowing(validation.Facts{Claim: claim}, validation.GateEmbeddedGCSStorage)},
		{ID: "RC-125", Name: "other modes", Mutate: stored(rayv1.GcsEmbeddedStorage{AccessModes: modes[:1]}), Fix: stored(rayv1.GcsEmbeddedStorage{AccessModes: reversed}), WantFields: at("spec.gcsFaultToleranceOptions.storage.accessModes"), Warning: true, Options: knowing(validation.Facts{Claim: claim}, validation.GateEmbeddedGCSStorage)},
		{ID: "RC-511", Name: "another's Pod", Mutate: victims("some-db-0"), Fix: victims("demo-cpu-worker-abcde"), WantFields: at(group0 + ".scaleStrategy.workersToDelete[0]"), Warning: true, Options: knowing(validation.Facts{WorkerPods: map[string][]string{"cpu": {"demo-cpu-worker-abcde"}}})},
		{ID: "RC-525", Name: "sidecar of the operator", Mutate: func(rc *cluster) { headPod(rc).Containers = append(headPod(rc).Containers, sidecar("logs")) }, Fix: func(rc *cluster) { headPod(rc).Containers[1].Name = "other" }, WantFields: at("spec.headGroupSpec.template.spec.containers[1].name"), Options: validation.Options{HeadSidecars: []string{"logs"}}},
		{ID: "RC-556", Name: "headless", Mutate: func(rc *cluster) {
			rc.Spec.HeadGroupSpec.HeadService = &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}
		}, WantFields: at("spec.headGroupSpec.headService.spec.clusterIP"), Warning: true, Options: validation.Options{HeadClusterIPService: true}},
		{ID: "X-501", Name: "old client", Update: true, Before: func(rc *cluster) { group(rc).Labels = map[string]string{"zone": "a"} }, Mutate: func(rc *cluster) { group(rc).Labels = nil }, WantFields: at("apiVersion"), Warning: true, Also: []string{"RC-551"}, Options: validation.Options{RequestVersion: "v1alpha1"}},
		{ID: "X-501", Name: "old client, other field", Update: true, Before: func(rc *cluster) { group(rc).IdleTimeoutSeconds = new(int32(60)); autoscalerVersion("v2")(rc) }, Mutate: func(rc *cluster) { group(rc).IdleTimeoutSeconds = nil }, WantFields: at("apiVersion"), Warning: true, Options: validation.Options{RequestVersion: "v1alpha1"}},
		{ID: "X-503", Name: "by hand", Update: true, Before: owned, Mutate: func(rc *cluster) { rc.Spec.Suspend = new(true) }, Fix: func(rc *cluster) { rc.Spec.Suspend, group(rc).Replicas = nil, new(int32(3)) }, WantFields: at("spec"), Warning: true},
	}
}
