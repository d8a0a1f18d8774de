package features_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/component-base/featuregate"

	"github.com/raygate/raygate/operator/internal/features"
)

func TestSet(t *testing.T) {
	cases := map[string]struct {
		values      map[string]bool
		ask         featuregate.Feature
		wantEnabled bool
		wantErr     bool
	}{
		"default":                      {ask: features.RayMultiHostIndexing, wantEnabled: true},
		"off":                          {values: map[string]bool{"RayMultiHostIndexing": false}, ask: features.RayMultiHostIndexing},
		"locked, default again":        {values: map[string]bool{"RayClusterStatusConditions": true}, ask: features.RayClusterStatusConditions, wantEnabled: true},
		"locked, other value":          {values: map[string]bool{"RayClusterStatusConditions": false}, ask: features.RayClusterStatusConditions, wantEnabled: true, wantErr: true},
		"unknown names stop the start": {values: map[string]bool{"RayMultihostIndexing": false}, ask: features.RayMultiHostIndexing, wantEnabled: true, wantErr: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := features.New()
			err := features.Set(g, tc.values)
			if (err != nil) != tc.wantErr {
				t.Fatalf("Set: error %v, want error: %v", err, tc.wantErr)
			}
			if got := g.Enabled(tc.ask); got != tc.wantEnabled {
				t.Errorf("Enabled(%s) = %v, want %v", tc.ask, got, tc.wantEnabled)
			}
		})
	}
}

func TestGatesOfOneOperatorDoNotLeakIntoAnother(t *testing.T) {
	a, b := features.New(), features.New()
	if err := features.Set(a, map[string]bool{"RayMultiHostIndexing": false}); err != nil {
		t.Fatal(err)
	}
	if !b.Enabled(features.RayMultiHostIndexing) {
		t.Error("setting a gate in one instance changed another")
	}
}

// TestDefaults holds names and defaults to those of KubeRay 1.7: a chart that sets one must not stop the operator, and one
// that sets none must not turn anything on or off.
func TestDefaults(t *testing.T) {
	want := map[featuregate.Feature]bool{
		"RayClusterStatusConditions":       true,
		"RayJobDeletionPolicy":             true,
		"RayMultiHostIndexing":             true,
		"RayServiceIncrementalUpgrade":     true,
		"RayCronJob":                       false,
		"SidecarSubmitterRestart":          false,
		"RayClusterNetworkPolicy":          false,
		"GCSFaultToleranceEmbeddedStorage": false,
		"RayClusterMTLS":                   false,
		"RayClusterHistoryServer":          false,
		"RayClusterDrain":                  false,
		"KubernetesWAS":                    false,
		"AllAlpha":                         false, // of the framework
		"AllBeta":                          false,
	}
	g := features.New()
	got := map[featuregate.Feature]bool{}
	for name := range g.GetAll() {
		got[name] = g.Enabled(name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("gates (-want +got):\n%s", diff)
	}
}
