package job

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/pkg/validation/cel"
	"github.com/raygate/raygate/pkg/validation/internal/cluster"
	"github.com/raygate/raygate/pkg/validation/internal/pods"
	"github.com/raygate/raygate/pkg/validation/internal/shell"
	"github.com/raygate/raygate/pkg/validation/rule"
)

var rj048 = rule.New(rule.Rule{ID: "RJ-048", Field: "submissionMode", Condition: "SidecarMode with clusterSelector", Peer: rule.BySpec, Reads: []string{"clusterSelector"},
	Remedy: "needs a head Pod of its own and cannot go with clusterSelector; use K8sJobMode or HTTPMode",
	CEL:    []rule.CEL{{Field: ".submissionMode", When: cel.JobInSidecar, Valid: "!" + cel.JobSelects}}})
var rj063 = rule.New(rule.Rule{ID: "RJ-063", Field: "submissionMode", Condition: "K8sJobMode with the batch scheduler kai-scheduler", Peer: rule.ByStep, Depends: "batch scheduler",
	Remedy: "is not possible with the batch scheduler kai-scheduler, which the operator runs with; use HTTPMode or SidecarMode"})
var rj501 = rule.NewEnum(rule.Rule{ID: "RJ-501", Field: "submissionMode"}, rayv1.K8sJobMode, rayv1.HTTPMode, rayv1.InteractiveMode, rayv1.SidecarMode)
var rj502 = rule.New(rule.Rule{ID: "RJ-502", Field: "entrypoint", Condition: "empty or blank, unless in InteractiveMode or with a submitter that has a command", Reads: []string{"submissionMode"},
	Remedy: "give the command to run, as in python main.py"})

// checkSubmission checks how the job is submitted to Ray, and that there is something to run.
func checkSubmission(out *rule.Report, j *Spec, path *field.Path) {
	mode, modePath, entrypoint := j.spec.SubmissionMode, path.Child("submissionMode"), path.Child("entrypoint")
	rj501.Check(out, modePath, mode)
	out.When(mode == rayv1.SidecarMode && j.selects).Invalid(rj048, modePath, string(mode))
	out.When(mode == rayv1.K8sJobMode && j.options.Scheduler() == "kai-scheduler").Invalid(rj063, modePath, string(mode))
	if mode == rayv1.InteractiveMode {
		out.When(j.spec.Entrypoint != "").Forbidden(rj503, entrypoint)
		return
	}
	// A submitter with its own command needs no entrypoint.
	submitter := cluster.RayContainer(j.spec.SubmitterPodTemplate)
	out.When(strings.TrimSpace(j.spec.Entrypoint) == "" && (submitter == nil || len(submitter.Command) == 0)).Required(rj502, entrypoint)
	switch operator, err := shell.Operator(strings.TrimSpace(j.spec.Entrypoint)); {
	case err != nil:
		out.Invalid(rj504, entrypoint, j.spec.Entrypoint, "cannot be read by a shell: "+err.Error())
	case operator != "" && j.submits():
		out.Invalid(rj504, entrypoint, j.spec.Entrypoint, "runs up to the first "+operator+" as the job, and the rest in the submitter; wrap it, as in bash -c '...'")
	}
}

var rj503 = rule.New(rule.Rule{ID: "RJ-503", Field: "entrypoint", Condition: "set in InteractiveMode", Remedy: "is ignored in InteractiveMode, where the user submits the job; remove it",
	Policies: []rule.Policy{{Parts: []rule.Part{rule.RayJob}, Field: "spec.entrypoint", Valid: "spec.?submissionMode.orValue('') != 'InteractiveMode' || spec.?entrypoint.orValue('') == ''"}}})
var rj504 = rule.New(rule.Rule{ID: "RJ-504", Field: "entrypoint", Condition: "not what a shell can read, as with a quote that is not closed; an operator of the shell outside quotes in K8sJobMode or SidecarMode"})

var rj051 = rule.New(rule.Rule{ID: "RJ-051", Field: "submitterPodTemplate", Condition: "set in SidecarMode", Peer: rule.BySpec, Reads: []string{"submissionMode"},
	Remedy: "the submitter is a container of the head Pod in SidecarMode; remove it",
	CEL:    []rule.CEL{{Field: ".submitterPodTemplate", Reason: rule.Forbidden, When: cel.JobInSidecar, Valid: "!has(self.submitterPodTemplate)"}}})
var rj511 = rule.New(rule.Rule{ID: "RJ-511", Field: "submitterConfig.backoffLimit", Condition: "below 0, in K8sJobMode", Tier: rule.Kubernetes, Remedy: "must be at least 0",
	CEL: []rule.CEL{cel.OfSubmitter(".submitterConfig.backoffLimit", "",
		"!has(self.submitterConfig.backoffLimit) || self.submitterConfig.backoffLimit >= 0",
		"must be at least 0")}})

// checkSubmitter checks the submitter of the job.
func checkSubmitter(out *rule.Report, j *Spec, path *field.Path) {
	mode, templatePath, configPath := j.spec.SubmissionMode, path.Child("submitterPodTemplate"), path.Child("submitterConfig")
	idle := mode == rayv1.HTTPMode || mode == rayv1.InteractiveMode
	if t := j.spec.SubmitterPodTemplate; t != nil {
		out.When(mode == rayv1.SidecarMode).Forbidden(rj051, templatePath)
		out.When(idle).Forbidden(rj508, templatePath, "is ignored in "+string(mode)+"; remove it, or use K8sJobMode")
		c := cluster.RayContainer(t)
		out.When(mode == rayv1.K8sJobMode && c != nil && len(c.Command) > 0 && len(c.Args) == 0).Forbidden(rj534, templatePath.Child("spec", "containers").Index(0).Child("command"))
		checkSubmitterPod(out, t, templatePath)
	}
	if c := j.spec.SubmitterConfig; c != nil {
		out.When(mode == rayv1.SidecarMode).Without(rule.GateSidecarSubmitterRestart, j.options).Forbidden(rj052, configPath)
		out.When(idle).Forbidden(rj512, configPath, "is ignored in "+string(mode)+"; remove it, or use K8sJobMode")
		rule.AtLeast(out, rj511, configPath.Child("backoffLimit"), c.BackoffLimit, 0)
	}
}

var rj052 = rule.New(rule.Rule{ID: "RJ-052", Field: "submitterConfig", Condition: "set in SidecarMode and gate SidecarSubmitterRestart off (warning where that is not known)", Peer: rule.BySpec, Mixed: true, Depends: "gate SidecarSubmitterRestart", Reads: []string{"submissionMode"},
	Remedy: "needs the feature gate SidecarSubmitterRestart in SidecarMode; remove it"})
var rj509 = rule.New(rule.Rule{ID: "RJ-509", Field: "submitterPodTemplate.spec.restartPolicy", Condition: "not Never or OnFailure, in K8sJobMode", Tier: rule.Kubernetes,
	CEL: []rule.CEL{
		cel.OfSubmitter(".submitterPodTemplate.spec.restartPolicy", rule.Required,
			"!("+cel.SubmitterRuns+") || (has(self.submitterPodTemplate.spec.restartPolicy) && self.submitterPodTemplate.spec.restartPolicy != '')",
			"set Never or OnFailure, as a Job demands"),
		cel.OfSubmitter(".submitterPodTemplate.spec.restartPolicy", "",
			"!("+cel.SubmitterRuns+") || !has(self.submitterPodTemplate.spec.restartPolicy) || self.submitterPodTemplate.spec.restartPolicy in ['', 'Never', 'OnFailure']",
			`supported values: "Never", "OnFailure"`),
	}})
var rj510 = rule.New(rule.Rule{ID: "RJ-510", Field: "submitterPodTemplate.spec.containers", Condition: "empty, in K8sJobMode", Tier: rule.Kubernetes,
	Remedy: "give at least one container; the first submits the job",
	CEL: []rule.CEL{cel.OfSubmitter(".submitterPodTemplate.spec.containers", rule.Required,
		cel.SubmitterRuns,
		"give at least one container; the first submits the job")}})

func checkSubmitterPod(out *rule.Report, t *corev1.PodTemplateSpec, path *field.Path) {
	pods.Template{PodTemplateSpec: t, Volumes: []string{rayv1.VolumeRayToken}}.Check(out, path)
	path = path.Child("spec")
	restartPath := path.Child("restartPolicy")
	switch policy := t.Spec.RestartPolicy; {
	case len(t.Spec.Containers) == 0:
		out.Required(rj510, path.Child("containers"))
	case policy == "":
		out.Required(rj509, restartPath, "set Never or OnFailure, as a Job demands")
	default:
		rule.OneOf(out, rj509, restartPath, policy, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure)
	}
}

var rj508 = rule.New(rule.Rule{ID: "RJ-508", Field: "submitterPodTemplate", Condition: "set in HTTPMode or InteractiveMode"})
var rj512 = rule.New(rule.Rule{ID: "RJ-512", Field: "submitterConfig", Condition: "set in HTTPMode or InteractiveMode"})
var rj534 = rule.New(rule.Rule{ID: "RJ-534", Field: "submitterPodTemplate.spec.containers[0].command", Condition: "set without args in K8sJobMode",
	Remedy: "replaces the submission of the operator; submit with the id in RAY_JOB_SUBMISSION_ID, or the job is never seen"})
var rj007 = rule.New(rule.Rule{ID: "RJ-007", Field: "preRunningDeadlineSeconds", Condition: "below 1", Peer: rule.BySchemaAndSpec, Same: []string{"RJ-058"}, Remedy: "must be above 0",
	Marker: rule.InSchema})
var rj022 = rule.New(rule.Rule{ID: "RJ-022", Field: "suspend", Condition: "true without shutdownAfterJobFinishes", Peer: rule.BySpec, Reads: []string{"shutdownAfterJobFinishes"},
	Remedy: "needs shutdownAfterJobFinishes: true",
	CEL:    []rule.CEL{{Field: ".suspend", When: cel.JobSuspended, Valid: cel.JobShutsDown}}})
var rj045 = rule.New(rule.Rule{ID: "RJ-045", Field: "suspend", Condition: "true with clusterSelector", Peer: rule.BySpec, Reads: []string{"clusterSelector"},
	Remedy: "cannot go with clusterSelector, whose cluster belongs to someone else",
	CEL:    []rule.CEL{{Field: ".suspend", When: cel.JobSuspended, Valid: "!" + cel.JobSelects}}})
var rj049 = rule.New(rule.Rule{ID: "RJ-049", Field: "backoffLimit", Condition: "above 0 with clusterSelector", Peer: rule.BySpec, Reads: []string{"clusterSelector"},
	Remedy: "must be 0 with clusterSelector, since each try takes a new cluster",
	CEL:    []rule.CEL{{Field: ".backoffLimit", When: cel.JobSelects, Valid: "!has(self.backoffLimit) || self.backoffLimit <= 0"}}})
var rj050 = rule.New(rule.Rule{ID: "RJ-050", Field: "backoffLimit", Condition: "above 0 in InteractiveMode", Peer: rule.BySpec, Reads: []string{"submissionMode"},
	Remedy: "must be 0 in InteractiveMode, where the user submits the job",
	CEL:    []rule.CEL{{Field: ".backoffLimit", When: cel.JobInteractive, Valid: "!has(self.backoffLimit) || self.backoffLimit <= 0"}}})
var rj057 = rule.New(rule.Rule{ID: "RJ-057", Field: "activeDeadlineSeconds", Condition: "below 1", Peer: rule.BySpec, Remedy: "must be above 0",
	CEL: []rule.CEL{cel.AtLeast("activeDeadlineSeconds", "1", "must be above 0")}})
var rj059 = rule.New(rule.Rule{ID: "RJ-059", Field: "backoffLimit", Condition: "below 0", Peer: rule.BySpec, Remedy: "must be at least 0",
	CEL: []rule.CEL{cel.AtLeast("backoffLimit", "0", "must be at least 0")}})

// checkJobLimits checks retries and deadlines.
func checkJobLimits(out *rule.Report, j *Spec, path *field.Path) {
	suspendPath, backoffPath := path.Child("suspend"), path.Child("backoffLimit")
	out.When(j.spec.Suspend && !j.spec.ShutdownAfterJobFinishes).Invalid(rj022, suspendPath, true)
	out.When(j.spec.Suspend && j.selects).Invalid(rj045, suspendPath, true)
	rule.AtLeast(out, rj059, backoffPath, j.spec.BackoffLimit, 0)
	retries := ptr.Deref(j.spec.BackoffLimit, 0)
	out.When(retries > 0 && j.selects).Invalid(rj049, backoffPath, retries)
	out.When(retries > 0 && j.spec.SubmissionMode == rayv1.InteractiveMode).Invalid(rj050, backoffPath, retries)
	rule.AtLeast(out, rj057, path.Child("activeDeadlineSeconds"), j.spec.ActiveDeadlineSeconds, 1)
	if d, path := j.spec.PreRunningDeadlineSeconds, path.Child("preRunningDeadlineSeconds"); d != nil {
		rule.AtLeast(out, rj007, path, d, 1)
		out.When(*d > ptr.Deref(j.spec.ActiveDeadlineSeconds, math.MaxInt32)).Invalid(rj531, path, *d)
		out.When(j.selects).Invalid(rj532, path, *d, "makes little sense with clusterSelector, whose cluster runs already")
	}
}

const notRetryOn = "is not understood, so that each attempt gets a new cluster; use SameCluster or NewCluster"

var (
	rj538 = rule.New(rule.Rule{ID: "RJ-538", Kind: "RayJob", Field: "metadata.annotations[raygate.io/retry-on]",
		Condition: "neither SameCluster nor NewCluster", Remedy: notRetryOn,
		Policies: []rule.Policy{{Field: "metadata.annotations[raygate.io/retry-on]", Says: notRetryOn,
			Valid: "!('raygate.io/retry-on' in annotations) || annotations['raygate.io/retry-on'] in ['SameCluster', 'NewCluster']"}}})
	rj539 = rule.New(rule.Rule{ID: "RJ-539", Kind: "RayJob", Field: "metadata.annotations[raygate.io/retry-on]",
		Condition: "SameCluster without backoffLimit, in SidecarMode, or with jobId",
		Remedy:    "has no effect without a backoffLimit above 0, in SidecarMode, and with jobId"})
)

// checkRetryOn checks where retries run. A RayCronJob cannot tell it.
func checkRetryOn(out *rule.Report, rj *rayv1.RayJob) {
	text, set := rj.Annotations[rayv1.AnnotationRetryOn]
	path := field.NewPath("metadata", "annotations").Key(rayv1.AnnotationRetryOn)
	switch rayv1.RetryOn(text) {
	case rayv1.RetryOnNewCluster:
	case rayv1.RetryOnSameCluster:
		useless := ptr.Deref(rj.Spec.BackoffLimit, 0) <= 0 || rj.Spec.SubmissionMode == rayv1.SidecarMode || rj.Spec.JobId != ""
		out.When(useless).Invalid(rj539, path, text)
	default:
		out.When(set).Invalid(rj538, path, text)
	}
}

var rj540 = rule.New(rule.Rule{ID: "RJ-540", Kind: "RayJob", Field: "metadata.annotations: idle-timeout, max-age, suspend-schedule",
	Condition: "set in another mode than InteractiveMode, or with clusterSelector",
	Remedy:    "has no effect except on the own cluster of a RayJob in InteractiveMode; use activeDeadlineSeconds and shutdownAfterJobFinishes"})

// checkExpiry reports limits for a cluster that ends with its job, or that is not the job's own.
func checkExpiry(out *rule.Report, rj *rayv1.RayJob) {
	if rj.Spec.SubmissionMode == rayv1.InteractiveMode && len(rj.Spec.ClusterSelector) == 0 {
		return
	}
	for _, key := range []string{rayv1.AnnotationIdleTimeout, rayv1.AnnotationMaxAge, rayv1.AnnotationSuspendSchedule} {
		if text, set := rj.Annotations[key]; set {
			out.Invalid(rj540, field.NewPath("metadata", "annotations").Key(key), text)
		}
	}
}

var rj531 = rule.New(rule.Rule{ID: "RJ-531", Field: "preRunningDeadlineSeconds", Condition: "above activeDeadlineSeconds",
	Remedy: "can never pass, since it is above activeDeadlineSeconds; lower it, or remove it"})
var rj532 = rule.New(rule.Rule{ID: "RJ-532", Field: "preRunningDeadlineSeconds", Condition: "set with clusterSelector, or on a new job with suspend"})
