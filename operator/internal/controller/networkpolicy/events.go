package networkpolicy

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation"
)

// failure is something that the user has to see. Reasons are KubeRay's.
type failure struct{ reason, action, message string }

// maxNote is the longest note that the API server takes.
const maxNote = 1024

func (r *Reconciler) happened(rc *rayv1.RayCluster, reason, action, note string) {
	r.recorder.Eventf(rc, nil, corev1.EventTypeNormal, reason, action, "%s", note)
}

// finding is what the last look at a cluster has found wrong.
type finding struct {
	uid     types.UID
	foreign []string // sorted
	text    string
}

// tell sends an event for each failure, and one for all names that someone else has, unless all of this was told of before.
func (r *Reconciler) tell(rc *rayv1.RayCluster, foreign []string, failures []failure) {
	slices.Sort(foreign)
	if len(foreign) > 0 {
		o := r.options
		o.Facts = &validation.Facts{ForeignNetworkPolicies: foreign}
		failures = append(failures, failure{"NetworkPolicyNameCollision", "Validate", validation.Summary(validation.RayClusterFacts(rc, o))})
	}
	all := make([]string, len(failures))
	for i, f := range failures {
		all[i] = f.message
	}
	if !r.news(client.ObjectKeyFromObject(rc), finding{uid: rc.UID, foreign: foreign, text: strings.Join(all, "\n")}) {
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

// news notes what was found, and reports whether it is new.
func (r *Reconciler) news(cluster types.NamespacedName, f finding) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.findings[cluster]
	if f.text == "" {
		delete(r.findings, cluster)
	} else {
		r.findings[cluster] = f
	}
	if r.changed != nil && !slices.Equal(old.foreign, f.foreign) {
		r.changed(cluster)
	}
	return old.uid != f.uid || old.text != f.text
}

func (r *Reconciler) forget(cluster types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.findings, cluster)
}

// Foreign names the NetworkPolicies that the cluster needs and that belong to someone else, as far as has been seen.
func (r *Reconciler) Foreign(rc *rayv1.RayCluster) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if f := r.findings[client.ObjectKeyFromObject(rc)]; f.uid == rc.UID {
		return f.foreign
	}
	return nil
}

// OnChange sets what is called, with the name of a cluster, when Foreign has a new answer. It must not call back.
func (r *Reconciler) OnChange(call func(cluster types.NamespacedName)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = call
}
