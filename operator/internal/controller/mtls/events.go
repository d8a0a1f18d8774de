package mtls

import (
	"fmt"
	"strings"
	"time"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/report"
)

// Subjects of what is said about a cluster; what is the same as the last on the subject is not said again. Reasons are KubeRay's,
// which repeats them with every look.
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

// eventExpire is about all certificates at once: the API server keeps one event of a reason about an object.
func eventExpire(ending []string) report.Event {
	return report.Warning("MTLSCertificateExpiringSoon", actionReconcile, fmt.Sprintf(
		"Certificates end and cert-manager has not renewed them; see their conditions: %s. Ray reads certificates only at its start, "+
			"so Pods older than the renewal have to be restarted", strings.Join(ending, ", ")))
}

// eventAged is about the oldest Pod, which stands for others.
func eventAged(pod string, end time.Time) report.Event {
	return report.Warning("MTLSPodsNeedRestart", actionReconcile, fmt.Sprintf(
		"Pod %s, and perhaps others, started with a certificate that ends about %s. Ray reads certificates only at its start, so restart "+
			"the Pods before that, for example by suspending and resuming the cluster", pod, end.UTC().Format(time.DateOnly)))
}

// say sends an event, unless it says the same as the last on the subject.
func (r *Reconciler) say(rc *rayv1.RayCluster, subject string, e report.Event) {
	if r.said.News(rc.UID, subject, e.Note) {
		report.Send(r.config.Recorder, rc, []report.Event{e})
	}
}
