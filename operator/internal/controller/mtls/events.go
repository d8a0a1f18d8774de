package mtls

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// maxNote is the longest note that the API server takes.
const maxNote = 1024

// teller sends events; one that says the same about the same subject as the last is not sent. Reasons are KubeRay's, which
// repeats them with every look.
type teller struct {
	recorder events.EventRecorder
	memory   *memory
}

func (t teller) failed(rc *rayv1.RayCluster, err error) {
	t.send(rc, "state", corev1.EventTypeWarning, "MTLSFailedToReconcile", "Making the certificates: "+err.Error())
}

func (t teller) notReady(rc *rayv1.RayCluster, waiting []string) {
	t.send(rc, "state", corev1.EventTypeNormal, "MTLSCertsNotReady",
		"Waiting for cert-manager to issue "+strings.Join(waiting, " and "))
}

func (t teller) ready(rc *rayv1.RayCluster) {
	t.send(rc, "state", corev1.EventTypeNormal, "MTLSPKIReady", "All certificates are issued")
}

func (t teller) updated(rc *rayv1.RayCluster, names []string) {
	note := "Asked cert-manager for new certificates with the addresses of all Pods: " + strings.Join(names, ", ")
	t.recorder.Eventf(rc, nil, corev1.EventTypeNormal, "MTLSCertificatesUpdated", "Update", "%s", note)
}

// expire tells of all certificates at once: the API server keeps one event of a reason about an object.
func (t teller) expire(rc *rayv1.RayCluster, ending []string) {
	t.send(rc, "expiry", corev1.EventTypeWarning, "MTLSCertificateExpiringSoon", fmt.Sprintf(
		"Certificates end and cert-manager has not renewed them; see their conditions: %s. Ray reads certificates only at its start, "+
			"so Pods older than the renewal have to be restarted", strings.Join(ending, ", ")))
}

// aged tells of the oldest Pod, which stands for others.
func (t teller) aged(rc *rayv1.RayCluster, pod string, end time.Time) {
	t.send(rc, "age", corev1.EventTypeWarning, "MTLSPodsNeedRestart", fmt.Sprintf(
		"Pod %s, and perhaps others, started with a certificate that ends about %s. Ray reads certificates only at its start, so restart "+
			"the Pods before that, for example by suspending and resuming the cluster", pod, end.UTC().Format(time.DateOnly)))
}

func (t teller) send(rc *rayv1.RayCluster, subject, kind, reason, note string) {
	if !t.memory.news(client.ObjectKeyFromObject(rc), subject, note) {
		return
	}
	if len(note) > maxNote {
		note = strings.ToValidUTF8(note[:maxNote-3], "") + "..."
	}
	t.recorder.Eventf(rc, nil, kind, reason, "Reconcile", "%s", note)
}
