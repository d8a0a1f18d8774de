package v1

// SetRayJobDefaults fills what the schema of the CRD fills, and nothing else; see SetRayClusterDefaults.
func SetRayJobDefaults(job *RayJob) {
	setJobSpecDefaults(&job.Spec)
	if job.Status.Succeeded == nil {
		job.Status.Succeeded = new(int32(0))
	}
	if job.Status.Failed == nil {
		job.Status.Failed = new(int32(0))
	}
}

func setJobSpecDefaults(spec *RayJobSpec) {
	if spec.SubmissionMode == "" {
		spec.SubmissionMode = K8sJobMode
	}
	if spec.BackoffLimit == nil {
		spec.BackoffLimit = new(int32(0))
	}
	if spec.RayClusterSpec != nil {
		setClusterSpecDefaults(spec.RayClusterSpec)
	}
	if spec.SubmitterPodTemplate != nil {
		setPodTemplateDefaults(spec.SubmitterPodTemplate)
	}
}
