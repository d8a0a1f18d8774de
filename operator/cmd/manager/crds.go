package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/klog/v2"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/features"
)

// crdInterval is the time between two looks for CRDs that are missing.
const crdInterval = 2 * time.Second

// waitForCRDs returns when the API server serves the kinds that the operator watches. Tools that apply CRDs and operator together may apply the CRDs
// a moment later; a controller without its CRD would end the process. Meanwhile it logs what is missing, serves /healthz, so that the Pod is not
// restarted, and fails /readyz. It returns an error if the API server cannot be asked, or when the context ends.
func waitForCRDs(ctx context.Context, o *Options, interval time.Duration) error {
	finder, err := discovery.NewDiscoveryClientForConfig(o.Config)
	if err != nil {
		return fmt.Errorf("making the client for discovery: %w", err)
	}
	missing, err := missingCRDs(finder, o)
	if err != nil || missing == "" {
		return err
	}
	stop, err := serveWaiting(ctx, o.HealthProbeBindAddress)
	if err != nil {
		return err
	}
	defer stop()
	said := ""
	return wait.PollUntilContextCancel(ctx, interval, true, func(context.Context) (bool, error) {
		if missing != said && missing != "" {
			klog.Background().Info("Waiting for CRDs; apply those of operator/config/crd or of the Helm chart", "missing", missing)
			said = missing
		}
		missing, err = missingCRDs(finder, o)
		return missing == "", err
	})
}

// missingCRDs returns the resources that the API server does not serve yet, by comma; empty if it serves all.
func missingCRDs(finder discovery.ServerResourcesInterface, o *Options) (string, error) {
	wanted := []string{"rayclusters", "rayjobs", "rayservices"}
	if o.Gates.Enabled(features.RayCronJob) {
		wanted = append(wanted, "raycronjobs")
	}
	list, err := finder.ServerResourcesForGroupVersion(rayv1.GroupVersion.String())
	switch {
	case apierrors.IsNotFound(err):
		return strings.Join(wanted, ","), nil
	case err != nil:
		return "", fmt.Errorf("asking for the kinds of %s: %w", rayv1.GroupVersion, err)
	}
	for _, r := range list.APIResources {
		wanted = slices.DeleteFunc(wanted, func(name string) bool { return name == r.Name })
	}
	return strings.Join(wanted, ","), nil
}

// serveWaiting answers probes until stop is called: the process is alive, and not ready. An address of "0" or "" means no probes.
func serveWaiting(ctx context.Context, address string) (stop func(), err error) {
	if address == "0" || address == "" {
		return func() {}, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening for probes: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok")) })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "waiting for CRDs", http.StatusServiceUnavailable)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			klog.Background().Error(err, "Serving probes")
		}
	}()
	return func() { _ = server.Close() }, nil
}
