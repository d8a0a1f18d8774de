// Package job holds the rules on a RayJobSpec, wherever one stands, and on RayJobs.
package job

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/cluster"
	"github.com/raygate/raygate/pkg/validation/internal/metadata"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var jobNames = metadata.NewNameRules(rule.RayJob, "RJ-020", rule.ByWebhookAndSpec, "RJ-021", rule.ByWebhookAndSpec, 47, "so that the name of its RayCluster stays within 53")

var rj060 = rule.New(rule.Rule{ID: "RJ-060", Kind: "RayJob", Field: "status.jobDeploymentStatus", Condition: "Waiting while submissionMode is not InteractiveMode", Peer: rule.BySpec,
	Remedy: "is reached in InteractiveMode only; the operator sets it",
	CEL: []rule.CEL{{Field: ".status.jobDeploymentStatus", OwnWords: true, Valid: "!(" + cel.Present("self", "status.jobDeploymentStatus") + ") || self.status.jobDeploymentStatus != 'Waiting' || (" + cel.Present("self", "spec.submissionMode") + " && self.spec.submissionMode == 'InteractiveMode')",
		Says: "Waiting is for InteractiveMode only; the operator sets it"}}})

// CheckStatus looks at the status of a RayJob alone.
func CheckStatus(out *rule.Report, rj *rayv1.RayJob) {
	out.When(rj.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusWaiting && rj.Spec.SubmissionMode != rayv1.InteractiveMode).Invalid(rj060, field.NewPath("status", "jobDeploymentStatus"), string(rj.Status.JobDeploymentStatus))
}

var rj066 = rule.New(rule.Rule{ID: "RJ-066", Kind: "RayJob", Field: "kind", Condition: "the batch scheduler is scheduler-plugins", Peer: rule.ByStep, Depends: "batch scheduler",
	Remedy: "the batch scheduler scheduler-plugins, which the operator runs with, cannot schedule a RayJob; use a RayCluster"})
var rj581 = rule.New(rule.Rule{ID: "RJ-581", Kind: "RayJob", Field: "spec", Condition: "absent", Peer: rule.BySpec, Remedy: "describe the job: at least entrypoint, and rayClusterSpec or clusterSelector",
	CEL: cel.SpecIsThere})

// Check looks at a RayJob alone, its status included.
func Check(out *rule.Report, rj *rayv1.RayJob, o rule.Options) {
	if !metadata.CheckObject(out, rj, &rj.ObjectMeta, jobNames, EmptyJobSpec(&rj.Spec), rj581, o) {
		return
	}
	j, path := New(&rj.Spec, &rj.ObjectMeta, o), field.NewPath("spec")
	out.When(o.Scheduler() == "scheduler-plugins").Forbidden(rj066, field.NewPath("kind"))
	CheckSpec(out, j, path)
	checkKueue(out, j, path)
	if rj.Spec.Suspend && rj.Spec.PreRunningDeadlineSeconds != nil && rj.Status.JobDeploymentStatus == rayv1.JobDeploymentStatusNew {
		out.Invalid(rj532, path.Child("preRunningDeadlineSeconds"), *rj.Spec.PreRunningDeadlineSeconds, "does not count while the job is suspended")
	}
	CheckStatus(out, rj)
}

// Unused are the parts of a RayJobSpec at the path that no child is made from: the cluster where one that exists is
// named, and the submitter where no Job submits.
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

// EmptyJobSpec reports whether there is nothing but what the API server fills in.
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

// Spec is one RayJobSpec under test, with what rules ask about it more than once.
type Spec struct {
	spec *rayv1.RayJobSpec
	// meta is of the RayJob, and empty within a RayCronJob, whose metadata its jobs do not get. Never nil.
	meta    *metav1.ObjectMeta
	options rule.Options

	// selects says that the job runs on a cluster that exists.
	selects bool
	// Cluster is nil when the job does not describe one.
	Cluster *cluster.Spec
}

// New reads a spec. The metadata are those of the RayJob; nil stands for none.
func New(spec *rayv1.RayJobSpec, meta *metav1.ObjectMeta, o rule.Options) *Spec {
	if meta == nil {
		meta = &metav1.ObjectMeta{}
	}
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

// CheckSpec looks at a RayJobSpec wherever it stands: at spec of a RayJob, or inside a RayCronJob.
func CheckSpec(out *rule.Report, j *Spec, path *field.Path) {
	checkJobCluster(out, j, path)
	checkSubmission(out, j, path)
	checkSubmitter(out, j, path)
	checkJobLimits(out, j, path)
	checkDeletion(out, j, path)
	checkJobPayload(out, j, path)
	rj010.CheckGiven(out, path.Child("managedBy"), j.spec.ManagedBy)
}
