package pod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// environment adds variables to a container in the two ways the contract knows.
type environment struct{ vars *[]corev1.EnvVar }

func (e environment) index(name string) int {
	return slices.IndexFunc(*e.vars, func(v corev1.EnvVar) bool { return v.Name == name })
}

// set makes the operator's value win. KubeRay appends a second entry of the name, to the same effect for processes but
// with a warning from the API server on each Pod; here the first entry of the user is replaced where it stands, and more
// of the name, of which the last would win, are dropped.
func (e environment) set(v corev1.EnvVar) {
	i := e.index(v.Name)
	if i < 0 {
		*e.vars = append(*e.vars, v)
		return
	}
	(*e.vars)[i] = v
	after := slices.DeleteFunc((*e.vars)[i+1:], func(o corev1.EnvVar) bool { return o.Name == v.Name })
	*e.vars = (*e.vars)[:i+1+len(after)]
}

// Override puts the variables of top behind those of under, in their order, so that they may refer to each other, and drops those that have
// the same names.
func Override(under, top []corev1.EnvVar) []corev1.EnvVar {
	return append(slices.DeleteFunc(under, func(o corev1.EnvVar) bool { return environment{&top}.index(o.Name) >= 0 }), top...)
}

// setDefault leaves a variable of the user alone, even an empty one. What comes in through envFrom is not seen.
func (e environment) setDefault(v corev1.EnvVar) {
	if e.index(v.Name) < 0 {
		*e.vars = append(*e.vars, v)
	}
}

func text(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }

func field(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

func clusterName() corev1.EnvVar {
	return field("RAY_CLUSTER_NAME", "metadata.labels['"+rayv1.LabelCluster+"']")
}

func clusterNamespace() corev1.EnvVar { return field("RAY_CLUSTER_NAMESPACE", "metadata.namespace") }

// addHeadAddress tells where the head is. RAY_IP is deprecated: the first label of the host, which resolves in the
// cluster's own namespace only.
func (n *node) addHeadAddress(e environment) {
	e.set(text("FQ_RAY_IP", names.HeadHost(n.rc, n.o.ClusterDomain)))
	e.set(text("RAY_IP", names.HeadService(n.rc)))
}

// addRayEnv adds what every node of the cluster has. The order of the entries is part of the contract: variables may
// refer to those before them.
func (n *node) addRayEnv(e environment, start string) {
	for _, v := range n.o.Env {
		e.setDefault(*v.DeepCopy())
	}
	if !n.isHead() {
		n.addHeadAddress(e)
	}
	e.set(clusterName())
	e.set(clusterNamespace())
	e.set(field("RAY_CLOUD_INSTANCE_ID", "metadata.name")) // the autoscaler finds the Pod of a Ray node by these two
	e.set(field("RAY_NODE_TYPE_NAME", "metadata.labels['"+rayv1.LabelGroup+"']"))
	e.set(text("KUBERAY_GEN_RAY_START_CMD", start))
	e.setDefault(text("RAY_PORT", names.HeadPort(n.rc)))
	if n.ofRayService() {
		// Serve must notice a lost head quickly.
		e.setDefault(text("RAY_timeout_ms_task_wait_for_death_info", "0"))
		e.setDefault(text("RAY_gcs_server_request_timeout_seconds", "5"))
		e.setDefault(text("RAY_SERVE_KV_TIMEOUT_S", "5"))
	}
	address := names.HeadAddress(n.rc, n.o.ClusterDomain)
	if n.isHead() {
		address = "127.0.0.1:" + names.HeadPort(n.rc)
	}
	e.setDefault(text("RAY_ADDRESS", address))
	e.setDefault(text("RAY_USAGE_STATS_KUBERAY_IN_USE", "1"))
	if n.isHead() {
		e.set(text("RAY_USAGE_STATS_EXTRA_TAGS", "kuberay_version="+n.o.OperatorVersion+";kuberay_crd="+names.CreatorKind(n.rc)))
	}
	e.setDefault(text("RAY_DASHBOARD_ENABLE_K8S_DISK_USAGE", "1"))
}
