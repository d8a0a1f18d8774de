package v1

import (
	"math"
)

// SetRayClusterDefaults fills what the schema of the CRD fills, and nothing else, so that programs without an API server
// (offline validation, conversion, tests) see the object that the API server would store. A test holds it to the CRD.
//
// A numOfHosts of 0 counts as absent, because Go cannot write it in any other way; the API server keeps an explicit 0.
func SetRayClusterDefaults(rc *RayCluster) {
	setClusterSpecDefaults(&rc.Spec)
}

func setClusterSpecDefaults(spec *RayClusterSpec) {
	setPodTemplateDefaults(&spec.HeadGroupSpec.Template)
	setServiceDefaults(spec.HeadGroupSpec.HeadService)
	for i := range spec.WorkerGroupSpecs {
		setWorkerGroupDefaults(&spec.WorkerGroupSpecs[i])
	}
	if o := spec.AutoscalerOptions; o != nil {
		setEnvDefaults(o.Env)
	}
	if o := spec.GcsFaultToleranceOptions; o != nil {
		setCredentialDefaults(o.RedisUsername)
		setCredentialDefaults(o.RedisPassword)
	}
	if o := spec.HistoryServerOptions; o != nil && o.CollectorOptions != nil {
		setEnvDefaults(o.CollectorOptions.Env)
	}
	if p := spec.NetworkPolicy; p != nil && p.Mode == nil {
		p.Mode = new(NetworkPolicyDenyAll)
	}
}

func setWorkerGroupDefaults(g *WorkerGroupSpec) {
	if g.Replicas == nil {
		g.Replicas = new(int32(0))
	}
	if g.MinReplicas == nil {
		g.MinReplicas = new(int32(0))
	}
	if g.MaxReplicas == nil {
		g.MaxReplicas = new(int32(math.MaxInt32))
	}
	if g.NumOfHosts == 0 {
		g.NumOfHosts = 1
	}
	if g.Priority == nil {
		g.Priority = new(int32(0))
	}
	setPodTemplateDefaults(&g.Template)
}

func setCredentialDefaults(c *RedisCredential) {
	if c != nil {
		setEnvSourceDefaults(c.ValueFrom)
	}
}
