package crd_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func toMap(t testing.TB, v any) map[string]any {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("encoding %T: %v", v, err)
	}
	return fromJSON(t, raw)
}

func fromYAML(t testing.TB, text string) map[string]any {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("decoding %q: %v", text, err)
	}
	return fromJSON(t, raw)
}

// fromJSON decodes as the API server does: whole numbers become int64.
func fromJSON(t testing.TB, raw []byte) map[string]any {
	t.Helper()
	var out map[string]any
	if err := utiljson.Unmarshal(raw, &out); err != nil {
		t.Fatalf("decoding %q: %v", raw, err)
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
