package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseGates(t *testing.T) {
	for name, tc := range map[string]struct {
		settings  []string
		want      map[Gate]bool
		wantError string
	}{
		"none":      {want: map[Gate]bool{}},
		"one":       {settings: []string{"RayClusterMTLS=true"}, want: map[Gate]bool{GateMTLS: true}},
		"joined":    {settings: []string{"RayClusterMTLS=true, RayMultiHostIndexing=false"}, want: map[Gate]bool{GateMTLS: true, GateMultiHostIndexing: false}},
		"last wins": {settings: []string{"RayClusterMTLS=true", "RayClusterMTLS=false"}, want: map[Gate]bool{GateMTLS: false}},
		"all mistakes": {
			settings: []string{"RayClusterMTLS", "Foo=true", "RayClusterMTLS=maybe"}, want: map[Gate]bool{},
			wantError: "feature gate \"RayClusterMTLS\": use NAME=true or NAME=false\nfeature gate \"Foo\": no rule asks for it\nfeature gate \"RayClusterMTLS=maybe\": use NAME=true or NAME=false",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseGates(tc.settings...)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
			text := ""
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(tc.wantError, text); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}
