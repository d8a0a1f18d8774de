package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/conditions"
	"github.com/raygate/raygate/operator/internal/dashboards"
	"github.com/raygate/raygate/pkg/history"
)

// Subject contains the objects of a record. Its objects must not be modified afterwards.
type Subject struct {
	history.Summary
	// Object is the object at its end.
	Object client.Object
	// RayCluster is the cluster of a RayJob; nil if it is gone.
	RayCluster *rayv1.RayCluster
	// Clusters are the names of the clusters whose Pods belong to the object.
	Clusters []string
	// Site is the dashboard of the cluster; nil if it has none, so that there is no log.
	Site *dashboards.Site
	// HadJob means that Ray had the job, so that a missing log is a loss.
	HadJob bool
	// Serve are the last details of Serve; nil for none.
	Serve serveAnswer
}

const (
	// maxMessage is the longest message of a summary.
	maxMessage = 512
	// maxOwner is the longest name of an owner.
	maxOwner = 253
	// maxPods is the maximum number of Pods in a record.
	maxPods = 200
)

// KeyOf returns the key of an object without attempts.
func KeyOf(kind string, o client.Object) history.Key {
	return history.Key{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID()), Created: o.GetCreationTimestamp().UTC()}
}

// KeyOfJob returns the key of the current attempt of a RayJob, or of the last one if that is over.
func KeyOfJob(j *rayv1.RayJob) history.Key {
	k := KeyOf("RayJob", j)
	k.Attempt = j.Status.Attempt()
	if j.Status.StartTime != nil {
		k.Started = j.Status.StartTime.UTC()
	}
	return k
}

// JobSubject returns the subject of an attempt of a RayJob that ended at a time. rc may be nil.
func JobSubject(j *rayv1.RayJob, rc *rayv1.RayCluster, now time.Time) Subject {
	st := &j.Status
	s := Subject{Object: j.DeepCopy(), HadJob: st.JobStatus != rayv1.JobStatusNew, Summary: history.Summary{
		Key: KeyOfJob(j), Ended: now.UTC(), Result: cmp.Or(string(st.JobStatus), string(st.JobDeploymentStatus)), Reason: string(st.Reason),
		Message: conditions.Clip(st.Message, maxMessage), JobID: st.JobId, Cluster: st.RayClusterName,
		Queue: j.Labels[rayv1.LabelKueueQueue], Owner: ownerOf(j),
	}}
	if st.JobDeploymentStatus == rayv1.JobDeploymentStatusFailed || st.JobDeploymentStatus == rayv1.JobDeploymentStatusRetrying {
		s.Result = string(rayv1.JobStatusFailed) // also if Ray reported something else, or nothing
	}
	if st.EndTime != nil && st.JobDeploymentStatus.IsTerminal() {
		s.Ended = st.EndTime.UTC()
	}
	if rc != nil {
		s.RayCluster = rc.DeepCopy()
		s.Clusters = []string{rc.Name}
	}
	return s
}

// ownerOf returns the user for whom an object was made. An object that is made for another one has its labels and annotations.
func ownerOf(o client.Object) string {
	return conditions.Clip(cmp.Or(o.GetAnnotations()[rayv1.AnnotationUser], o.GetLabels()[rayv1.LabelUser]), maxOwner)
}

// gather returns the record of a subject, without the log. Errors of parts are noted in Lost.
func (a *Archive) gather(ctx context.Context, s Subject) (*history.Record, error) {
	r := &history.Record{Summary: s.Summary}
	var err error
	if r.Object, err = document(s.Object, s.Kind); err != nil {
		return nil, err
	}
	if s.RayCluster != nil {
		if r.RayCluster, err = document(s.RayCluster, "RayCluster"); err != nil {
			return nil, err
		}
	}
	uids := map[types.UID]bool{s.Object.GetUID(): true}
	if s.RayCluster != nil {
		uids[s.RayCluster.UID] = true
		if metav1.IsControlledBy(s.RayCluster, s.Object) { // not that of a clusterSelector, which others use, too
			r.Usage = a.meter.of(s.RayCluster.UID, s.Ended)
		}
	}
	if err := addServe(r, s.Serve); err != nil {
		return nil, err
	}
	for _, name := range s.Clusters {
		if err := a.pods(ctx, r, name, uids); err != nil {
			return nil, err
		}
	}
	about := func(e *corev1.Event) bool {
		o := &e.InvolvedObject
		return uids[o.UID] || o.Kind == "Pod" && slices.ContainsFunc(s.Clusters, func(name string) bool { return strings.HasPrefix(o.Name, name+"-") })
	}
	r.Events, err = a.events.of(ctx, s.Namespace, about)
	if err != nil {
		r.Lost = append(r.Lost, "events are missing: "+err.Error())
	}
	return r, nil
}

// document is the JSON of an object as the API server has it.
func document(o client.Object, kind string) (json.RawMessage, error) {
	c := o.DeepCopyObject().(client.Object)
	c.GetObjectKind().SetGroupVersionKind(rayv1.GroupVersion.WithKind(kind))
	c.SetManagedFields(nil)
	return json.Marshal(c)
}

// pods adds the Pods of a cluster. Of their specs only names and resources are kept: commands and environments come from the
// object, which has them.
func (a *Archive) pods(ctx context.Context, r *history.Record, cluster string, uids map[types.UID]bool) error {
	var list corev1.PodList
	err := a.config.Cache.List(ctx, &list, client.InNamespace(r.Namespace), client.MatchingLabels{rayv1.LabelCluster: cluster})
	if err != nil {
		return err
	}
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	for i := range list.Items {
		p := &list.Items[i]
		uids[p.UID] = true
		if len(r.Pods) == maxPods {
			r.Lost = append(r.Lost, "some Pods are missing: there are too many")
			break
		}
		text, err := json.Marshal(outline(p))
		if err != nil {
			return err
		}
		r.Pods = append(r.Pods, text)
	}
	return nil
}

func outline(p *corev1.Pod) *corev1.Pod {
	containers := func(list []corev1.Container) []corev1.Container {
		var short []corev1.Container
		for _, c := range list {
			short = append(short, corev1.Container{Name: c.Name, Image: c.Image, Resources: c.Resources})
		}
		return short
	}
	o := &corev1.Pod{Spec: corev1.PodSpec{
		NodeName: p.Spec.NodeName, Containers: containers(p.Spec.Containers), InitContainers: containers(p.Spec.InitContainers),
	}, Status: p.Status}
	o.APIVersion, o.Kind = "v1", "Pod"
	o.Name, o.Namespace, o.UID, o.Labels = p.Name, p.Namespace, p.UID, p.Labels
	o.CreationTimestamp, o.DeletionTimestamp = p.CreationTimestamp, p.DeletionTimestamp
	return o
}
