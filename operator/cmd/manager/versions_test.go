package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// TestUnknownVersions: a version or kind from a later release is found before a request for it fails.
func TestUnknownVersions(t *testing.T) {
	known := []string{"RayCluster", "RayJob", "RayService"}
	cases := map[string]struct {
		versions map[string][]string
		want     []schema.GroupVersionKind
	}{
		"what this release installs": {versions: map[string][]string{"v1": append(known, "RayCronJob"), "v1alpha1": known}},
		"a new version":              {versions: map[string][]string{"v1": known, "v2": {"RayJob"}}, want: []schema.GroupVersionKind{{Group: "ray.io", Version: "v2", Kind: "RayJob"}}},
		"an old version of a kind":   {versions: map[string][]string{"v1alpha1": {"RayCronJob"}}, want: []schema.GroupVersionKind{{Group: "ray.io", Version: "v1alpha1", Kind: "RayCronJob"}}},
		"a new kind":                 {versions: map[string][]string{"v1": {"RayCluster", "RayPizza"}}, want: []schema.GroupVersionKind{{Group: "ray.io", Version: "v1", Kind: "RayPizza"}}},
		"no CRDs":                    {},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			group := metav1.APIGroup{Name: "ray.io"}
			mux := http.NewServeMux()
			answer := func(path string, what any) {
				mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "application/json")
					_ = json.NewEncoder(w).Encode(what)
				})
			}
			for version, kinds := range tc.versions {
				group.Versions = append(group.Versions, metav1.GroupVersionForDiscovery{GroupVersion: "ray.io/" + version, Version: version})
				list := metav1.APIResourceList{GroupVersion: "ray.io/" + version}
				for _, kind := range kinds {
					list.APIResources = append(list.APIResources, metav1.APIResource{Name: kind + "s", Kind: kind}, metav1.APIResource{Name: kind + "s/status", Kind: kind})
				}
				answer("/apis/ray.io/"+version, list)
			}
			answer("/api", metav1.APIVersions{})
			answer("/apis", metav1.APIGroupList{Groups: []metav1.APIGroup{group, {Name: "apps", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "apps/v7", Version: "v7"}}}}})
			server := httptest.NewServer(mux)
			defer server.Close()
			got, err := unknownVersions(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("unknown (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := unknownVersions(&rest.Config{Host: "http://127.0.0.1:1"}); err == nil {
		t.Error("no error without an API server")
	}
}
