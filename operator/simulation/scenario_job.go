package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/dashboard"
)

const (
	demo   = "demo"
	shared = "shared"
)

var kindCronJob = rayv1.GroupVersion.WithKind("RayCronJob").GroupKind()

// job adds a RayJob and the actions of its user.
func (s *scenario) job(r *rand.Rand) {
	j := &rayv1.RayJob{ObjectMeta: at(demo), Spec: jobSpec(r)}
	if r.IntN(8) == 0 && j.Spec.SubmissionMode != rayv1.SidecarMode {
		j.Spec.RayClusterSpec, j.Spec.ShutdownAfterJobFinishes, j.Spec.TTLSecondsAfterFinished = nil, false, 0
		j.Spec.BackoffLimit, j.Spec.Suspend, j.Spec.DeletionStrategy = nil, false, nil
		j.Spec.ClusterSelector = map[string]string{rayv1.LabelCluster: shared}
		s.objects = append(s.objects, &rayv1.RayCluster{ObjectMeta: at(shared), Spec: clusterSpec(r)})
		if r.IntN(3) == 0 {
			s.add(r, "the selected cluster is deleted", remove(kindCluster, shared))
		}
	}
	s.objects = append(s.objects, j)
	if j.Spec.SubmissionMode == rayv1.InteractiveMode && r.IntN(4) > 0 {
		s.interact(r)
	}
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

// attempts has the RayJob retry on the same cluster, and its program save its state when it is suspended.
func (s *scenario) attempts(r *rand.Rand) {
	for _, o := range s.objects {
		if j, ok := o.(*rayv1.RayJob); ok {
			metav1.SetMetaDataAnnotation(&j.ObjectMeta, rayv1.AnnotationRetryOn, string(rayv1.RetryOnSameCluster))
			if r.IntN(2) == 0 {
				metav1.SetMetaDataAnnotation(&j.ObjectMeta, rayv1.AnnotationSuspendGrace, "30s")
			}
			if len(j.Spec.ClusterSelector) == 0 && j.Spec.SubmissionMode != rayv1.InteractiveMode {
				j.Spec.BackoffLimit = new(int32(1 + r.IntN(3)))
			}
		}
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

// spoilJob makes the spec invalid, and usually valid again.
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
	switch r.IntN(10) {
	case 0:
		if spec.Entrypoint != "" {
			spec.Entrypoint = entrypointRefused
		}
	case 1, 2:
		spec.ShutdownAfterJobFinishes, spec.TTLSecondsAfterFinished, spec.Suspend = false, 0, false
		spec.DeletionStrategy = deletionStrategy(r, spec.SubmissionMode)
	}
	return spec
}

// entrypointRefused is an entrypoint that Ray rejects.
const entrypointRefused = "refused"

// deletionStrategy returns a strategy in one of the two forms.
func deletionStrategy(r *rand.Rand, mode rayv1.JobSubmissionMode) *rayv1.DeletionStrategy {
	policies := []rayv1.DeletionPolicyType{rayv1.DeleteNone, rayv1.DeleteCluster, rayv1.DeleteSelf, rayv1.DeleteWorkers}
	if mode == rayv1.SidecarMode {
		policies = policies[:3]
	}
	policy := func() rayv1.DeletionPolicyType { return policies[r.IntN(len(policies))] }
	if r.IntN(2) == 0 {
		legacy := func() *rayv1.DeletionPolicy { return &rayv1.DeletionPolicy{Policy: new(policy())} }
		return &rayv1.DeletionStrategy{OnSuccess: legacy(), OnFailure: legacy()} //nolint:staticcheck // deprecated, and users have it
	}
	rule := func(p rayv1.DeletionPolicyType, st rayv1.JobStatus, ttl int32) rayv1.DeletionRule {
		return rayv1.DeletionRule{Policy: p, Condition: rayv1.DeletionCondition{JobStatus: &st, TTLSeconds: ttl}}
	}
	failed := rayv1.JobDeploymentStatusFailed
	return &rayv1.DeletionStrategy{DeletionRules: []rayv1.DeletionRule{
		rule(policies[len(policies)-1], rayv1.JobStatusSucceeded, int32(r.IntN(20))),
		rule(policies[1], rayv1.JobStatusSucceeded, int32(20+r.IntN(20))),
		{Policy: policy(), Condition: rayv1.DeletionCondition{JobDeploymentStatus: &failed, TTLSeconds: int32(r.IntN(30))}},
	}}
}

// interact adds a user who submits a job by hand and sets its id.
func (s *scenario) interact(r *rand.Rand) {
	const id = "user-1"
	s.add(r, "the user submits a job and tells its id", func(w *world) {
		for _, o := range w.store.All(kindRayJob) {
			head := w.rays.of(o.(*rayv1.RayJob).Status.RayClusterName)
			if head == nil || o.(*rayv1.RayJob).Spec.SubmissionMode != rayv1.InteractiveMode {
				continue
			}
			hesitates := w.between("hand", 0, 30*time.Second)
			w.begins("a user hesitates", "", 1, hesitates)
			w.after(hesitates, "hand", func() {
				_, _ = head.submit(context.Background(), dashboard.Submission{Entrypoint: "x", SubmissionID: id})
			})
			edit(kindRayJob, o.GetName(), func(j *rayv1.RayJob) { j.Spec.JobId = id })(w)
		}
	})
}

// deleteOwned returns a step that deletes the first object of a kind whose controller has the kind owner.
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
