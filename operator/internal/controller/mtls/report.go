package mtls

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/cert"
	"github.com/raygate/raygate/operator/internal/reconcile"
	"github.com/raygate/raygate/operator/internal/report"
)

// expiresSoon is how long before the expiry of a certificate a warning is sent. cert-manager renews 15 days before, so by then the
// renewal has failed for two weeks.
const expiresSoon = 24 * time.Hour

// maxAge is how long a Pod can use the certificate that it started with, because Ray never reloads it. The certificate contains
// the Pod's IP, so it was issued about when the Pod was created. KubeRay sends no warning, and the Pod loses its connections.
const maxAge = cert.LeafDuration - cert.LeafRenewBefore

// report sends events about the state of the certificates. It returns when to check again, because watches do not cover the
// passing of time.
func (r *Reconciler) report(rc *rayv1.RayCluster, p pki, pods []corev1.Pod) ctrl.Result {
	var waiting []string
	for _, c := range []*unstructured.Unstructured{p.head, p.worker} {
		if !ready(c) {
			waiting = append(waiting, c.GetName())
		}
	}
	if len(waiting) > 0 {
		r.say(rc, subjectState, eventNotReady(waiting))
		return ctrl.Result{}
	}
	r.say(rc, subjectState, eventReady())
	return ctrl.Result{RequeueAfter: reconcile.Sooner(r.reportEnds(rc, p), r.reportAge(rc, pods))}
}

// reportEnds warns of certificates that were not renewed. It returns the time until the next one may need a warning, or 0.
func (r *Reconciler) reportEnds(rc *rayv1.RayCluster, p pki) (again time.Duration) {
	var ending []string
	for _, c := range []*unstructured.Unstructured{p.authority, p.head, p.worker} {
		end, ok := notAfter(c)
		if !ok {
			continue
		}
		if left := end.Sub(r.config.Clock.Now()) - expiresSoon; left > 0 {
			again = reconcile.Sooner(again, left)
		} else {
			ending = append(ending, c.GetName()+" at "+end.UTC().Format(time.RFC3339))
		}
	}
	if len(ending) > 0 {
		r.say(rc, subjectExpiry, eventExpire(ending))
	}
	return again
}

// reportAge warns of Pods that are older than maxAge. It returns the time until the oldest one is, or 0.
func (r *Reconciler) reportAge(rc *rayv1.RayCluster, pods []corev1.Pod) (again time.Duration) {
	var oldest *corev1.Pod
	for i := range pods {
		p := &pods[i]
		if runs(p) && (oldest == nil || p.CreationTimestamp.Before(&oldest.CreationTimestamp)) {
			oldest = p
		}
	}
	if oldest == nil {
		return 0
	}
	left := maxAge - r.config.Clock.Since(oldest.CreationTimestamp.Time)
	if left > 0 {
		return left
	}
	r.say(rc, subjectAge, eventAged(oldest.Name, oldest.CreationTimestamp.Add(cert.LeafDuration)))
	return 0
}

// ready reports whether the Certificate is Ready for its current generation.
func ready(c *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(c.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(item any) bool {
		condition, _ := item.(map[string]any)
		return condition["type"] == "Ready" && condition["status"] == "True" && condition["observedGeneration"] == c.GetGeneration()
	})
}

// issued reports whether a key pair exists, of any age.
func issued(c *unstructured.Unstructured) bool {
	_, ok := notAfter(c)
	return ok || ready(c)
}

// revision returns the number of times the certificate was issued.
func revision(c *unstructured.Unstructured) string {
	n, _, _ := unstructured.NestedInt64(c.Object, "status", "revision")
	return strconv.FormatInt(n, 10)
}

// notAfter returns the expiry of the latest certificate.
func notAfter(c *unstructured.Unstructured) (time.Time, bool) {
	text, _, _ := unstructured.NestedString(c.Object, "status", "notAfter")
	t, err := time.Parse(time.RFC3339, text)
	return t, err == nil
}

// Subjects of events. An event that equals the last one on its subject is not sent again. Reasons are those of KubeRay, which
// sends the event with every reconcile.
const (
	subjectState  = "state"
	subjectExpiry = "expiry"
	subjectAge    = "age"
)

const actionReconcile = "Reconcile"

func eventFailed(message string) report.Event {
	return report.Warning("MTLSFailedToReconcile", actionReconcile, "Making the certificates: "+message)
}

func eventNotReady(waiting []string) report.Event {
	return report.Normal("MTLSCertsNotReady", actionReconcile, "Waiting for cert-manager to issue %s", strings.Join(waiting, " and "))
}

func eventReady() report.Event {
	return report.Normal("MTLSPKIReady", actionReconcile, "All certificates are issued")
}

func eventUpdated(names []string) report.Event {
	return report.Normal("MTLSCertificatesUpdated", "Update",
		"Asked cert-manager for new certificates with the addresses of all Pods: %s", strings.Join(names, ", "))
}

// eventExpire covers all certificates at once: the API server aggregates events with the same reason and object.
func eventExpire(ending []string) report.Event {
	return report.Warning("MTLSCertificateExpiringSoon", actionReconcile, fmt.Sprintf(
		"Certificates end and cert-manager has not renewed them; see their conditions: %s. Ray reads certificates only at its start, "+
			"so Pods older than the renewal have to be restarted", strings.Join(ending, ", ")))
}

// eventAged names the oldest Pod as an example.
func eventAged(pod string, end time.Time) report.Event {
	return report.Warning("MTLSPodsNeedRestart", actionReconcile, fmt.Sprintf(
		"Pod %s, and perhaps others, started with a certificate that ends about %s. Ray reads certificates only at its start, so restart "+
			"the Pods before that, for example by suspending and resuming the cluster", pod, end.UTC().Format(time.DateOnly)))
}

// say sends an event unless it equals the last one on the subject.
func (r *Reconciler) say(rc *rayv1.RayCluster, subject string, e report.Event) {
	if r.said.News(rc.UID, subject, e.Note) {
		report.Send(r.config.Recorder, rc, []report.Event{e})
	}
}
