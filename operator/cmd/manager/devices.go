package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/devicequota"
	"github.com/raygate/raygate/operator/internal/webhook/deviceadmission"
	"github.com/raygate/raygate/operator/internal/webhook/registration"
	"github.com/raygate/raygate/pkg/devices/claims"
	deviceload "github.com/raygate/raygate/pkg/devices/load"
	"github.com/raygate/raygate/pkg/devices/shipped"
)

// shippedRegistry is the value of --device-registry that selects the registry built into the operator.
const shippedRegistry = "shipped"

// registryPeriod is the interval at which the file is read. It adds little to the one or two minutes that a kubelet takes to update a
// ConfigMap.
const registryPeriod = 10 * time.Second

// auditPeriod is the interval between two searches for exceeded quotas. It is long because admission should prevent them.
const auditPeriod = 30 * time.Second

// registrationPeriod is the interval at which the two registration objects are read.
const registrationPeriod = 10 * time.Second

// DeviceOptions configure the support for shared accelerators.
type DeviceOptions struct {
	// Registry is a file with device families, or "shipped"; empty turns device admission off.
	Registry string
	// Quota enforces limits.<resource> of ResourceQuotas for Pods.
	Quota bool
	// QuotaConsistency is Relaxed or Strict. With Strict, replicas share what they have admitted.
	QuotaConsistency string
	// ExplicitZeroGPU starts Ray with --num-gpus=0 in Pods that request no device.
	ExplicitZeroGPU bool
	// Labels starts Ray with node labels for the size of its devices.
	Labels bool
	// AutoscalerFacts stores in RayClusters the device facts that their autoscaler cannot read elsewhere.
	AutoscalerFacts bool
	// TPUEnvironment gives workers with TPUs the variables of their place in a slice.
	TPUEnvironment bool
	// ClassResources are the Ray resources of DeviceClasses by name.
	ClassResources map[string]string

	live *deviceload.Live // nil if device admission is off
	file *deviceload.File // nil for the shipped registry
	// metrics is set by addDeviceRegistry.
	metrics *deviceadmission.Metrics
}

func (d *DeviceOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&d.Registry, "device-registry", d.Registry, "File with families of shared accelerators, or \"shipped\" for the built-in registry. With webhooks, the operator completes Pods that request such devices and enforces quotas. It reloads a changed file. Unset: off.")
	fs.BoolVar(&d.Quota, "device-quota", d.Quota, "Enforce limits.<resource> of ResourceQuotas for the resources of --device-registry.")
	fs.StringVar(&d.QuotaConsistency, "device-quota-consistency", d.QuotaConsistency, "Relaxed: each replica counts its own admissions, so replicas can admit too much at the same moment; device_quota_exceeded reports it. Strict: replicas share the counts in ConfigMaps in the namespace of the operator, with one write for each Pod with devices.")
	fs.BoolVar(&d.ExplicitZeroGPU, "device-explicit-zero-gpu", d.ExplicitZeroGPU, "With --device-registry, start Ray with --num-gpus=0 in Pods that request no device. Otherwise an image that sees all cards of its node counts them.")
	fs.BoolVar(&d.Labels, "device-ray-labels", d.Labels, "Start Ray with labels for the family and the size of the devices of --device-registry. Needs rayVersion 2.49 or later.")
	fs.BoolVar(&d.AutoscalerFacts, "device-autoscaler-facts", d.AutoscalerFacts, "Store the devices of worker groups in rayStartParams or resources of RayClusters with autoscaling, because the autoscaler cannot read --device-registry or ResourceClaims. The field manager is raygate-devices. false removes the stored values.")
	fs.BoolVar(&d.TPUEnvironment, "tpu-environment", d.TPUEnvironment, "Give workers with TPUs the variables TPU_WORKER_ID, TPU_WORKER_HOSTNAMES and TPU_NAME, as the webhook of GKE does. Needs the feature gate RayMultiHostIndexing. The annotation "+rayv1.AnnotationTPUEnvironment+" of a RayCluster wins.")
	fs.StringToStringVar(&d.ClassResources, "device-class-resources", d.ClassResources, "Ray resources of the DeviceClasses of ResourceClaims, as a comma-separated list of class=resource: GPU, TPU, the name of a custom resource, or None. The classes of known drivers need no entry. The annotation "+claims.AnnotationRayResource+" of a class wins.")
}

// fill sets the options of the Pod builders.
func (d *DeviceOptions) fill(o *pod.Options) {
	o.TPUEnvironment = d.TPUEnvironment
	if d.live != nil {
		o.Devices, o.NoExplicitZeroGPU, o.DeviceLabels = d.live, !d.ExplicitZeroGPU, d.Labels
	}
}

// Values of QuotaConsistency.
const (
	relaxed = "Relaxed"
	strict  = "Strict"
)

// complete validates the options and loads the registry.
func (d *DeviceOptions) complete() error {
	for class, resource := range d.ClassResources {
		if class == "" || resource == "" {
			return fmt.Errorf("--device-class-resources has %q=%q, but needs a class and a resource", class, resource)
		}
	}
	if d.QuotaConsistency != relaxed && d.QuotaConsistency != strict {
		return fmt.Errorf("--device-quota-consistency is %q, but must be %s or %s", d.QuotaConsistency, relaxed, strict)
	}
	switch d.Registry {
	case "":
		return nil
	case shippedRegistry:
		p, err := deviceload.Registry(shipped.HAMi)
		if err != nil {
			return fmt.Errorf("the shipped registry of device families: %w", err)
		}
		d.live = deviceload.NewLive(p)
		return nil
	default:
		d.file = &deviceload.File{Path: d.Registry, Every: registryPeriod, Clock: clock.RealClock{}}
		if err := d.file.Open(); err != nil {
			return fmt.Errorf("--device-registry: %w", err)
		}
		d.live = d.file.Live
		return nil
	}
}

// addDeviceRegistry reloads the registry when its file changes. It does not depend on webhooks, because the Pod builders use the
// registry too.
func addDeviceRegistry(ctx context.Context, mgr ctrl.Manager, o *Options) error {
	d := &o.Devices
	if d.live == nil {
		return nil
	}
	d.metrics = deviceadmission.NewMetrics()
	d.metrics.InUse(d.live.Program().Hash)
	for _, c := range d.metrics.Collectors() {
		if err := ctrlmetrics.Registry.Register(c); err != nil {
			return fmt.Errorf("registering metrics: %w", err)
		}
	}
	if d.file == nil {
		return nil
	}
	reports := newRegistryReports(mgr, o, d.metrics)
	d.file.Reloaded = func(err error) { reports.reloaded(ctx, err) }
	return mgr.Add(d.file)
}

// addDeviceAdmission serves the webhooks for Pods with devices on every replica. The returned engine is nil if quotas are off.
func addDeviceAdmission(ctx context.Context, mgr ctrl.Manager, o *Options, register func(string, http.Handler)) (engine *devicequota.Engine, err error) {
	d := &o.Devices
	if d.live == nil {
		return nil, nil
	}
	var quota deviceadmission.Quota
	if d.Quota {
		if engine, err = addDeviceQuota(ctx, mgr, o); err != nil {
			return nil, fmt.Errorf("adding the quota: %w", err)
		}
		quota = engine
		if err := ctrlmetrics.Registry.Register(engine); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
		// The Service must not route to a replica that does not know the current usage yet.
		if err := mgr.AddReadyzCheck("device-quota", func(*http.Request) error { return notReady(engine) }); err != nil {
			return nil, fmt.Errorf("adding the health check: %w", err)
		}
	}
	deviceadmission.Register(register, d.live, quota, d.metrics)
	return engine, keepRegistrations(mgr, o)
}

// keepRegistrations restores the webhook registrations of the operator. It does nothing outside of a Kubernetes cluster.
func keepRegistrations(mgr ctrl.Manager, o *Options) error {
	ns := o.ownNamespace()
	if ns == "" {
		return nil
	}
	return mgr.Add(&registration.Keeper{
		Reader: mgr.GetAPIReader(), Writer: mgr.GetClient(), Registry: o.Devices.live, Namespace: ns,
		Mutating: o.Webhook.MutatingConfiguration, Validating: o.Webhook.ValidatingConfiguration,
		Every: registrationPeriod, Clock: clock.RealClock{},
	})
}

// ownNamespace returns the namespace of the operator, or "" if it is unknown.
func (o *Options) ownNamespace() string {
	if o.Webhook.Namespace != "" {
		return o.Webhook.Namespace
	}
	data, err := os.ReadFile(namespaceFile)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

func notReady(engine *devicequota.Engine) error {
	if engine.Ready() {
		return nil
	}
	return errors.New("the Pods and quotas of the cluster are not known yet")
}

// addDeviceQuota watches all Pods, not only those of Ray, in a separate cache that keeps few fields.
func addDeviceQuota(ctx context.Context, mgr ctrl.Manager, o *Options) (*devicequota.Engine, error) {
	options := devicequota.Options{Registry: o.Devices.live, Clock: clock.RealClock{}}
	if o.Devices.QuotaConsistency == strict {
		ns := o.ownNamespace()
		if ns == "" {
			return nil, errors.New("--webhook-namespace is not set, and there is no Pod to take it from; --device-quota-consistency=Strict needs it")
		}
		// Reads bypass the client of the manager: it would cache all ConfigMaps of the Kubernetes cluster.
		options.Ledger = &devicequota.Ledger{Reader: mgr.GetAPIReader(), Writer: mgr.GetClient(), Namespace: ns}
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c, err := cache.New(o.Config, cache.Options{
		Scheme:            scheme,
		Mapper:            mgr.GetRESTMapper(),
		HTTPClient:        mgr.GetHTTPClient(),
		DefaultNamespaces: namespaces(o),
		DefaultTransform:  cache.TransformStripManagedFields(),
		ByObject:          map[client.Object]cache.ByObject{&corev1.Pod{}: {Transform: devicequota.Slim}},
	})
	if err != nil {
		return nil, err
	}
	engine := devicequota.New(options)
	if err := engine.Watch(ctx, c); err != nil {
		return nil, err
	}
	auditor := &devicequota.Auditor{Engine: engine, Recorder: mgr.GetEventRecorder(devicequota.EventSource), Every: auditPeriod, Clock: clock.RealClock{}}
	return engine, errors.Join(mgr.Add(everywhere{c}), mgr.Add(auditor))
}

// everywhere is a cache that every replica fills, not only the leader.
type everywhere struct{ cache.Cache }

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (everywhere) NeedLeaderElection() bool { return false }
