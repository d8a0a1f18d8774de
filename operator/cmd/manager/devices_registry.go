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
	// reasonRegistryInvalid is the reason of the event about an invalid registry; the previous one stays in use.
	reasonRegistryInvalid = "DeviceRegistryInvalid"
	// registryEventSource is the reportingController of that event.
	registryEventSource = "raygate-device-registry"
	// findSelf limits how long the operator searches for its own Pod.
	findSelf = 10 * time.Second
)

// registryReports reports the result of each change of the registry file. Every replica reads the file and reports for itself.
type registryReports struct {
	live     *deviceload.Live
	metrics  *deviceadmission.Metrics
	recorder events.EventRecorder
	reader   client.Reader
	// pod is the operator's own Pod, the object of the events. Without a name there are no events.
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

// self reads the operator's own Pod for its UID, by which kubectl describe finds events.
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
