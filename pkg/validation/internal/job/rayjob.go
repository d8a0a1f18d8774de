// Package job has the rules on a RayJobSpec, in any kind of object, and on RayJobs.
package job

import (
	"cmp"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/cluster"
	"github.com/raygate/raygate/pkg/validation/internal/jsonfield"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var jobNames = metadata.NewNameRules(metadata.Names{Kind: rule.RayJob, TooLong: "RJ-020", Malformed: "RJ-021", LengthBy: rule.ByWebhookAndSpec, FormBy: rule.ByWebhookAndSpec,
	Max: 47, Why: "so that the name of its RayCluster stays within 53"})

var rj060 = rule.New(rule.Rule{ID: "RJ-060", Kind: "RayJob", Field: "status.jobDeploymentStatus", Condition: "Waiting while submissionMode is not InteractiveMode", Peer: rule.BySpec,
	Remedy: "is reached in InteractiveMode only; the operator sets it",
	CEL: []rule.CEL{{Field: ".status.jobDeploymentStatus", OwnWords: true, Valid: "self.?status.?jobDeploymentStatus.orValue('') != 'Waiting' || (" + cel.Present("self", "spec.submissionMode") + " && self.spec.submissionMode == 'InteractiveMode')",
		Says: "Waiting is for InteractiveMode only; the operator sets it"}}})

// CheckStatus checks only the status of a RayJob.
func CheckStatus(out *rule.Report, rj *rayv1.RayJob) {
	out.When(rj.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusWaiting && rj.Spec.SubmissionMode != rayv1.InteractiveMode).Invalid(rj060, field.NewPath("status", "jobDeploymentStatus"), string(rj.Status.JobDeploymentStatus))
}

var rj066 = rule.New(rule.Rule{ID: "RJ-066", Kind: "RayJob", Field: "kind", Condition: "the batch scheduler is scheduler-plugins", Peer: rule.ByStep, Depends: "batch scheduler",
	Remedy: "the batch scheduler scheduler-plugins, which the operator runs with, cannot schedule a RayJob; use a RayCluster"})
var rj581 = rule.New(rule.Rule{ID: "RJ-581", Kind: "RayJob", Field: "spec", Condition: "absent", Peer: rule.BySpec, Remedy: "describe the job: at least entrypoint, and rayClusterSpec or clusterSelector",
	CEL: cel.SpecIsThere})
var jobRules = metadata.ObjectRules{Names: jobNames, Absent: rj581}

// Check checks a single RayJob, including its status.
func Check(out *rule.Report, rj *rayv1.RayJob, o rule.Options) {
	if !jobRules.Check(out, rj, &rj.ObjectMeta, EmptyJobSpec(&rj.Spec), o) {
		return
	}
	j, path := New(&rj.Spec, &rj.ObjectMeta, o), field.NewPath("spec")
	out.When(o.Scheduler() == "scheduler-plugins").Forbidden(rj066, field.NewPath("kind"))
	CheckSpec(out, j, path)
	checkKueue(out, j, path)
	checkRetryOn(out, rj)
	checkExpiry(out, rj)
	if rj.Spec.Suspend && rj.Spec.PreRunningDeadlineSeconds != nil && rj.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusNew {
		out.Invalid(rj532, path.Child("preRunningDeadlineSeconds"), *rj.Spec.PreRunningDeadlineSeconds, "does not count while the job is suspended")
	}
	CheckStatus(out, rj)
}

// Unused are the parts of a RayJobSpec at the path that no child is made from: the cluster if an existing one is selected, and the
// submitter if no Job submits.
func Unused(spec *rayv1.RayJobSpec, path string) []string {
	var unused []string
	switch {
	case len(spec.ClusterSelector) > 0:
		unused = append(unused, path+".rayClusterSpec")
	case spec.RayClusterSpec != nil:
		unused = cluster.GroupsWithoutPods(spec.RayClusterSpec, path+".rayClusterSpec")
	}
	if spec.SubmissionMode != "" && spec.SubmissionMode != rayv1.K8sJobMode {
		unused = append(unused, path+".submitterPodTemplate", path+".submitterConfig")
	}
	return unused
}

// EmptyJobSpec reports whether the spec has only defaults of the API server.
func EmptyJobSpec(spec *rayv1.RayJobSpec) bool {
	s := *spec
	if s.SubmissionMode == rayv1.K8sJobMode {
		s.SubmissionMode = ""
	}
	if s.BackoffLimit != nil && *s.BackoffLimit == 0 {
		s.BackoffLimit = nil
	}
	return equality.Semantic.DeepEqual(s, rayv1.RayJobSpec{})
}

// Spec is one RayJobSpec under validation, with values that several rules need.
type Spec struct {
	spec *rayv1.RayJobSpec
	// meta is the metadata of the RayJob. It is empty in a RayCronJob, whose jobs do not inherit its metadata. It is never nil.
	meta    *metav1.ObjectMeta
	options rule.Options

	// selects means that the job runs on an existing cluster.
	selects bool
	// Cluster is nil when the job does not describe one.
	Cluster *cluster.Spec
}

// New reads a spec. meta is the metadata of the RayJob; nil means none.
func New(spec *rayv1.RayJobSpec, meta *metav1.ObjectMeta, o rule.Options) *Spec {
	meta = cmp.Or(meta, &metav1.ObjectMeta{})
	j := &Spec{spec: spec, meta: meta, options: o, selects: len(spec.ClusterSelector) > 0}
	if spec.RayClusterSpec != nil {
		j.Cluster = cluster.New(spec.RayClusterSpec, meta, o)
		j.Cluster.Within = "RayJob"
		j.Cluster.NameLength += cluster.AddedByOwner
		j.Cluster.SidecarSubmitter = spec.SubmissionMode == rayv1.SidecarMode
	}
	return j
}

func (j *Spec) autoscaling() bool { return j.Cluster != nil && j.Cluster.Autoscaling }

// submits reports whether a command line of the operator submits the job.
func (j *Spec) submits() bool {
	return j.spec.SubmissionMode == rayv1.K8sJobMode || j.spec.SubmissionMode == rayv1.SidecarMode
}

var rj010 = rule.NewEnum(rule.Rule{ID: "RJ-010", Field: "managedBy", Peer: rule.BySchema, Marker: rule.InCEL}, rayv1.ManagedByKubeRayOperator, rayv1.ManagedByMultiKueue)

// CheckSpec checks a RayJobSpec in any place: the spec of a RayJob, or inside a RayCronJob.
func CheckSpec(out *rule.Report, j *Spec, path *field.Path) {
	checkJobCluster(out, j, path)
	checkSubmission(out, j, path)
	checkSubmitter(out, j, path)
	checkJobLimits(out, j, path)
	checkDeletion(out, j, path)
	checkJobPayload(out, j, path)
	rj010.CheckGiven(out, path.Child("managedBy"), j.spec.ManagedBy)
}

var rj524 = rule.New(rule.Rule{ID: "RJ-524", Kind: "RayJob", Field: "spec.submissionMode", Condition: "changed while the job is in another state than new, Suspended, ValidationFailed or over", Transition: true})

// CheckTransition also reports changes that come too late.
func CheckTransition(out *rule.Report, rj, old *rayv1.RayJob, o rule.Options) {
	path, state := field.NewPath("spec"), old.Status.JobDeploymentStatus
	CheckSpecTransition(out, &rj.Spec, &old.Spec, path)
	if rj.Spec.SubmissionMode != old.Spec.SubmissionMode {
		switch state {
		case rayv1.JobDeploymentStatusNew, rayv1.JobDeploymentStatusSuspended, rayv1.JobDeploymentStatusValidationFailed:
		case rayv1.JobDeploymentStatusComplete, rayv1.JobDeploymentStatusFailed: // RJ-527 reports that changes have no effect
		default:
			out.Invalid(rj524, path.Child("submissionMode"), string(rj.Spec.SubmissionMode), "is changed from "+rule.Clipped(string(old.Spec.SubmissionMode))+" while the job is "+rule.Clipped(string(state))+", which may leave it without a submitter; suspend the job first, or make a new one")
		}
	}
	if rj.Spec.Suspend && !old.Spec.Suspend && (state == rayv1.JobDeploymentStatusWaiting || state.IsTerminal()) {
		out.Invalid(rj520, path.Child("suspend"), true, "is ignored while the job is "+string(state)+", where nothing is left to stop but the cluster; delete the job instead")
	}
	checkLateChanges(out, rj, old, path)
	metadata.CheckLostFields(out, rj, old, o)
}

func checkLateChanges(out *rule.Report, rj, old *rayv1.RayJob, path *field.Path) {
	state := old.Status.JobDeploymentStatus
	for _, name := range jsonfield.Changed(&rj.Spec, &old.Spec) {
		p := path.Child(name)
		switch {
		case state.IsTerminal():
			out.When(!deletionFields.Has(name)).Forbidden(rj527, p)
		case name == "rayClusterSpec" || name == "clusterSelector":
			out.When(old.Status.RayClusterName != "" && !onlyGroupSuspend(&rj.Spec, &old.Spec, name)).Forbidden(rj525, p)
		case submittedFields.Has(name):
			out.When(state == rayv1.JobDeploymentStatusRunning).Forbidden(rj526, p)
		case name == "jobId":
			checkJobIDChange(out, rj, state, p)
		}
	}
}

var rj009 = rule.New(rule.Rule{ID: "RJ-009", Field: "managedBy", Condition: "old and new both set and different", Peer: rule.BySchema, Transition: true,
	Marker: rule.InCEL})

// CheckSpecTransition has the rules of a RayJobSpec that need its old value.
func CheckSpecTransition(out *rule.Report, spec, old *rayv1.RayJobSpec, path *field.Path) {
	cluster.CheckManagerKept(out, rj009, spec.ManagedBy, old.ManagedBy, path.Child("managedBy"))
	if spec.RayClusterSpec != nil && old.RayClusterSpec != nil {
		cluster.CheckSpecTransition(out, spec.RayClusterSpec, old.RayClusterSpec, path.Child("rayClusterSpec"))
	}
}

// deletionFields are the fields with an effect after the end of a job, and those that other rules check.
var deletionFields = sets.New("shutdownAfterJobFinishes", "ttlSecondsAfterFinished", "deletionStrategy", "suspend", "managedBy")

// submittedFields are the fields that Ray received when the job was submitted.
var submittedFields = sets.New("entrypoint", "runtimeEnvYAML", "metadata", "entrypointNumCpus", "entrypointNumGpus", "entrypointResources", "submitterPodTemplate")

var rj520 = rule.New(rule.Rule{ID: "RJ-520", Kind: "RayJob", Field: "spec.suspend", Condition: "set to true while the job is Waiting, Complete or Failed", Transition: true})
var rj525 = rule.New(rule.Rule{ID: "RJ-525", Kind: "RayJob", Field: "spec.rayClusterSpec, spec.clusterSelector", Condition: "changed while the run has a cluster, but for suspend of worker groups", Transition: true,
	Remedy: "has no effect on the cluster of this run; suspend and resume the job to get a new one"})
var rj526 = rule.New(rule.Rule{ID: "RJ-526", Kind: "RayJob", Field: "spec.entrypoint, .runtimeEnvYAML, .metadata, .entrypoint*, .submitterPodTemplate", Condition: "changed after the job was submitted", Transition: true,
	Remedy: "has no effect, since the job was submitted; make a new one"})
var rj527 = rule.New(rule.Rule{ID: "RJ-527", Kind: "RayJob", Field: "any field of spec but those for deletion", Condition: "changed after the job is over", Transition: true,
	Remedy: "has no effect, since the job is over; make a new one"})
var rj518 = rule.New(rule.Rule{ID: "RJ-518", Kind: "RayJob", Field: "spec.jobId", Condition: "changed after the job was submitted, or set before an interactive job is Waiting", Transition: true})

func checkJobIDChange(out *rule.Report, rj *rayv1.RayJob, state rayv1.JobDeploymentStatus, path *field.Path) {
	switch {
	case state == rayv1.JobDeploymentStatusRunning:
		out.Invalid(rj518, path, rj.Spec.JobId, "has no effect, since the job was submitted; make a new one")
	case rj.Spec.SubmissionMode == rayv1.InteractiveMode && rj.Spec.JobId != "" &&
		(state == rayv1.JobDeploymentStatusNew || state == rayv1.JobDeploymentStatusInitializing):
		out.Invalid(rj518, path, rj.Spec.JobId, "is set before the job is Waiting; submit the job of this id as soon as the cluster is ready")
	}
}

// onlyGroupSuspend reports whether nothing but suspend of worker groups changed, which the deletion policies do.
func onlyGroupSuspend(spec, old *rayv1.RayJobSpec, name string) bool {
	if name != "rayClusterSpec" || spec.RayClusterSpec == nil || old.RayClusterSpec == nil {
		return false
	}
	aside := func(g *rayv1.WorkerGroupSpec) { g.Suspend = nil }
	return equality.Semantic.DeepEqual(cluster.WithGroups(spec.RayClusterSpec, aside), cluster.WithGroups(old.RayClusterSpec, aside))
}
