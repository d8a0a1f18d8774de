package validation

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

func jobTransitions(rj, old *rayv1.RayJob, _ Options) field.ErrorList {
	path := field.NewPath("spec")
	errs := validateJobSpecTransition(&rj.Spec, &old.Spec, path)
	if rj.Spec.SubmissionMode != old.Spec.SubmissionMode {
		switch state := old.Status.JobDeploymentStatus; state {
		case rayv1.JobDeploymentStatusNew, rayv1.JobDeploymentStatusSuspended, rayv1.JobDeploymentStatusValidationFailed:
		case rayv1.JobDeploymentStatusComplete, rayv1.JobDeploymentStatusFailed: // RJ-527 says that nothing has an effect
		default:
			errs = append(errs, invalid("RJ-524", path.Child("submissionMode"), string(rj.Spec.SubmissionMode),
				"is changed from "+clipped(string(old.Spec.SubmissionMode))+" while the job is "+clipped(string(state))+", which may leave it without a submitter; suspend the job first, or make a new one"))
		}
	}
	return errs
}

// validateJobSpecTransition holds the rules of a RayJobSpec that need its old value.
func validateJobSpecTransition(spec, old *rayv1.RayJobSpec, path *field.Path) field.ErrorList {
	errs := validateManagerKept("RJ-009", spec.ManagedBy, old.ManagedBy, path.Child("managedBy"))
	if spec.RayClusterSpec != nil && old.RayClusterSpec != nil {
		errs = append(errs, validateTransition(spec.RayClusterSpec, old.RayClusterSpec, path.Child("rayClusterSpec"))...)
	}
	return errs
}

// deletionFields are those that count after the end of a job, and those that other rules speak of.
var deletionFields = paramSet("shutdownAfterJobFinishes", "ttlSecondsAfterFinished", "deletionStrategy", "suspend", "managedBy")

// submittedFields are those that Ray got when the job was submitted.
var submittedFields = paramSet("entrypoint", "runtimeEnvYAML", "metadata", "entrypointNumCpus", "entrypointNumGpus", "entrypointResources", "submitterPodTemplate")

// jobChanges tells of changes that come too late.
func jobChanges(rj, old *rayv1.RayJob, o Options) field.ErrorList {
	path, state := field.NewPath("spec"), old.Status.JobDeploymentStatus
	var warnings field.ErrorList
	if rj.Spec.Suspend && !old.Spec.Suspend && (state == rayv1.JobDeploymentStatusWaiting || state.IsTerminal()) {
		warnings = append(warnings, invalid("RJ-520", path.Child("suspend"), true, "is ignored while the job is "+string(state)+", where nothing is left to stop but the cluster; delete the job instead"))
	}
	for _, name := range changedFields(&rj.Spec, &old.Spec) {
		p := path.Child(name)
		switch {
		case state.IsTerminal():
			if !deletionFields[name] {
				warnings = append(warnings, forbidden("RJ-527", p, "has no effect, since the job is over; make a new one"))
			}
		case name == "rayClusterSpec" || name == "clusterSelector":
			if old.Status.RayClusterName != "" && !onlyGroupSuspend(&rj.Spec, &old.Spec, name) {
				warnings = append(warnings, forbidden("RJ-525", p, "has no effect on the cluster of this run; suspend and resume the job to get a new one"))
			}
		case submittedFields[name]:
			if state == rayv1.JobDeploymentStatusRunning {
				warnings = append(warnings, forbidden("RJ-526", p, "has no effect, since the job was submitted; make a new one"))
			}
		case name == "jobId":
			warnings = append(warnings, warnJobIDChange(rj, state, p)...)
		}
	}
	return append(warnings, warnLostFields(rj, old, o)...)
}

func warnJobIDChange(rj *rayv1.RayJob, state rayv1.JobDeploymentStatus, path *field.Path) field.ErrorList {
	switch {
	case state == rayv1.JobDeploymentStatusRunning:
		return field.ErrorList{invalid("RJ-518", path, clipped(rj.Spec.JobId), "has no effect, since the job was submitted; make a new one")}
	case rj.Spec.SubmissionMode == rayv1.InteractiveMode && rj.Spec.JobId != "" &&
		(state == rayv1.JobDeploymentStatusNew || state == rayv1.JobDeploymentStatusInitializing):
		return field.ErrorList{invalid("RJ-518", path, clipped(rj.Spec.JobId), "is set before the job is Waiting; submit the job of this id as soon as the cluster is ready")}
	}
	return nil
}

// changedFields are the JSON names of the fields that differ, in the order of the API.
func changedFields(spec, old any) []string {
	a, b := reflect.ValueOf(spec).Elem(), reflect.ValueOf(old).Elem()
	fields := fieldsOf(a.Type())
	var changed []string
	for name, f := range fields {
		if !equality.Semantic.DeepEqual(a.FieldByIndex(f.index).Interface(), b.FieldByIndex(f.index).Interface()) {
			changed = append(changed, name)
		}
	}
	slices.SortFunc(changed, func(x, y string) int { return fields[x].rank - fields[y].rank })
	return changed
}

// onlyGroupSuspend reports whether nothing but suspend of worker groups changed, which the deletion policies do.
func onlyGroupSuspend(spec, old *rayv1.RayJobSpec, name string) bool {
	if name != "rayClusterSpec" || spec.RayClusterSpec == nil || old.RayClusterSpec == nil {
		return false
	}
	a, b := *spec.RayClusterSpec, *old.RayClusterSpec
	for _, c := range []*rayv1.RayClusterSpec{&a, &b} {
		c.WorkerGroupSpecs = slices.Clone(c.WorkerGroupSpecs)
		for i := range c.WorkerGroupSpecs {
			c.WorkerGroupSpecs[i].Suspend = nil
		}
	}
	return equality.Semantic.DeepEqual(a, b)
}
