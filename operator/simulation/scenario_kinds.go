package simulation

import (
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

const (
	demo   = "demo"
	shared = "shared"
)

var kindCronJob = rayv1.GroupVersion.WithKind("RayCronJob").GroupKind()

// job is a RayJob and what its user does.
func (s *scenario) job(r *rand.Rand) {
	j := &rayv1.RayJob{ObjectMeta: at(demo), Spec: jobSpec(r)}
	if r.IntN(8) == 0 && j.Spec.SubmissionMode != rayv1.SidecarMode {
		j.Spec.RayClusterSpec, j.Spec.ShutdownAfterJobFinishes, j.Spec.TTLSecondsAfterFinished = nil, false, 0
		j.Spec.BackoffLimit, j.Spec.Suspend = nil, false
		j.Spec.ClusterSelector = map[string]string{rayv1.LabelCluster: shared}
		s.objects = append(s.objects, &rayv1.RayCluster{ObjectMeta: at(shared), Spec: clusterSpec(r)})
		if r.IntN(3) == 0 {
			s.add(r, "the selected cluster is deleted", remove(kindCluster, shared))
		}
	}
	s.objects = append(s.objects, j)
	for range r.IntN(4) {
		oneOf(r,
			choice{3, func() { s.add(r, "the RayJob is deleted", remove(kindRayJob, demo)) }},
			choice{2, func() { s.add(r, "the RayJob is deleted and made anew", recreate(kindRayJob, demo, j)) }},
			choice{4, func() { s.suspendJob(r, j) }},
			choice{2, func() {
				limit := int32(5 + r.IntN(60))
				s.add(r, fmt.Sprintf("activeDeadlineSeconds becomes %d", limit), edit(kindRayJob, demo, func(j *rayv1.RayJob) { j.Spec.ActiveDeadlineSeconds = &limit }))
			}},
			choice{2, func() { s.spoilJob(r) }},
			choice{2, func() { s.add(r, "the RayJob's cluster is deleted", deleteOwned(kindCluster, "RayJob")) }},
			choice{2, func() { s.add(r, "the submitter is deleted", remove(kindJob, demo)) }},
		)
	}
}

func (s *scenario) suspendJob(r *rand.Rand, j *rayv1.RayJob) {
	if len(j.Spec.ClusterSelector) > 0 || !j.Spec.ShutdownAfterJobFinishes {
		return
	}
	to := func(on bool) func(*world) {
		return func(w *world) {
			edit(kindRayJob, demo, func(j *rayv1.RayJob) { j.Spec.Suspend = on })(w)
		}
	}
	s.add(r, "the RayJob is suspended", to(true))
	if r.IntN(3) > 0 {
		s.add(r, "the RayJob is resumed", to(false))
	}
}

// spoilJob makes the spec invalid, and mostly valid again.
func (s *scenario) spoilJob(r *rand.Rand) {
	s.add(r, "the spec becomes invalid", edit(kindRayJob, demo, func(j *rayv1.RayJob) { j.Spec.BackoffLimit = new(int32(-1)) }))
	if r.IntN(4) > 0 {
		s.add(r, "the spec becomes valid", edit(kindRayJob, demo, func(j *rayv1.RayJob) {
			if j.Spec.BackoffLimit != nil && *j.Spec.BackoffLimit < 0 {
				j.Spec.BackoffLimit = nil
			}
		}))
	}
}

func jobSpec(r *rand.Rand) rayv1.RayJobSpec {
	cluster := clusterSpec(r)
	spec := rayv1.RayJobSpec{Entrypoint: "python train.py", RayClusterSpec: &cluster, SubmissionMode: rayv1.K8sJobMode}
	oneOf(r,
		choice{8, func() {}},
		choice{8, func() { spec.SubmissionMode = rayv1.HTTPMode }},
		choice{4, func() { spec.SubmissionMode = rayv1.SidecarMode }},
		choice{1, func() { spec.SubmissionMode, spec.Entrypoint = rayv1.InteractiveMode, "" }},
	)
	if r.IntN(10) < 7 {
		spec.ShutdownAfterJobFinishes, spec.TTLSecondsAfterFinished = true, int32(r.IntN(3)*20)
		spec.Suspend = r.IntN(8) == 0
	}
	if r.IntN(2) == 0 && spec.SubmissionMode != rayv1.InteractiveMode {
		spec.BackoffLimit = new(int32(r.IntN(3)))
	}
	if r.IntN(3) == 0 {
		spec.ActiveDeadlineSeconds = new(int32(10 + r.IntN(150)))
	}
	if r.IntN(6) == 0 {
		spec.PreRunningDeadlineSeconds = new(int32(5 + r.IntN(60)))
	}
	if r.IntN(4) == 0 && spec.SubmissionMode == rayv1.K8sJobMode {
		spec.SubmitterConfig = &rayv1.SubmitterConfig{BackoffLimit: new(int32(r.IntN(3)))}
	}
	return spec
}

// deleteOwned deletes the first object of a kind that an object of another kind controls.
func deleteOwned(gk schema.GroupKind, owner string) func(*world) {
	return func(w *world) {
		for _, o := range w.store.All(gk) {
			if controlledBy(o, owner) != "" {
				remove(gk, o.GetName())(w)
				return
			}
		}
	}
}

const (
	config1 = "applications: [{name: shop, import_path: 'shop:one'}]"
	config2 = "applications: [{name: shop, import_path: 'shop:two'}]"
)

// service is a RayService and what its user does.
func (s *scenario) service(r *rand.Rand) {
	rs := &rayv1.RayService{ObjectMeta: at(demo), Spec: rayv1.RayServiceSpec{
		ServeConfigV2: config1, RayClusterSpec: clusterSpec(r), RayClusterDeletionDelaySeconds: new(int32(r.IntN(2) * 20)),
		ExcludeHeadPodFromServeSvc: r.IntN(3) == 0,
	}}
	if rs.Spec.RayClusterSpec.WorkerGroupSpecs[0].Replicas = new(int32(1 + r.IntN(2))); r.IntN(8) == 0 {
		rs.Spec.Suspend = true
	}
	strategy := func(kind rayv1.RayServiceUpgradeType) {
		rs.Spec.UpgradeStrategy = &rayv1.RayServiceUpgradeStrategy{Type: &kind}
	}
	oneOf(r,
		choice{2, func() {}},
		choice{5, func() { strategy(rayv1.RayServiceNewCluster) }},
		choice{1, func() { strategy(rayv1.RayServiceUpgradeNone) }},
		choice{6, func() {
			strategy(rayv1.RayServiceNewClusterWithIncrementalUpgrade)
			rs.Spec.RayClusterSpec.EnableInTreeAutoscaling = new(true)
			surge := []int32{20, 50, 100}[r.IntN(3)]
			rs.Spec.UpgradeStrategy.ClusterUpgradeOptions = &rayv1.ClusterUpgradeOptions{
				MaxSurgePercent: &surge, StepSizePercent: new(min(surge, []int32{10, 25, 50}[r.IntN(3)])), IntervalSeconds: new(int32(1 + r.IntN(5))), GatewayClassName: "istio",
			}
		}},
	)
	s.objects = append(s.objects, rs)
	set := func(change func(*rayv1.RayServiceSpec)) func(*world) {
		return edit(kindRayService, demo, func(rs *rayv1.RayService) { change(&rs.Spec) })
	}
	image := func(name string) func(*world) {
		return set(func(s *rayv1.RayServiceSpec) {
			if c := s.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers; len(c) > 0 {
				c[0].Image = name
			}
		})
	}
	for range r.IntN(4) {
		oneOf(r,
			choice{6, func() { s.add(r, "the image becomes b", image(imageB)) }},
			choice{3, func() { s.add(r, "the image becomes a", image(imageA)) }},
			choice{4, func() {
				s.add(r, "the image becomes one that fails", image(imageBroken))
				if r.IntN(5) > 0 {
					s.steps = append(s.steps, step{span + 1, "the image becomes a again", image(imageA)})
				}
			}},
			choice{3, func() {
				s.add(r, "the configuration changes", set(func(s *rayv1.RayServiceSpec) { s.ServeConfigV2 = config2 }))
			}},
			choice{3, func() {
				s.add(r, "the last variable is removed", set(func(s *rayv1.RayServiceSpec) {
					if c := s.RayClusterSpec.HeadGroupSpec.Template.Spec.Containers; len(c) > 0 && len(c[0].Env) > 0 {
						c[0].Env = c[0].Env[:len(c[0].Env)-1]
					}
				}))
			}},
			choice{2, func() {
				s.add(r, "the RayService is suspended", set(func(s *rayv1.RayServiceSpec) { s.Suspend = true }))
				if r.IntN(3) > 0 {
					s.add(r, "the RayService is resumed", set(func(s *rayv1.RayServiceSpec) { s.Suspend = false }))
				}
			}},
			choice{1, func() { s.add(r, "the RayService is deleted", remove(kindRayService, demo)) }},
			choice{1, func() { s.add(r, "the RayService is deleted and made anew", recreate(kindRayService, demo, rs)) }},
			choice{1, func() { s.add(r, "a cluster of it is deleted", deleteOwned(kindCluster, "RayService")) }},
			choice{1, func() { s.spoilService(r, set) }},
		)
	}
}

func (s *scenario) spoilService(r *rand.Rand, set func(func(*rayv1.RayServiceSpec)) func(*world)) {
	var saved []corev1.Container
	s.add(r, "the spec becomes invalid", set(func(s *rayv1.RayServiceSpec) {
		t := &s.RayClusterSpec.HeadGroupSpec.Template.Spec
		if len(t.Containers) > 0 {
			saved, t.Containers = t.Containers, nil
		}
	}))
	if r.IntN(4) > 0 {
		s.steps = append(s.steps, step{span + 2, "the spec becomes valid", set(func(s *rayv1.RayServiceSpec) {
			if t := &s.RayClusterSpec.HeadGroupSpec.Template.Spec; len(t.Containers) == 0 {
				t.Containers = saved
			}
		})})
	}
}

// cluster is a RayCluster and what its user does.
func (s *scenario) cluster(r *rand.Rand) {
	rc := &rayv1.RayCluster{ObjectMeta: at(demo), Spec: clusterSpec(r)}
	if r.IntN(3) == 0 {
		rc.Spec.UpgradeStrategy = &rayv1.RayClusterUpgradeStrategy{Type: new(rayv1.RayClusterRecreate)}
	}
	s.objects = append(s.objects, rc)
	for range 1 + r.IntN(4) {
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
			choice{1, func() { s.add(r, "the RayCluster is deleted", remove(kindCluster, demo)) }},
			choice{2, func() { s.add(r, "the RayCluster is deleted and made anew", recreate(kindCluster, demo, rc)) }},
			choice{1, func() {
				svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: demo + "-head-svc", Labels: map[string]string{labelForeign: "true"}}}
				s.add(r, "somebody takes the name of the head Service", func(w *world) { _ = w.store.Create(actorUser, svc.DeepCopy()) })
				s.steps = append(s.steps, step{span + 3, "that Service is deleted", func(w *world) {
					if o := w.store.Find(kindService, clientKey(svc)); o != nil && o.GetLabels()[labelForeign] != "" {
						remove(kindService, svc.Name)(w)
					}
				}})
			}},
		)
	}
}

// cron is a RayCronJob and what its user does.
func (s *scenario) cron(r *rand.Rand) {
	cj := &rayv1.RayCronJob{ObjectMeta: at(demo), Spec: rayv1.RayCronJobSpec{Schedule: "*/2 * * * *", JobTemplate: jobSpec(r)}}
	cj.Spec.JobTemplate.SubmissionMode, cj.Spec.JobTemplate.Suspend, cj.Spec.JobTemplate.Entrypoint = rayv1.HTTPMode, false, "python train.py"
	s.objects = append(s.objects, cj)
	suspend := func(on bool) func(*world) {
		return edit(kindCronJob, demo, func(cj *rayv1.RayCronJob) { cj.Spec.Suspend = &on })
	}
	if r.IntN(2) == 0 {
		s.add(r, "the RayCronJob is suspended", suspend(true))
		s.add(r, "the RayCronJob is resumed", suspend(false))
	}
	// A schedule never rests: the end is a suspension.
	s.steps = append(s.steps, step{span + longest, "the RayCronJob is suspended for good", suspend(true)})
}
