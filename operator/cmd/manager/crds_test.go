package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/raygate/raygate/internal/testing/programs"
)

// apiServer serves the resources of ray.io/v1 that are applied; nil means that it does not know the group.
func apiServer(t *testing.T, applied *atomic.Pointer[[]string]) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		names := applied.Load()
		if r.URL.Path != "/apis/ray.io/v1" || names == nil {
			http.NotFound(w, r)
			return
		}
		list := metav1.APIResourceList{GroupVersion: "ray.io/v1"}
		for _, name := range *names {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// CRDs that are applied after the start of the operator, one after the other, do not end it. Its probes say that it is alive and not ready.
func TestCRDsThatComeLater(t *testing.T) {
	ports, err := programs.FreePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	health := fmt.Sprintf("127.0.0.1:%d", ports[0])
	o, err := parse(t, []string{"--feature-gates=RayCronJob=true", "--health-probe-bind-address=" + health}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var applied atomic.Pointer[[]string]
	o.Config = apiServer(t, &applied)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- waitForCRDs(ctx, o, 10*time.Millisecond) }()
	eventually(ctx, t, "an answer to the liveness probe", func() bool { return body(ctx, "http://"+health+"/healthz") == "ok" })
	if body(ctx, "http://"+health+"/readyz") != "" { // not 200
		t.Error("the operator is ready without its CRDs")
	}
	applied.Store(&[]string{"rayclusters", "rayclusters/status", "rayjobs", "rayservices"})
	select {
	case err := <-ended:
		t.Fatalf("the operator does not wait for raycronjobs: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	applied.Store(&[]string{"rayclusters", "rayjobs", "rayservices", "raycronjobs"})
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := waitForCRDs(ctx, o, time.Hour); err != nil { // all is there, and the port is free again
		t.Error(err)
	}
}

// An API server that cannot be asked is an error at once, and so is the end of the process.
func TestCRDsCannotBeAsked(t *testing.T) {
	o, err := parse(t, []string{"--health-probe-bind-address=0"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o.Config = &rest.Config{Host: "http://127.0.0.1:1"}
	if err := waitForCRDs(t.Context(), o, time.Millisecond); err == nil || !strings.Contains(err.Error(), "ray.io/v1") {
		t.Errorf("error %v, want one about ray.io/v1", err)
	}
	o.Config = apiServer(t, &atomic.Pointer[[]string]{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := waitForCRDs(ctx, o, time.Millisecond); err == nil {
		t.Error("the end of the process is no error")
	}
}
