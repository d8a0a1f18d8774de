package mtls

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/apply"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/served"
)

const (
	// EventSource is the reportingController of the events; KubeRay's.
	EventSource = "raycluster-mtls-controller"

	// retry is how often to look again at what nothing tells of.
	retry = 30 * time.Second
)

// Config is what the reconciler needs. All but ClusterDomain is required.
type Config struct {
	// Client reads Pods and RayClusters from a cache, and writes.
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
	// APIs are the kinds of cert-manager, if it is there.
	APIs *served.Kinds
	// Recorder sends events.
	Recorder events.EventRecorder
	// Clock tells the time.
	Clock clock.PassiveClock
	// ClusterDomain is as in names.HeadHost.
	ClusterDomain string
}

// Reconciler keeps the certificates of RayClusters.
type Reconciler struct {
	client client.Client
	live   client.Reader
	writer apply.Writer
	served *served.Watches
	clock  clock.PassiveClock
	domain string
	memory *memory
	teller teller
}

// New returns a reconciler. It does nothing until SetupWithManager or Reconcile is called.
func New(c Config) *Reconciler {
	m := newMemory()
	return &Reconciler{
		client: c.Client,
		live:   c.Live,
		writer: apply.Writer{Client: c.Client, Live: c.Live},
		served: &served.Watches{Kinds: c.APIs},
		clock:  c.Clock,
		domain: c.ClusterDomain,
		memory: m,
		teller: teller{recorder: c.Recorder, memory: m},
	}
}

// +kubebuilder:rbac:groups=cert-manager.io,resources=issuers;certificates,verbs=get;list;watch;create;patch;delete,roleName=raygate-operator-mtls
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;patch,roleName=raygate-operator-mtls

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	rc := &rayv1.RayCluster{}
	if err := r.client.Get(ctx, req.NamespacedName, rc); err != nil {
		if apierrors.IsNotFound(err) {
			r.memory.forget(req.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if rc.DeletionTimestamp != nil || rc.Spec.ManagedBy != nil && *rc.Spec.ManagedBy != rayv1.ManagedByKubeRayOperator {
		return ctrl.Result{}, nil
	}
	found, err := r.certManager()
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case !found && cert.Needed(rc):
		return ctrl.Result{RequeueAfter: served.AbsentFor}, nil // package raycluster refuses the spec for it, and says so
	case !found:
		return ctrl.Result{}, nil
	}
	pods, err := r.pods(ctx, rc)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !cert.Needed(rc) {
		return ctrl.Result{}, r.remove(ctx, rc, pods)
	}
	pki, err := r.ensure(ctx, rc, pods)
	if err != nil {
		return r.refused(rc, err)
	}
	return r.recheck(r.report(rc, pki, pods)), nil
}

// recheck comes back to what was read before the watches were filled.
func (r *Reconciler) recheck(result ctrl.Result) ctrl.Result {
	for _, kind := range []schema.GroupVersionKind{cert.IssuerKind, cert.CertificateKind} {
		if again := r.served.Recheck(kind); again > 0 && (result.RequeueAfter == 0 || again < result.RequeueAfter) {
			result.RequeueAfter = again
		}
	}
	return result
}

// refused tells of what keeps the certificates from being made.
func (r *Reconciler) refused(rc *rayv1.RayCluster, err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: time.Second}, nil
	}
	r.teller.failed(rc, err)
	if errors.Is(err, apply.ErrNotOwned) || errors.Is(err, apply.ErrBeingDeleted) || apierrors.IsForbidden(err) {
		return ctrl.Result{RequeueAfter: retry}, nil
	}
	return ctrl.Result{}, err
}

func (r *Reconciler) certManager() (bool, error) {
	issuers, err := r.served.Ready(cert.IssuerKind)
	if err != nil || !issuers {
		return false, err
	}
	return r.served.Ready(cert.CertificateKind)
}

// pods are the Pods of the cluster. A Pod that merely carries its labels must not get its address into a certificate.
func (r *Reconciler) pods(ctx context.Context, rc *rayv1.RayCluster) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := r.client.List(ctx, &list, client.InNamespace(rc.Namespace), client.MatchingLabels{rayv1.LabelCluster: rc.Name},
		client.UnsafeDisableDeepCopy) // they are only looked at
	if err != nil {
		return nil, fmt.Errorf("listing Pods: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return !metav1.IsControlledBy(&p, rc) }), nil
}

// runs reports whether the Pod needs a certificate, or will.
func runs(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

// addresses are those of the Pods of one type that still run.
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

// pki are the certificates of one cluster as the server has them.
type pki struct{ authority, head, worker *unstructured.Unstructured }

// ensure makes what is missing and puts right what differs, in the order in which the parts need each other.
func (r *Reconciler) ensure(ctx context.Context, rc *rayv1.RayCluster, pods []corev1.Pod) (pki, error) {
	p := pki{
		authority: cert.AuthorityCertificate(rc),
		head:      cert.Head(rc, r.domain, addresses(pods, rayv1.HeadNode)),
		worker:    cert.Worker(rc, addresses(pods, rayv1.WorkerNode)),
	}
	for _, o := range []*unstructured.Unstructured{cert.SelfSignedIssuer(rc), p.authority, cert.AuthorityIssuer(rc)} {
		// The authority is left as it was made: what a new one signs is refused by processes that started with the old one.
		if _, err := r.apply(ctx, rc, o, keepSpec); err != nil {
			return p, err
		}
	}
	var updated []string
	for _, leaf := range []*unstructured.Unstructured{p.head, p.worker} {
		result, err := r.apply(ctx, rc, leaf, keepAddresses)
		if err != nil {
			return p, err
		}
		if result == apply.Patched {
			updated = append(updated, leaf.GetName())
		}
	}
	if len(updated) > 0 {
		r.teller.updated(rc, updated)
	}
	for _, c := range []*unstructured.Unstructured{p.authority, p.head, p.worker} {
		if err := r.adoptSecret(ctx, c); err != nil {
			return p, err
		}
	}
	return p, nil
}

// apply writes one object. keep can take over into what is wanted parts of what is there.
func (r *Reconciler) apply(ctx context.Context, rc *rayv1.RayCluster, desired *unstructured.Unstructured, keep func(desired, current *unstructured.Unstructured)) (apply.Result, error) {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(desired.GroupVersionKind())
	var current client.Object // an interface, so that nothing found is nil
	switch err := r.served.Get(ctx, client.ObjectKeyFromObject(desired), found); {
	case err == nil:
		current = found
	case !apierrors.IsNotFound(err):
		return apply.Unchanged, fmt.Errorf("reading %s %s: %w", desired.GetKind(), desired.GetName(), err)
	}
	w := r.writer
	w.Keep = func(current client.Object) { keep(desired, current.(*unstructured.Unstructured)) }
	return w.Object(ctx, rc, desired, current)
}

func keepSpec(desired, current *unstructured.Unstructured) {
	if spec, ok := current.Object["spec"]; ok {
		desired.Object["spec"] = spec
	}
}

// keepAddresses leaves addresses of Pods that are gone in the certificate while no other is missing: every change is a new key
// pair, which all new Pods have to wait for. They go with the next change.
func keepAddresses(desired, current *unstructured.Unstructured) {
	have, _, _ := unstructured.NestedStringSlice(current.Object, "spec", "ipAddresses")
	want, _, _ := unstructured.NestedStringSlice(desired.Object, "spec", "ipAddresses")
	for _, ip := range want {
		if !slices.Contains(have, ip) {
			return
		}
	}
	if spec, ok := desired.Object["spec"].(map[string]any); ok {
		list, _, _ := unstructured.NestedSlice(current.Object, "spec", "ipAddresses")
		spec["ipAddresses"] = list
	}
}

// adoptSecret makes the Certificate an owner of the Secret that cert-manager filled for it, so that the two go together.
func (r *Reconciler) adoptSecret(ctx context.Context, c *unstructured.Unstructured) error {
	name, _, _ := unstructured.NestedString(c.Object, "spec", "secretName")
	if !issued(c) || r.memory.adopted(c.GetUID(), revision(c)) {
		return nil
	}
	s := &metav1.PartialObjectMetadata{}
	s.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	switch err := r.live.Get(ctx, client.ObjectKey{Namespace: c.GetNamespace(), Name: name}, s); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading Secret %s: %w", name, err)
	}
	if !slices.ContainsFunc(s.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == c.GetUID() }) {
		before := s.DeepCopy()
		s.OwnerReferences = append(s.OwnerReferences, metav1.OwnerReference{
			APIVersion: c.GetAPIVersion(), Kind: c.GetKind(), Name: c.GetName(), UID: c.GetUID(),
		})
		if err := r.client.Patch(ctx, s, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("patching the owner of Secret %s: %w", name, err)
		}
	}
	r.memory.adopt(c.GetUID(), revision(c))
	return nil
}

// remove takes away what TLS needed, once no Pod is left that could have mounted it.
func (r *Reconciler) remove(ctx context.Context, rc *rayv1.RayCluster, pods []corev1.Pod) error {
	if len(pods) > 0 {
		return nil
	}
	for _, o := range []*unstructured.Unstructured{
		cert.Worker(rc, nil), cert.Head(rc, r.domain, nil), cert.AuthorityIssuer(rc), cert.AuthorityCertificate(rc), cert.SelfSignedIssuer(rc),
	} {
		found := &unstructured.Unstructured{}
		found.SetGroupVersionKind(o.GroupVersionKind())
		if err := r.served.Get(ctx, client.ObjectKeyFromObject(o), found); err != nil {
			if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) { // what must not be read was not made
				continue
			}
			return fmt.Errorf("reading %s %s: %w", o.GetKind(), o.GetName(), err)
		}
		if _, err := r.writer.Remove(ctx, rc, found); err != nil {
			return err
		}
	}
	return nil
}
