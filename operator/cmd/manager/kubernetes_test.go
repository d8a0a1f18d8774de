package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/operator/internal/features"
)

func TestCheckKubernetes(t *testing.T) {
	cases := map[string]struct {
		gate    bool
		version string // empty for a server that does not know
		wantErr string
	}{
		"nothing to check":   {version: "v1.20.0"},
		"new enough":         {gate: true, version: "v1.35.0"},
		"newer, by a vendor": {gate: true, version: "v1.36.2-gke.100+abc"},
		"too old":            {gate: true, version: "v1.34.9", wantErr: "needs Kubernetes 1.35.0, and this is 1.34.9"},
		"not known":          {gate: true, wantErr: "asking for the version of Kubernetes"},
		"not a version":      {gate: true, version: "master", wantErr: "asking for the version of Kubernetes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				if tc.version == "" {
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"gitVersion":%q}`, tc.version)
			}))
			defer server.Close()
			o := NewOptions()
			o.Config = &rest.Config{Host: server.URL}
			if err := features.Set(o.Gates, map[string]bool{string(features.SidecarSubmitterRestart): tc.gate}); err != nil {
				t.Fatal(err)
			}
			err := checkKubernetes(o)
			if (err != nil) != (tc.wantErr != "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
				t.Errorf("error %v, want %q", err, tc.wantErr)
			}
		})
	}
}
