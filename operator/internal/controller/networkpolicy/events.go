package networkpolicy

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
)

// failure is something that the user has to see. Reasons are KubeRay's.
type failure struct{ reason, action, message string }

// maxNote is the longest note that the API server takes.
const maxNote = 1024

func (r *Reconciler) happened(rc *rayv1.RayCluster, reason, action, note string) {
	r.recorder.Eventf(rc, nil, corev1.EventTypeNormal, reason, action, "%s", note)
}

// tell sends an event for each failure, unless all of them were told of before.
func (r *Reconciler) tell(rc *rayv1.RayCluster, failures []failure) {
	all := make([]string, len(failures))
	for i, f := range failures {
		all[i] = f.message
	}
	text := strings.Join(all, "\n")
	key := client.ObjectKeyFromObject(rc)
	r.mu.Lock()
	known := r.told[key] == text
	if text == "" {
		delete(r.told, key)
	} else {
		r.told[key] = text
	}
	r.mu.Unlock()
	if known {
		return
	}
	for _, f := range failures {
		note := f.message
		if len(note) > maxNote {
			note = strings.ToValidUTF8(note[:maxNote-3], "") + "..."
		}
		r.recorder.Eventf(rc, nil, corev1.EventTypeWarning, f.reason, f.action, "%s", note)
	}
}

func (r *Reconciler) forget(cluster types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.told, cluster)
}
