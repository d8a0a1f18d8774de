package main

import (
	"context"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/raygate/raygate/operator/internal/report"
	"github.com/raygate/raygate/operator/internal/webhook/deviceadmission"
	deviceload "github.com/raygate/raygate/pkg/devices/load"
)

const (
	// reasonRegistryInvalid is that of the event about a registry that cannot be used, so that the one before it stays in use.
	reasonRegistryInvalid = "DeviceRegistryInvalid"
	// registryEventSource is the name of the operator in that event.
	registryEventSource = "raygate-device-registry"
	// findSelf bounds how long the operator looks for its own Pod.
	findSelf = 10 * time.Second
)

// registryReports says what became of each change of the file of the registry. Every replica reads the file for itself, and says it of itself.
type registryReports struct {
	live     *deviceload.Live
	metrics  *deviceadmission.Metrics
	recorder events.EventRecorder
	reader   client.Reader
	// pod is the operator's own, which events are about. Without a name there is none.
	pod client.ObjectKey
}

func newRegistryReports(mgr ctrl.Manager, o *Options, m *deviceadmission.Metrics) *registryReports {
	r := &registryReports{live: o.Devices.live, metrics: m, recorder: mgr.GetEventRecorder(registryEventSource), reader: mgr.GetAPIReader()}
	ns := o.ownNamespace()
	if ns == "" {
		return r // not in a cluster
	}
	if name, err := os.Hostname(); err == nil {
		r.pod = client.ObjectKey{Namespace: ns, Name: name}
	}
	return r
}

// reloaded is called once for each change of the file.
func (r *registryReports) reloaded(ctx context.Context, err error) {
	hash := r.live.Program().Hash
	r.metrics.Reloaded(hash, err)
	if err == nil {
		klog.FromContext(ctx).Info("Read the registry of device families again", "registry", hash)
		return
	}
	klog.FromContext(ctx).Error(err, "The registry of device families is at fault, the last good one stays in use", "registry", hash)
	if self := r.self(ctx); self != nil {
		report.Send(r.recorder, self, []report.Event{report.Warning(reasonRegistryInvalid, "Reload", "The last good registry of device families stays in use: "+err.Error())})
	}
}

// self is the operator's own Pod. It is read for its UID, by which kubectl describe finds events.
func (r *registryReports) self(ctx context.Context) *corev1.Pod {
	if r.pod.Name == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, findSelf)
	defer cancel()
	var pod corev1.Pod
	if err := r.reader.Get(ctx, r.pod, &pod); err != nil {
		klog.FromContext(ctx).Error(err, "There is no event about the registry, because the operator does not find its own Pod", "Pod", klog.KRef(r.pod.Namespace, r.pod.Name))
		return nil
	}
	return &pod
}
