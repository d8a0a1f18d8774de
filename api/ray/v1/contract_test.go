package v1_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Which fields a zero value writes is part of the wire contract: clients compare and patch what they read.
func TestOmitEmpty(t *testing.T) {
	cases := map[string]struct {
		value any
		want  []string
	}{
		"RayCluster":              {rayv1.RayCluster{}, []string{"metadata", "spec", "status"}},
		"RayClusterSpec":          {rayv1.RayClusterSpec{}, []string{"headGroupSpec"}},
		"HeadGroupSpec":           {rayv1.HeadGroupSpec{}, []string{"rayStartParams", "template"}},
		"WorkerGroupSpec":         {rayv1.WorkerGroupSpec{}, []string{"groupName", "maxReplicas", "minReplicas", "rayStartParams", "scaleStrategy", "template"}},
		"RayClusterStatus":        {rayv1.RayClusterStatus{}, []string{"desiredCPU", "desiredGPU", "desiredMemory", "desiredTPU", "head"}},
		"HeadInfo":                {rayv1.HeadInfo{}, nil},
		"AutoscalerOptions":       {rayv1.AutoscalerOptions{}, nil},
		"GcsFaultTolerance":       {rayv1.GcsFaultToleranceOptions{}, nil},
		"GcsEmbeddedStorage":      {rayv1.GcsEmbeddedStorage{}, nil},
		"RedisCredential":         {rayv1.RedisCredential{}, nil},
		"NetworkPolicyConfig":     {rayv1.NetworkPolicyConfig{}, nil},
		"WorkerGroupNetworkRules": {rayv1.WorkerGroupNetworkPolicyRules{}, []string{"groupName"}},
		"RayJobSpec":              {rayv1.RayJobSpec{}, nil},
		"RayJobStatus":            {rayv1.RayJobStatus{}, []string{"rayClusterStatus", "rayJobInfo"}},
		"DeletionStrategy":        {rayv1.DeletionStrategy{}, nil},
		"DeletionRule":            {rayv1.DeletionRule{}, []string{"condition", "policy"}},
		"DeletionCondition":       {rayv1.DeletionCondition{}, nil},
		"RayServiceSpec":          {rayv1.RayServiceSpec{}, []string{"rayClusterConfig"}},
		"RayServiceStatuses":      {rayv1.RayServiceStatuses{}, []string{"activeServiceStatus", "pendingServiceStatus"}},
		"RayServiceStatus":        {rayv1.RayServiceStatus{}, []string{"rayClusterStatus"}},
		"ClusterUpgradeOptions":   {rayv1.ClusterUpgradeOptions{}, []string{"gatewayClassName", "intervalSeconds", "stepSizePercent"}},
		"RayCronJobSpec":          {rayv1.RayCronJobSpec{}, []string{"jobTemplate", "schedule"}},
		"RayCronJobStatus":        {rayv1.RayCronJobStatus{}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			raw, err := json.Marshal(tc.value)
			if err != nil {
				t.Fatal(err)
			}
			written := map[string]any{}
			if err := json.Unmarshal(raw, &written); err != nil {
				t.Fatal(err)
			}
			got := slices.Sorted(maps.Keys(written))
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("written fields of a zero value (-want +got):\n%s", diff)
			}
		})
	}
}

// A client that was given the scheme must be able to decode every kind and its list.
func TestSchemeKnowsAllKinds(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := rayv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"RayCluster", "RayJob", "RayService", "RayCronJob"} {
		for _, k := range []string{kind, kind + "List"} {
			obj, err := scheme.New(rayv1.GroupVersion.WithKind(k))
			if err != nil {
				t.Errorf("making a %s: %v", k, err)
				continue
			}
			if got := reflect.TypeOf(obj).Elem().Name(); got != k {
				t.Errorf("kind %s makes a %s", k, got)
			}
		}
	}
	if got := rayv1.Resource("rayclusters").String(); got != "rayclusters.ray.io" {
		t.Errorf("Resource gives %q", got)
	}
}
