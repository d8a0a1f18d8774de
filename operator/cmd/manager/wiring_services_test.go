package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/internal/testing/podaddress"
	"github.com/raygate/raygate/operator/internal/controller/rayservice"
	"github.com/raygate/raygate/operator/internal/dashboards"
)

// TestRayServiceSettings has every setting that the controller of RayServices depends on.
func TestRayServiceSettings(t *testing.T) {
	cases := map[string]struct {
		args []string
		env  map[string]string
		read func(rayservice.Config) bool
	}{
		"defaults":     {read: func(c rayservice.Config) bool { return c.Gates.IncrementalUpgrade && !c.Gates.NoZeroDowntime }},
		"gate":         {args: []string{"--feature-gates=RayServiceIncrementalUpgrade=false"}, read: func(c rayservice.Config) bool { return !c.Gates.IncrementalUpgrade }},
		"downtime":     {env: map[string]string{"ENABLE_ZERO_DOWNTIME": "false"}, read: func(c rayservice.Config) bool { return c.Gates.NoZeroDowntime && c.Validation.NoZeroDowntime }},
		"head Service": {env: map[string]string{"ENABLE_RAY_HEAD_CLUSTER_IP_SERVICE": "true"}, read: func(c rayservice.Config) bool { return c.Service.HeadClusterIP }},
		"domain":       {env: map[string]string{"CLUSTER_DOMAIN": "corp.example"}, read: func(c rayservice.Config) bool { return c.ClusterDomain == "corp.example" }},
		"version":      {read: func(c rayservice.Config) bool { return c.Version != "" }},
	}
	for name, tc := range cases {
		o, err := parse(t, tc.args, tc.env)
		if err != nil {
			t.Fatal(err)
		}
		if c := rayServiceSettings(o); !tc.read(c) {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// TestProbeThroughTheAPIServer asks proxies by the path of the Pod proxy.
func TestProbeThroughTheAPIServer(t *testing.T) {
	var path string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { path = r.URL.Path }))
	defer server.Close()
	ask, err := probe(&Options{UseKubernetesProxy: true, Config: &rest.Config{Host: server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	ok, err := ask(t.Context(), dashboards.Pod{Namespace: "ns", Name: "demo-head", IP: "192.0.2.1", Port: 8000})
	if want := "/api/v1/namespaces/ns/pods/demo-head:8000/proxy/-/healthz"; !ok || err != nil || path != want {
		t.Errorf("asked %s, want %s: %t, %v", path, want, ok, err)
	}
	_, address := podaddress.Serve(t, server.Config.Handler)
	if ask, err = probe(&Options{Config: &rest.Config{Host: server.URL}}); err != nil {
		t.Fatal(err)
	}
	if ok, err := ask(t.Context(), dashboards.Pod{IP: address.Addr().String(), Port: int32(address.Port())}); !ok || err != nil || path != "/-/healthz" {
		t.Errorf("asked %s directly: %t, %v", path, ok, err)
	}
}

func TestEndpointSlicesAreCachedInPart(t *testing.T) {
	for o, by := range cached(ShardOptions{}) {
		if _, ok := o.(*discoveryv1.EndpointSlice); ok && by.Label != nil {
			return
		}
	}
	t.Error("all EndpointSlices of the Kubernetes cluster are cached")
}
