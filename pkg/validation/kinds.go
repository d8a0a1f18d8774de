package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
)

var (
	jobNameRules = nameRules{
		tooLong: "RJ-020", malformed: "RJ-021", maxLength: 47,
		why: "so that the name of its RayCluster stays within 53",
	}
	serviceNameRules = nameRules{
		tooLong: "RS-010", malformed: "RS-011", maxLength: 47,
		why: "so that the names of its RayClusters stay within 53",
	}
	cronJobNameRules = nameRules{
		tooLong: "CJ-010", malformed: "CJ-502", maxLength: 36,
		why: "so that the names of its RayJobs stay within 47",
	}
)

// RayJob returns the errors in the name and in the cluster of a RayJob. A nil object has no errors.
func RayJob(rj *rayv1.RayJob, o Options) field.ErrorList {
	if rj == nil {
		return nil
	}
	errs := validateObjectName(&rj.ObjectMeta, jobNameRules)
	return append(errs, ClusterSpec(rj.Spec.RayClusterSpec, &rj.ObjectMeta, o, field.NewPath("spec", "rayClusterSpec"))...)
}

// RayJobWarningList returns what works in the cluster of a RayJob but may surprise.
func RayJobWarningList(rj *rayv1.RayJob, o Options) field.ErrorList {
	if rj == nil {
		return nil
	}
	return ClusterSpecWarningList(rj.Spec.RayClusterSpec, &rj.ObjectMeta, o, field.NewPath("spec", "rayClusterSpec"))
}

// RayService returns the errors in the name and in the cluster of a RayService. A nil object has no errors.
func RayService(rs *rayv1.RayService, o Options) field.ErrorList {
	if rs == nil {
		return nil
	}
	errs := validateObjectName(&rs.ObjectMeta, serviceNameRules)
	return append(errs, ClusterSpec(&rs.Spec.RayClusterSpec, &rs.ObjectMeta, o, field.NewPath("spec", "rayClusterConfig"))...)
}

// RayServiceWarningList returns what works in the cluster of a RayService but may surprise.
func RayServiceWarningList(rs *rayv1.RayService, o Options) field.ErrorList {
	if rs == nil {
		return nil
	}
	return ClusterSpecWarningList(&rs.Spec.RayClusterSpec, &rs.ObjectMeta, o, field.NewPath("spec", "rayClusterConfig"))
}

// RayCronJob returns the errors in the name and in the cluster of a RayCronJob. A nil object has no errors.
func RayCronJob(cj *rayv1.RayCronJob, o Options) field.ErrorList {
	if cj == nil {
		return nil
	}
	errs := validateObjectName(&cj.ObjectMeta, cronJobNameRules)
	// The RayJobs do not get the annotations of the RayCronJob, so none count.
	return append(errs, ClusterSpec(cronJobCluster(cj), nil, o, field.NewPath("spec", "jobTemplate", "rayClusterSpec"))...)
}

// RayCronJobWarningList returns what works in the cluster of a RayCronJob but may surprise.
func RayCronJobWarningList(cj *rayv1.RayCronJob, o Options) field.ErrorList {
	if cj == nil {
		return nil
	}
	return ClusterSpecWarningList(cronJobCluster(cj), nil, o, field.NewPath("spec", "jobTemplate", "rayClusterSpec"))
}

func cronJobCluster(cj *rayv1.RayCronJob) *rayv1.RayClusterSpec {
	return cj.Spec.JobTemplate.RayClusterSpec
}
