package simulation

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/simulation/apiserver"
)

// noteUnrecorded notes a head that goes, or whose cluster is deleted, while its RayJob does not say that Ray may have the job. If the operator
// of that time ends as well, or the user makes the cluster anew, nothing is left by which anyone could know: to take every head that is gone
// for one that ran the job would fail jobs that never began, which KubeRay starts again.
func (d *watchdog) noteUnrecorded(h *ray) {
	for _, o := range d.world.store.All(kindRayJob) {
		j := o.(*rayv1.RayJob)
		st := &j.Status
		sidecar := j.Spec.SubmissionMode == rayv1.SidecarMode
		if st.RayClusterName == h.cluster && st.JobStatus == rayv1.JobStatusNew && (!sidecar || st.RayClusterStatus.Head.PodIP == "") {
			d.mu.Lock()
			d.unrecorded[h.pod] = true
			d.mu.Unlock()
		}
	}
}

func (d *watchdog) checkResult(c apiserver.Change) {
	before, after, ok := versions[*rayv1.RayJob](c)
	if !ok {
		return
	}
	b, a := &before.Status, &after.Status
	if b.JobDeploymentStatus.IsTerminal() && (a.JobDeploymentStatus != b.JobDeploymentStatus || a.JobStatus != b.JobStatus || a.Reason != b.Reason) {
		d.violateLocked("resultStays", "%s: %s %s %s became %s %s %s", after.Name, b.JobDeploymentStatus, b.JobStatus, b.Reason, a.JobDeploymentStatus, a.JobStatus, a.Reason)
	}
}

// checkUnsent is about a job that waits for a dashboard to take it, while an operator is alive. The caller holds the lock.
func (d *watchdog) checkUnsent(j *rayv1.RayJob, alive bool) {
	st := &j.Status
	waits := j.Spec.SubmissionMode == rayv1.HTTPMode && st.JobDeploymentStatus == rayv1.JobDeploymentStatusRunning && st.JobStatus == "" && !j.Spec.Suspend
	if _, lacks := jobLacksCluster(d.world, j); lacks { // it waits for a cluster, and says so
		waits = false
	}
	since, known := d.unsent[j.UID]
	switch {
	case !waits || !alive:
		delete(d.unsent, j.UID)
	case !known:
		d.unsent[j.UID] = time.Now()
	case time.Since(since) > 8*time.Minute:
		d.violateLocked("givesUp", "%s waits since %s for its dashboard to take the job: %s", j.Name, time.Since(since), st.Message)
	}
}

var kindRayJob = rayv1.GroupVersion.WithKind("RayJob").GroupKind()

// owner is the RayJob that has a submission id, nil for none.
func (w *world) owner(id string) *rayv1.RayJob {
	for _, o := range w.store.All(kindRayJob) {
		if j := o.(*rayv1.RayJob); j.Status.JobId == id {
			return j
		}
	}
	return nil
}

// entrypoint notes that Ray begins to run an entrypoint.
func (d *watchdog) entrypoint(id string, h *ray) {
	w := d.world
	if strings.HasPrefix(id, "user-") {
		return
	}
	if rc := w.clusterObject(h.cluster); rc.Name == "" || rc.DeletionTimestamp != nil || w.orphaned(rc) || h.orphaned() {
		return // what begins there ends with its Pod
	}
	j := w.owner(id)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.runs[id] = append(d.runs[id], h)
	earlier := slices.DeleteFunc(slices.Clone(d.runs[id][:len(d.runs[id])-1]), func(r *ray) bool {
		return d.unrecorded[r.pod] && (w.op.started.After(r.started) || r.owner != w.clusterObject(r.cluster).UID) // the user deleted its cluster
	})
	switch {
	case j == nil:
		d.violateLocked("nothingAfterEnd", "%s begins on %s, but no RayJob has this id", id, h.cluster)
	case j.Status.JobDeploymentStatus.IsTerminal():
		d.violateLocked("nothingAfterEnd", "%s begins on %s, but its RayJob is %s", id, h.cluster, j.Status.JobDeploymentStatus)
	case len(earlier) > 0 && j.Spec.SubmissionMode != rayv1.K8sJobMode:
		d.violateLocked("entrypointOnce", "%s begins for the %d. time", id, len(earlier)+1)
	default:
		d.checkApart(j, id, h)
	}
}

// checkSaving looks at a cluster that the operator deletes. The caller holds the lock.
func (d *watchdog) checkSaving(c apiserver.Change) {
	if c.Actor != actorOperator || c.Old == nil || c.Old.GetDeletionTimestamp() != nil || c.New != nil && c.New.GetDeletionTimestamp() == nil {
		return
	}
	w, name := d.world, c.Old.GetName()
	w.after(0, "deletion of "+name, func() {
		h := w.rays.of(name)
		j, ok := w.store.Find(kindRayJob, types.NamespacedName{Namespace: namespace, Name: controlledBy(c.Old, "RayJob")}).(*rayv1.RayJob)
		if ok && h != nil && h.saving() && j.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusSuspending && j.DeletionTimestamp == nil && !w.excused() {
			d.violate("suspensionWaits", "%s is suspended, and %s is deleted while its program saves its state", j.Name, name)
		}
	})
}

// checkApart looks for another attempt of the RayJob on the head. The caller holds the lock.
func (d *watchdog) checkApart(j *rayv1.RayJob, id string, h *ray) {
	for other, heads := range d.runs {
		if len(j.Spec.ClusterSelector) == 0 && other != id && slices.Contains(heads, h) && !h.final(other) {
			d.violateLocked("attemptsApart", "%s begins on %s, where %s runs", id, h.cluster, other)
		}
	}
}

// orphaned reports whether the garbage collector is about to delete an object.
func (w *world) orphaned(o client.Object) bool {
	ref := metav1.GetControllerOf(o)
	if ref == nil {
		return false
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	w.must(err)
	owner := w.store.Find(gv.WithKind(ref.Kind).GroupKind(), types.NamespacedName{Namespace: namespace, Name: ref.Name})
	return owner == nil || owner.GetUID() != ref.UID
}

// orphaned reports whether the head belongs to a cluster that is gone.
func (h *ray) orphaned() bool {
	for _, o := range h.world.store.All(kindPod) {
		if o.GetUID() == h.pod {
			return h.world.orphaned(o)
		}
	}
	return true
}

// submits notes that a submitter submits.
func (d *watchdog) submits(s *submitter) {
	d.mu.Lock()
	other := d.submitters[s.id]
	d.submitters[s.id] = s
	d.mu.Unlock()
	if other != nil && other != s && other.runs() && !other.hangs { // Kubernetes replaces a Pod that is being deleted while it ends
		d.violate("oneSubmitter", "%s and %s submit %s", other.pod.Name, s.pod.Name, s.id)
	}
}

// left finds what still runs of RayJobs that have ended.
func (d *watchdog) left() {
	w := d.world
	for _, gk := range []schema.GroupKind{kindPod, kindJob, kindService} {
		for _, o := range w.store.All(gk) {
			if o.GetDeletionTimestamp() != nil {
				d.violate("nothingLeft", "%s %s is still being deleted", gk.Kind, o.GetName())
			}
		}
	}
	for _, o := range w.store.All(kindPod) {
		p := o.(*corev1.Pod)
		for i := range p.Spec.Containers {
			s := submitterOf(p, &p.Spec.Containers[i])
			if s == nil || d.hangs(s.id) {
				continue
			}
			s.world = w
			if j := w.owner(s.id); s.runs() && (j == nil || j.Status.JobDeploymentStatus.IsTerminal()) {
				d.violate("nothingLeft", "the submitter %s still runs", p.Name)
			}
		}
	}
}

// hangs reports whether the submitter of a job hangs for good.
func (d *watchdog) hangs(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := d.submitters[id]
	return s != nil && s.hangs
}
