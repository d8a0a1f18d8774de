// Package mtls lets cert-manager issue the certificates of RayClusters with mutual TLS, and keeps the IPs of their Pods in them.
// It is separate from package raycluster because it follows frequent changes of Pods, and writes only Issuers, Certificates and
// owner references of their Secrets.
//
// cert-manager may be installed after the operator: the operator checks for it whenever a cluster uses TLS.
package mtls

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/children"
	"github.com/raygate/raygate/operator/internal/optionalapi"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
)

// EventSource is the reportingController of the events. It is the same as KubeRay's.
const EventSource = "raycluster-mtls-controller"

// Config configures the reconciler. All fields except ClusterDomain are required.
type Config struct {
	Client        client.Client        // reads Pods and RayClusters from a cache, and writes
	Live          client.Reader        // reads from the API server
	APIs          *optionalapi.Kinds   // the kinds of cert-manager, if it is there
	Recorder      events.EventRecorder // sends events
	Clock         clock.PassiveClock
	ClusterDomain string // as in names.HeadHost
}

// Reconciler manages the certificates of RayClusters.
type Reconciler struct {
	config   Config
	optional *optionalapi.Watches
	children *children.Writer
	versions *reconcile.Versions
	said     report.Once
}

// New returns a reconciler. It does nothing until SetupWithManager or Reconcile is called.
func New(c Config) *Reconciler {
	optional := &optionalapi.Watches{Kinds: c.APIs}
	r := &Reconciler{
		config:   c,
		optional: optional,
		children: children.New(children.Config{Client: c.Client, Live: c.Live, Optional: optional, Clock: c.Clock}),
	}
	r.versions = reconcile.NewVersions(c.Clock, r.children.Forget, r.said.Forget)
	return r
}

// +kubebuilder:rbac:groups=cert-manager.io,resources=issuers;certificates,verbs=get;list;watch;create;patch;delete,roleName=raygate-operator-mtls
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;patch,roleName=raygate-operator-mtls

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	rc := &rayv1.RayCluster{}
	if _, err := r.versions.Read(ctx, r.config.Client, req.NamespacedName, rc); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if rc.DeletionTimestamp != nil || !rayv1.ManagedHere(rc.Spec.ManagedBy) {
		return ctrl.Result{}, nil
	}
	found, err := r.optional.Ready(cert.IssuerKind, cert.CertificateKind)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case !found && cert.Needed(rc):
		return ctrl.Result{RequeueAfter: optionalapi.AbsentFor}, nil // package raycluster rejects the spec and reports the reason
	case !found:
		return ctrl.Result{}, nil
	}
	pods, err := r.pods(ctx, rc)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !cert.Needed(rc) {
		return r.remove(ctx, rc, pods)
	}
	pki, unfinished := r.ensure(ctx, rc, pods)
	if !unfinished.Wanted() {
		return r.unfinished(rc, unfinished)
	}
	result := r.report(rc, pki, pods)
	result.RequeueAfter = reconcile.Sooner(result.RequeueAfter, unfinished.After)
	for _, kind := range []schema.GroupVersionKind{cert.IssuerKind, cert.CertificateKind} {
		// Reconcile again after the caches have synced.
		result.RequeueAfter = reconcile.Sooner(result.RequeueAfter, r.optional.Recheck(kind))
	}
	return result, nil
}

// unfinished reports what prevents the creation of the certificates.
func (r *Reconciler) unfinished(rc *rayv1.RayCluster, result children.Result) (ctrl.Result, error) {
	switch {
	case result.Err != nil:
		r.say(rc, subjectState, eventFailed(result.Err.Error()))
	case result.Failure != nil:
		r.say(rc, subjectState, eventFailed(result.Failure.Message))
	}
	return ctrl.Result{RequeueAfter: result.After}, result.Err
}

// pods returns the Pods that the cluster owns. A Pod that only has its labels must not add its IP to a certificate.
func (r *Reconciler) pods(ctx context.Context, rc *rayv1.RayCluster) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := r.config.Client.List(ctx, &list, client.InNamespace(rc.Namespace), client.MatchingLabels{rayv1.LabelCluster: rc.Name},
		client.UnsafeDisableDeepCopy) // the Pods are not modified
	if err != nil {
		return nil, fmt.Errorf("listing Pods: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return !rc.Owns(&p) }), nil
}

// runs reports whether the Pod needs a certificate now or later.
func runs(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

// addresses returns the IPs of the running Pods of one node type.
func addresses(pods []corev1.Pod, node rayv1.RayNodeType) []string {
	var ips []string
	for i := range pods {
		p := &pods[i]
		if p.Labels[rayv1.LabelNodeType] != string(node) || !runs(p) {
			continue
		}
		if p.Status.PodIP != "" {
			ips = append(ips, p.Status.PodIP)
		}
		for _, more := range p.Status.PodIPs {
			ips = append(ips, more.IP)
		}
	}
	return ips
}

// pki contains the certificates of one cluster, as stored on the server.
type pki struct{ authority, head, worker *unstructured.Unstructured }

// ensure creates missing parts and repairs others, in the order of their dependencies. It stops at the first part that is not as
// wanted and returns its result.
func (r *Reconciler) ensure(ctx context.Context, rc *rayv1.RayCluster, pods []corev1.Pod) (pki, children.Result) {
	p := pki{
		authority: cert.AuthorityCertificate(rc),
		head:      cert.Head(rc, r.config.ClusterDomain, addresses(pods, rayv1.HeadNode)),
		worker:    cert.Worker(rc, addresses(pods, rayv1.WorkerNode)),
	}
	var updated []string
	var after time.Duration
	for _, part := range []struct {
		desired *unstructured.Unstructured
		keep    func(desired, current *unstructured.Unstructured)
	}{
		{cert.SelfSignedIssuer(rc), keepSpec},
		{p.authority, keepSpec}, // never changed: running processes reject certificates of a new CA
		{cert.AuthorityIssuer(rc), keepSpec},
		{p.head, keepAddresses},
		{p.worker, keepAddresses},
	} {
		result := r.children.Ensure(ctx, rc, children.Child{Desired: part.desired, Keep: func(current client.Object) {
			part.keep(part.desired, current.(*unstructured.Unstructured))
		}})
		switch {
		case !result.Wanted():
			return p, result
		case result.Done == children.Update:
			updated = append(updated, result.Name)
		}
		after = reconcile.Sooner(after, result.After)
	}
	if len(updated) > 0 {
		report.Send(r.config.Recorder, rc, []report.Event{eventUpdated(updated)})
	}
	for _, c := range []*unstructured.Unstructured{p.authority, p.head, p.worker} {
		if result := r.adoptSecret(ctx, c); !result.Wanted() {
			return p, result
		}
	}
	return p, children.Result{After: after}
}

func keepSpec(desired, current *unstructured.Unstructured) {
	if spec, ok := current.Object["spec"]; ok {
		desired.Object["spec"] = spec
	}
}

// keepAddresses keeps IPs of deleted Pods in the certificate until a new IP is missing. Every change creates a new key pair, for
// which all new Pods have to wait. The next change removes the old IPs.
func keepAddresses(desired, current *unstructured.Unstructured) {
	have, _, _ := unstructured.NestedStringSlice(current.Object, "spec", "ipAddresses")
	want, _, _ := unstructured.NestedStringSlice(desired.Object, "spec", "ipAddresses")
	if !sets.New(have...).HasAll(want...) {
		return
	}
	if spec, ok := desired.Object["spec"].(map[string]any); ok {
		list, _, _ := unstructured.NestedSlice(current.Object, "spec", "ipAddresses")
		spec["ipAddresses"] = list
	}
}

// adoptSecret makes the Certificate an owner of the Secret that cert-manager filled, so that the garbage collector deletes both.
// It checks again after each new issue, because the Secret may have been recreated.
func (r *Reconciler) adoptSecret(ctx context.Context, c *unstructured.Unstructured) children.Result {
	const subject = "owner of the Secret"
	name, _, _ := unstructured.NestedString(c.Object, "spec", "secretName")
	if !issued(c) || r.said.Has(c.GetUID(), subject, revision(c)) {
		return children.Result{}
	}
	s := &metav1.PartialObjectMetadata{}
	s.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	switch err := r.config.Live.Get(ctx, client.ObjectKey{Namespace: c.GetNamespace(), Name: name}, s); {
	case apierrors.IsNotFound(err):
		return children.Result{}
	case err != nil:
		return children.Result{Err: fmt.Errorf("reading Secret %s: %w", name, err)}
	}
	if !slices.ContainsFunc(s.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == c.GetUID() }) {
		before := s.DeepCopy()
		s.OwnerReferences = append(s.OwnerReferences, metav1.OwnerReference{
			APIVersion: c.GetAPIVersion(), Kind: c.GetKind(), Name: c.GetName(), UID: c.GetUID(),
		})
		err := r.config.Client.Patch(ctx, s, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		switch {
		case apierrors.IsConflict(err):
			return children.Result{Stale: true, After: children.RetryAfter} // the next reconcile reads it again
		case err != nil:
			return children.Result{Err: fmt.Errorf("patching the owner of Secret %s: %w", name, err)}
		}
	}
	r.said.Say(c.GetUID(), subject, revision(c))
	return children.Result{}
}

// remove deletes the TLS objects after all Pods that could have mounted the Secrets are gone.
func (r *Reconciler) remove(ctx context.Context, rc *rayv1.RayCluster, pods []corev1.Pod) (ctrl.Result, error) {
	if len(pods) > 0 {
		return ctrl.Result{}, nil
	}
	for _, o := range []*unstructured.Unstructured{
		cert.Worker(rc, nil), cert.Head(rc, r.config.ClusterDomain, nil), cert.AuthorityIssuer(rc), cert.AuthorityCertificate(rc), cert.SelfSignedIssuer(rc),
	} {
		result := r.children.Remove(ctx, rc, o)
		if !result.Wanted() {
			return ctrl.Result{RequeueAfter: result.After}, result.Err
		}
	}
	return ctrl.Result{}, nil
}
