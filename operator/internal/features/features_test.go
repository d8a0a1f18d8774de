package features_test

import (
	"testing"

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
