package v1_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// Every sample must decode strictly, and lose nothing on the way through the Go types.
func TestSamplesRoundTrip(t *testing.T) {
	samples, err := filepath.Glob("../../../samples/raycluster.*.yaml")
	if err != nil || len(samples) == 0 {
		t.Fatalf("no samples found: %v", err)
	}
	for _, file := range samples {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			rc := &rayv1.RayCluster{}
			if err := yaml.UnmarshalStrict(raw, rc, yaml.DisallowUnknownFields); err != nil {
				t.Fatalf("decoding strictly: %v", err)
			}
			want := fromYAML(t, string(raw))
			if diff := cmp.Diff(withoutEmpty(want), withoutEmpty(toMap(t, rc))); diff != "" {
				t.Errorf("the Go types changed the sample (-want +got):\n%s", diff)
			}
			if got := violations(t, "rayclusters", toMap(t, rc), nil); len(got) > 0 {
				t.Errorf("the CRD refuses the sample: %v", got)
			}
		})
	}
}

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
			got := slices.Sorted(maps.Keys(toMap(t, tc.value)))
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

func toMap(t testing.TB, v any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encoding %T: %v", v, err)
	}
	return fromYAML(t, string(raw))
}

// fromYAML decodes as the API server does: whole numbers become int64.
func fromYAML(t testing.TB, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("decoding %q: %v", text, err)
	}
	var out map[string]any
	if err := utiljson.Unmarshal(raw, &out); err != nil {
		t.Fatalf("decoding %q: %v", text, err)
	}
	return out
}

// withoutEmpty removes empty objects, nulls and the zero quantities of a status, which Go cannot help writing.
func withoutEmpty(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			if e = withoutEmpty(e); e != nil && e != "0" {
				out[k] = e
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutEmpty(v[i])
		}
		return out
	default:
		return v
	}
}
