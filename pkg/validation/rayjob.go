package validation

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rj020 = rule.New(rule.Rule{ID: "RJ-020", Kind: "RayJob", Field: "metadata.name", Condition: "longer than 47", Peer: rule.ByWebhookAndSpec,
	CEL: []rule.CEL{cel.NameLength(rule.RayJob, "47", "so that the name of its RayCluster stays within 53")}})
var rj021 = rule.New(rule.Rule{ID: "RJ-021", Kind: "RayJob", Field: "metadata.name", Condition: "not a DNS-1035 label", Peer: rule.ByWebhookAndSpec,
	CEL: []rule.CEL{cel.NameForm(rule.RayJob)}})

var jobNameRules = nameRules{
	tooLong: rj020, malformed: rj021, maxLength: 47,
	why: "so that the name of its RayCluster stays within 53",
}

var rj060 = rule.New(rule.Rule{ID: "RJ-060", Kind: "RayJob", Field: "status.jobDeploymentStatus", Condition: "Waiting while submissionMode is not InteractiveMode", Peer: rule.BySpec,
	Remedy: "is reached in InteractiveMode only; the operator sets it",
	CEL: []rule.CEL{{Field: ".status.jobDeploymentStatus", OwnWords: true, Valid: "!(" + cel.Present("self", "status.jobDeploymentStatus") + ") || self.status.jobDeploymentStatus != 'Waiting' || (" + cel.Present("self", "spec.submissionMode") + " && self.spec.submissionMode == 'InteractiveMode')",
		Says: "Waiting is for InteractiveMode only; the operator sets it"}}})

func jobStatus(out *rule.Report, rj *rayv1.RayJob) {
	if rj.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusWaiting && rj.Spec.SubmissionMode != rayv1.InteractiveMode {
		out.Invalid(rj060, field.NewPath("status", "jobDeploymentStatus"), string(rj.Status.JobDeploymentStatus))
	}
}

var rj066 = rule.New(rule.Rule{ID: "RJ-066", Kind: "RayJob", Field: "kind", Condition: "the batch scheduler is scheduler-plugins", Peer: rule.ByStep, Depends: "batch scheduler",
	Remedy: "the batch scheduler scheduler-plugins, which the operator runs with, cannot schedule a RayJob; use a RayCluster"})
var rj581 = rule.New(rule.Rule{ID: "RJ-581", Kind: "RayJob", Field: "spec", Condition: "absent", Peer: rule.BySpec, Remedy: "describe the job: at least entrypoint, and rayClusterSpec or clusterSelector",
	CEL: []rule.CEL{cel.SpecIsThere(rule.RayJob, cel.JobDescription)}})

func checkJob(out *rule.Report, rj *rayv1.RayJob, o Options) {
	path, metaPath := field.NewPath("spec"), field.NewPath("metadata")
	checkName(out, &rj.ObjectMeta, jobNameRules)
	if emptyJobSpec(&rj.Spec) {
		checkSchedulerLabels(out, rj.Labels, o, metaPath.Child("labels"))
		out.Required(rj581, path)
		return
	}
	j := newJob(&rj.Spec, &rj.ObjectMeta, o)
	checkMetadata(out, j.meta, o, metaPath)
	if o.Scheduler() == "scheduler-plugins" {
		out.Forbidden(rj066, field.NewPath("kind"))
	}
	checkJobSpec(out, j, path)
	checkKueue(out, j, path)
	if rj.Spec.Suspend && rj.Spec.PreRunningDeadlineSeconds != nil && rj.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusNew {
		out.Invalid(rj532, path.Child("preRunningDeadlineSeconds"), *rj.Spec.PreRunningDeadlineSeconds, "does not count while the job is suspended")
	}
	checkObjectSize(out, rj)
	jobStatus(out, rj)
}

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

var rj010 = rule.New(rule.Rule{ID: "RJ-010", Field: "managedBy", Condition: "not ray.io/kuberay-operator or kueue.x-k8s.io/multikueue", Peer: rule.BySchema,
	Marker: rule.InCEL})

// checkJobSpec looks at a RayJobSpec wherever it stands: at spec of a RayJob, or inside a RayCronJob.
func checkJobSpec(out *rule.Report, j *job, path *field.Path) {
	checkJobCluster(out, j, path)
	checkSubmission(out, j, path)
	checkSubmitter(out, j, path)
	checkJobLimits(out, j, path)
	checkDeletion(out, j, path)
	checkJobPayload(out, j, path)
	if m := j.spec.ManagedBy; m != nil {
		rule.OneOf(out, rj010, path.Child("managedBy"), *m, rayv1.ManagedByKubeRayOperator, rayv1.ManagedByMultiKueue)
	}
}
