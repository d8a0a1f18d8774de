package validation

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// validateSubmission checks how the job reaches Ray, and that there is something to run.
func validateSubmission(j *job, path *field.Path) field.ErrorList {
	mode, modePath := j.spec.SubmissionMode, path.Child("submissionMode")
	errs := notIn("RJ-501", modePath, mode, rayv1.K8sJobMode, rayv1.HTTPMode, rayv1.InteractiveMode, rayv1.SidecarMode)
	if mode == rayv1.SidecarMode && j.selects {
		errs = append(errs, invalid("RJ-048", modePath, string(mode), "needs a head Pod of its own and cannot go with clusterSelector; use K8sJobMode or HTTPMode"))
	}
	if mode == rayv1.K8sJobMode && j.options.scheduler() == "kai-scheduler" {
		errs = append(errs, invalid("RJ-063", modePath, string(mode), "is not possible with the batch scheduler kai-scheduler, which the operator runs with; use HTTPMode or SidecarMode"))
	}
	if mode != rayv1.InteractiveMode && strings.TrimSpace(j.spec.Entrypoint) == "" && !submitsByItself(j.spec.SubmitterPodTemplate) {
		errs = append(errs, required("RJ-502", path.Child("entrypoint"), "give the command to run, as in python main.py"))
	}
	return errs
}

// submitsByItself reports whether the user's own submitter has a command, which then knows what to run.
func submitsByItself(t *corev1.PodTemplateSpec) bool {
	if t == nil {
		return false
	}
	c := rayContainer(t)
	return c != nil && len(c.Command) > 0
}

func warnSubmission(j *job, path *field.Path) field.ErrorList {
	var warnings field.ErrorList
	if j.spec.SubmissionMode == rayv1.InteractiveMode {
		if j.spec.Entrypoint != "" {
			warnings = append(warnings, forbidden("RJ-503", path.Child("entrypoint"), "is ignored in InteractiveMode, where the user submits the job; remove it"))
		}
		return warnings
	}
	switch operator, closed := shellOperator(strings.TrimSpace(j.spec.Entrypoint)); {
	case !closed:
		warnings = append(warnings, invalid("RJ-504", path.Child("entrypoint"), clipped(j.spec.Entrypoint), "has a quote that is not closed; close it"))
	case operator != "" && j.submits():
		warnings = append(warnings, invalid("RJ-504", path.Child("entrypoint"), clipped(j.spec.Entrypoint),
			"runs up to the first "+operator+" as the job, and the rest in the submitter; wrap it, as in bash -c '...'"))
	}
	return warnings
}

// shellOperator finds the first operator of a shell outside quotes, in words, and whether all quotes are closed.
func shellOperator(text string) (operator string, closed bool) {
	openQuote, _ := readShell(text, func(r rune) {
		switch {
		case operator != "":
		case r == '\n':
			operator = "line break"
		case strings.ContainsRune(";&|<>", r):
			operator = string(r)
		}
	})
	return operator, !openQuote
}

// validateSubmitter checks what submits the job.
func validateSubmitter(j *job, path *field.Path) field.ErrorList {
	sidecar := j.spec.SubmissionMode == rayv1.SidecarMode
	templatePath, configPath := path.Child("submitterPodTemplate"), path.Child("submitterConfig")
	var errs field.ErrorList
	if t := j.spec.SubmitterPodTemplate; t != nil {
		if sidecar {
			errs = append(errs, forbidden("RJ-051", templatePath, "the submitter is a container of the head Pod in SidecarMode; remove it"))
		}
		errs = append(errs, validateSubmitterPod(t, templatePath.Child("spec"))...)
	}
	if c := j.spec.SubmitterConfig; c != nil {
		if sidecar {
			errs = append(errs, j.options.needs(GateSidecarSubmitterRestart, needsSubmitterRestart(configPath))...)
		}
		if c.BackoffLimit != nil && *c.BackoffLimit < 0 {
			errs = append(errs, invalid("RJ-511", configPath.Child("backoffLimit"), *c.BackoffLimit, "must be at least 0"))
		}
	}
	return errs
}

func needsSubmitterRestart(path *field.Path) *field.Error {
	return forbidden("RJ-052", path, "needs the feature gate "+string(GateSidecarSubmitterRestart)+" in SidecarMode; remove it")
}

func validateSubmitterPod(t *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	errs := validateSubmitterLists(&t.Spec, path)
	restartPath := path.Child("restartPolicy")
	switch policy := t.Spec.RestartPolicy; {
	case len(t.Spec.Containers) == 0:
		errs = append(errs, required("RJ-510", path.Child("containers"), "give at least one container; the first submits the job"))
	case policy == "":
		errs = append(errs, required("RJ-509", restartPath, "set Never or OnFailure, as a Job demands"))
	default:
		errs = append(errs, notIn("RJ-509", restartPath, policy, corev1.RestartPolicyNever, corev1.RestartPolicyOnFailure)...)
	}
	return errs
}

func validateSubmitterLists(spec *corev1.PodSpec, path *field.Path) field.ErrorList {
	errs := validatePodLists(spec, path)
	for _, list := range []struct {
		name       string
		containers []corev1.Container
	}{{"containers", spec.Containers}, {"initContainers", spec.InitContainers}} {
		errs = append(errs, repeats("RC-017", path, list.name, list.containers, containerName, "name", ownName)...)
		for i := range list.containers {
			errs = append(errs, validateContainerLists(&list.containers[i], path.Child(list.name).Index(i))...)
		}
	}
	return errs
}

func warnSubmitter(j *job, path *field.Path) field.ErrorList {
	mode := j.spec.SubmissionMode
	idle := mode == rayv1.HTTPMode || mode == rayv1.InteractiveMode
	var warnings field.ErrorList
	if t := j.spec.SubmitterPodTemplate; t != nil {
		templatePath := path.Child("submitterPodTemplate")
		if idle {
			warnings = append(warnings, forbidden("RJ-508", templatePath, "is ignored in "+string(mode)+"; remove it, or use K8sJobMode"))
		}
		if c := rayContainer(t); mode == rayv1.K8sJobMode && c != nil && len(c.Command) > 0 && len(c.Args) == 0 {
			warnings = append(warnings, forbidden("RJ-534", templatePath.Child("spec", "containers").Index(0).Child("command"),
				"replaces the submission of the operator; submit with the id in RAY_JOB_SUBMISSION_ID, or the job is never seen"))
		}
	}
	if j.spec.SubmitterConfig != nil && mode == rayv1.SidecarMode {
		warnings = append(warnings, j.options.mayNeed(GateSidecarSubmitterRestart, needsSubmitterRestart(path.Child("submitterConfig")))...)
	}
	if j.spec.SubmitterConfig != nil && idle {
		warnings = append(warnings, forbidden("RJ-512", path.Child("submitterConfig"), "is ignored in "+string(mode)+"; remove it, or use K8sJobMode"))
	}
	return warnings
}

// validateJobLimits checks retries and deadlines.
func validateJobLimits(j *job, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	suspendPath, backoffPath := path.Child("suspend"), path.Child("backoffLimit")
	if j.spec.Suspend && !j.spec.ShutdownAfterJobFinishes {
		errs = append(errs, invalid("RJ-022", suspendPath, true, "needs shutdownAfterJobFinishes: true"))
	}
	if j.spec.Suspend && j.selects {
		errs = append(errs, invalid("RJ-045", suspendPath, true, "cannot go with clusterSelector, whose cluster belongs to someone else"))
	}
	if b := j.spec.BackoffLimit; b != nil {
		switch {
		case *b < 0:
			errs = append(errs, invalid("RJ-059", backoffPath, *b, "must be at least 0"))
		case *b > 0 && j.selects:
			errs = append(errs, invalid("RJ-049", backoffPath, *b, "must be 0 with clusterSelector, since each try takes a new cluster"))
		}
		if *b > 0 && j.spec.SubmissionMode == rayv1.InteractiveMode {
			errs = append(errs, invalid("RJ-050", backoffPath, *b, "must be 0 in InteractiveMode, where the user submits the job"))
		}
	}
	if d := j.spec.ActiveDeadlineSeconds; d != nil && *d <= 0 {
		errs = append(errs, invalid("RJ-057", path.Child("activeDeadlineSeconds"), *d, "must be above 0"))
	}
	if d := j.spec.PreRunningDeadlineSeconds; d != nil && *d <= 0 {
		errs = append(errs, invalid("RJ-007", path.Child("preRunningDeadlineSeconds"), *d, "must be above 0"))
	}
	return errs
}

func warnJobLimits(j *job, path *field.Path) field.ErrorList {
	d := j.spec.PreRunningDeadlineSeconds
	if d == nil {
		return nil
	}
	path = path.Child("preRunningDeadlineSeconds")
	var warnings field.ErrorList
	if a := j.spec.ActiveDeadlineSeconds; a != nil && *d > *a {
		warnings = append(warnings, invalid("RJ-531", path, *d, "can never pass, since it is above activeDeadlineSeconds; lower it, or remove it"))
	}
	if j.selects {
		warnings = append(warnings, invalid("RJ-532", path, *d, "makes little sense with clusterSelector, whose cluster runs already"))
	}
	return warnings
}
