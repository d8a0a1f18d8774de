package v1

// SetRayCronJobDefaults fills what the schema of the CRD fills, and nothing else; see SetRayClusterDefaults.
func SetRayCronJobDefaults(cj *RayCronJob) {
	setJobSpecDefaults(&cj.Spec.JobTemplate)
}
