package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// cluster is a RayCluster and what its user does.
func (s *scenario) cluster(r *rand.Rand) {
	rc := &rayv1.RayCluster{ObjectMeta: at(demo), Spec: clusterSpec(r)}
	if r.IntN(3) == 0 {
		rc.Spec.UpgradeStrategy = &rayv1.RayClusterUpgradeStrategy{Type: new(rayv1.RayClusterRecreate)}
	}
	if r.IntN(2) == 0 {
		rc.Spec.WorkerGroupSpecs[0].NumOfHosts = int32(2 + r.IntN(2))
		s.add(r, "a quota refuses some Pods", func(w *world) { w.begins(faultQuota, "Pod", 0.5, 20*time.Second) })
	}
	if r.IntN(3) == 0 {
		more := rc.Spec.WorkerGroupSpecs[0].DeepCopy()
		more.GroupName, more.NumOfHosts = "more", 1
		rc.Spec.WorkerGroupSpecs = append(rc.Spec.WorkerGroupSpecs, *more)
	}
	autoscales := r.IntN(4) == 0
	rc.Spec.EnableInTreeAutoscaling = &autoscales
	s.objects = append(s.objects, rc)
	for range 1 + r.IntN(6) {
		oneOf(r,
			choice{4, func() {
				n := int32(r.IntN(5))
				s.add(r, fmt.Sprintf("replicas become %d", n), edit(kindCluster, demo, func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].Replicas = &n }))
			}},
			choice{2, func() {
				s.add(r, "the RayCluster is suspended", edit(kindCluster, demo, func(rc *rayv1.RayCluster) { rc.Spec.Suspend = new(true) }))
				if r.IntN(3) > 0 {
					s.add(r, "the RayCluster is resumed", edit(kindCluster, demo, func(rc *rayv1.RayCluster) { rc.Spec.Suspend = new(false) }))
				}
			}},
			choice{2, func() {
				s.add(r, "the image becomes b", edit(kindCluster, demo, func(rc *rayv1.RayCluster) { rc.Spec.HeadGroupSpec.Template.Spec.Containers[0].Image = imageB }))
			}},
			choice{2, func() {
				on := r.IntN(3) > 0
				s.add(r, fmt.Sprintf("suspension of the group becomes %t", on), edit(kindCluster, demo, func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs[0].Suspend = &on }))
			}},
			choice{3, func() { s.add(r, "the autoscaler removes a worker", removeWorker) }},
			choice{1, func() {
				s.add(r, "the last group is removed", edit(kindCluster, demo, func(rc *rayv1.RayCluster) { rc.Spec.WorkerGroupSpecs = rc.Spec.WorkerGroupSpecs[:1] }))
			}},
			choice{1, func() { s.add(r, "an image cannot be pulled", onPod(rayv1.WorkerNode, r.IntN(3), (*nodes).cannotPull)) }},
			choice{1, func() { s.add(r, "a Pod does not end", onPod(rayv1.WorkerNode, r.IntN(3), (*nodes).hang)) }},
			choice{1, func() { s.add(r, "the RayCluster is deleted", remove(kindCluster, demo)) }},
			choice{2, func() { s.add(r, "the RayCluster is deleted and made anew", recreate(kindCluster, demo, rc)) }},
			choice{1, func() {
				svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: demo + "-head-svc", Labels: map[string]string{labelForeign: "true"}}}
				s.add(r, "somebody takes the name of the head Service", func(w *world) { _ = w.store.Create(actorUser, svc.DeepCopy()) })
				s.steps = append(s.steps, step{span + 3, "that Service is deleted", func(w *world) {
					if o := w.store.Find(kindService, client.ObjectKeyFromObject(svc)); o != nil && o.GetLabels()[labelForeign] != "" {
						remove(kindService, svc.Name)(w)
					}
				}})
			}},
		)
	}
}

// cron is a RayCronJob and what its user does.
func (s *scenario) cron(r *rand.Rand) {
	cj := &rayv1.RayCronJob{ObjectMeta: at(demo), Spec: rayv1.RayCronJobSpec{
		Schedule: []string{"*/2 * * * *", "* * * * *", "@every 90s", "0 0 31 2 *", "@every 20s"}[r.IntN(5)], JobTemplate: jobSpec(r),
	}}
	end := span + longest
	if r.IntN(3) == 0 {
		away := []time.Duration{10 * time.Minute, 4 * time.Hour}[r.IntN(2)]
		end += away
		s.add(r, fmt.Sprintf("the operator is away for %s", away), absent(away))
	}
	if r.IntN(4) == 0 {
		cj.Spec.Schedule, cj.Spec.TimeZone = "*/2 * * * *", new([]string{"Europe/Vienna", "Nowhere"}[r.IntN(2)])
	}
	cj.Spec.JobTemplate.SubmissionMode, cj.Spec.JobTemplate.Suspend, cj.Spec.JobTemplate.Entrypoint = rayv1.HTTPMode, false, "python train.py"
	s.objects = append(s.objects, cj)
	suspend := func(on bool) func(*world) {
		return edit(kindCronJob, demo, func(cj *rayv1.RayCronJob) { cj.Spec.Suspend = &on })
	}
	if r.IntN(2) == 0 {
		s.add(r, "the RayCronJob is suspended", suspend(true))
		s.add(r, "the RayCronJob is resumed", suspend(false))
	}
	if r.IntN(4) == 0 {
		s.add(r, "the schedule becomes invalid", edit(kindCronJob, demo, func(cj *rayv1.RayCronJob) { cj.Spec.Schedule = "every day" }))
		s.add(r, "the schedule becomes valid", edit(kindCronJob, demo, func(cj *rayv1.RayCronJob) { cj.Spec.Schedule = "*/2 * * * *" }))
	}
	// A schedule never rests: the end is a suspension.
	s.steps = append(s.steps, step{end, "the RayCronJob is suspended for good", suspend(true)})
}

// removeWorker is an autoscaler that names a worker to go.
func removeWorker(w *world) {
	for _, o := range w.store.All(kindPod) {
		p := o.(*corev1.Pod)
		if p.Labels[rayv1.LabelGroup] != "cpu" || p.DeletionTimestamp != nil {
			continue
		}
		edit(kindCluster, demo, func(rc *rayv1.RayCluster) {
			g := &rc.Spec.WorkerGroupSpecs[0]
			if g.Replicas == nil || *g.Replicas == 0 {
				return
			}
			g.Replicas = new(*g.Replicas - 1)
			g.ScaleStrategy.WorkersToDelete = append(g.ScaleStrategy.WorkersToDelete, p.Name)
		})(w)
		return
	}
}
