package validation

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

var jobNameRules = nameRules{
	tooLong: "RJ-020", malformed: "RJ-021", maxLength: 47,
	why: "so that the name of its RayCluster stays within 53",
}

var jobRules = &kindRules[rayv1.RayJob]{
	meta:        func(rj *rayv1.RayJob) *metav1.ObjectMeta { return &rj.ObjectMeta },
	spec:        func(rj *rayv1.RayJob) any { return &rj.Spec },
	roots:       ruleRoots{cluster: "spec.rayClusterSpec", job: "spec"},
	problems:    jobErrors,
	advice:      jobWarnings,
	status:      RayJobStatus,
	transitions: jobTransitions,
	changes:     jobChanges,
	unused:      jobUnused,
	object:      func(rj *rayv1.RayJob) Object { return rj },
}

// RayJob returns every error of a RayJob that is being created, with its schema defaults. A nil object counts as one
// without a spec.
func RayJob(rj *rayv1.RayJob, o Options) field.ErrorList { return jobRules.create(rj, o).Errors }

// RayJobWarningList returns what works in a RayJob but may surprise its author.
func RayJobWarningList(rj *rayv1.RayJob, o Options) field.ErrorList {
	return jobRules.create(rj, o).Warnings
}

// RayJobUpdate is RayClusterUpdate for a RayJob.
func RayJobUpdate(rj, old *rayv1.RayJob, o Options) field.ErrorList {
	return jobRules.update(rj, old, o).Errors
}

// RayJobUpdateWarningList is RayClusterUpdateWarningList for a RayJob.
func RayJobUpdateWarningList(rj, old *rayv1.RayJob, o Options) field.ErrorList {
	return jobRules.update(rj, old, o).Warnings
}

// RayJobStatus returns the errors in the status alone. RayJob includes them.
func RayJobStatus(rj *rayv1.RayJob, _ Options) field.ErrorList {
	if rj.Status.JobDeploymentStatus != rayv1.JobDeploymentStatusWaiting || rj.Spec.SubmissionMode == rayv1.InteractiveMode {
		return nil
	}
	return field.ErrorList{invalid("RJ-060", field.NewPath("status", "jobDeploymentStatus"), string(rj.Status.JobDeploymentStatus),
		"is reached in InteractiveMode only; the operator sets it")}
}

func jobErrors(rj *rayv1.RayJob, o Options) field.ErrorList {
	errs := validateObjectName(&rj.ObjectMeta, jobNameRules)
	errs = append(errs, validateSchedulerLabels(rj.Labels, o, field.NewPath("metadata", "labels"))...)
	if emptyJobSpec(&rj.Spec) {
		return append(errs, required("RJ-581", field.NewPath("spec"), "describe the job: at least entrypoint, and rayClusterSpec or clusterSelector"))
	}
	if o.scheduler() == "scheduler-plugins" {
		errs = append(errs, forbidden("RJ-066", field.NewPath("kind"), "the batch scheduler scheduler-plugins, which the operator runs with, cannot schedule a RayJob; use a RayCluster"))
	}
	errs = append(errs, validateJobSpec(newJob(&rj.Spec, &rj.ObjectMeta, o), field.NewPath("spec"))...)
	return append(errs, RayJobStatus(rj, o)...)
}

func jobWarnings(rj *rayv1.RayJob, o Options) field.ErrorList {
	if emptyJobSpec(&rj.Spec) {
		return nil
	}
	path := field.NewPath("spec")
	j := newJob(&rj.Spec, &rj.ObjectMeta, o)
	warnings := warnMetadata(j.meta, o, field.NewPath("metadata"))
	warnings = append(warnings, warnJobSpec(j, path)...)
	warnings = append(warnings, warnKueue(j, path)...)
	if rj.Spec.Suspend && rj.Spec.PreRunningDeadlineSeconds != nil && rj.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusNew {
		warnings = append(warnings, invalid("RJ-532", path.Child("preRunningDeadlineSeconds"), *rj.Spec.PreRunningDeadlineSeconds,
			"does not count while the job is suspended"))
	}
	return append(warnings, warnObjectSize(rj)...)
}

func jobUnused(rj *rayv1.RayJob, _ Options) []string { return unusedOfJob(&rj.Spec, "spec") }

// unusedOfJob are the parts of a RayJobSpec at the path that no child is made from: the cluster where one that exists is
// named, and the submitter where no Job submits.
func unusedOfJob(spec *rayv1.RayJobSpec, path string) []string {
	var unused []string
	switch {
	case len(spec.ClusterSelector) > 0:
		unused = append(unused, path+".rayClusterSpec")
	case spec.RayClusterSpec != nil:
		unused = groupsWithoutPods(spec.RayClusterSpec, path+".rayClusterSpec")
	}
	if spec.SubmissionMode != "" && spec.SubmissionMode != rayv1.K8sJobMode {
		unused = append(unused, path+".submitterPodTemplate", path+".submitterConfig")
	}
	return unused
}

// emptyJobSpec reports whether there is nothing but what the API server fills in.
func emptyJobSpec(spec *rayv1.RayJobSpec) bool {
	s := *spec
	if s.SubmissionMode == rayv1.K8sJobMode {
		s.SubmissionMode = ""
	}
	if s.BackoffLimit != nil && *s.BackoffLimit == 0 {
		s.BackoffLimit = nil
	}
	return equality.Semantic.DeepEqual(s, rayv1.RayJobSpec{})
}

// job is one RayJobSpec under test, with what rules ask about it more than once.
type job struct {
	spec *rayv1.RayJobSpec
	// meta is of the RayJob, and empty within a RayCronJob, whose metadata its jobs do not get. Never nil.
	meta    *metav1.ObjectMeta
	options Options

	// selects says that the job runs on a cluster that exists.
	selects bool
	// cluster is nil when the job does not describe one.
	cluster *cluster
}

func newJob(spec *rayv1.RayJobSpec, meta *metav1.ObjectMeta, o Options) *job {
	if meta == nil {
		meta = &metav1.ObjectMeta{}
	}
	j := &job{spec: spec, meta: meta, options: o, selects: len(spec.ClusterSelector) > 0}
	if spec.RayClusterSpec != nil {
		j.cluster = newCluster(spec.RayClusterSpec, meta, o)
		j.cluster.within = "RayJob"
		j.cluster.nameLength += addedByOwner
		j.cluster.sidecarSubmitter = spec.SubmissionMode == rayv1.SidecarMode
	}
	return j
}

func (j *job) autoscaling() bool { return j.cluster != nil && j.cluster.autoscaling }

// submits reports whether a command line of the operator submits the job.
func (j *job) submits() bool {
	return j.spec.SubmissionMode == rayv1.K8sJobMode || j.spec.SubmissionMode == rayv1.SidecarMode
}

// validateJobSpec checks a RayJobSpec wherever it stands: at spec of a RayJob, or inside a RayCronJob.
func validateJobSpec(j *job, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateJobCluster(j, path)...)
	errs = append(errs, validateSubmission(j, path)...)
	errs = append(errs, validateSubmitter(j, path)...)
	errs = append(errs, validateJobLimits(j, path)...)
	errs = append(errs, validateDeletion(j, path)...)
	errs = append(errs, validateJobPayload(j, path)...)
	if m := j.spec.ManagedBy; m != nil {
		errs = append(errs, notIn("RJ-010", path.Child("managedBy"), *m, rayv1.ManagedByKubeRayOperator, rayv1.ManagedByMultiKueue)...)
	}
	return errs
}

// warnJobSpec is validateJobSpec for what works but may surprise.
func warnJobSpec(j *job, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	warnings = append(warnings, warnJobCluster(j, path)...)
	warnings = append(warnings, warnSubmission(j, path)...)
	warnings = append(warnings, warnSubmitter(j, path)...)
	warnings = append(warnings, warnJobLimits(j, path)...)
	warnings = append(warnings, warnDeletion(j, path)...)
	warnings = append(warnings, warnJobPayload(j, path)...)
	return warnings
}
