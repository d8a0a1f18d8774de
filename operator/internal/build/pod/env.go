package pod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// environment adds variables to a container, with or without priority over those of the user.
type environment struct{ vars *[]corev1.EnvVar }

func (e environment) index(name string) int {
	return slices.IndexFunc(*e.vars, func(v corev1.EnvVar) bool { return v.Name == name })
}

// set gives the operator's value priority. KubeRay appends a second entry of the same name. That has the same effect, but the API
// server warns about each such Pod. Here the first entry of the name is replaced in its place, and further entries are removed.
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

// Override removes from under the variables that top also has and appends top. Variables of top may then refer to those of under.
func Override(under, top []corev1.EnvVar) []corev1.EnvVar {
	return append(slices.DeleteFunc(under, func(o corev1.EnvVar) bool { return environment{&top}.index(o.Name) >= 0 }), top...)
}

// setDefault adds the variable unless the user has set it, even to an empty value. It does not see variables from envFrom.
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

// addHeadAddress sets the address of the head. RAY_IP is deprecated: it is the first label of the host and resolves only in the
// cluster's namespace.
func (n *node) addHeadAddress(e environment) {
	e.set(text("FQ_RAY_IP", names.HeadHost(n.rc, n.o.ClusterDomain)))
	e.set(text("RAY_IP", names.HeadService(n.rc)))
}

// addRayEnv adds the variables of every Ray node. The order is part of the contract with Ray, because variables may refer to
// earlier ones.
func (n *node) addRayEnv(e environment, start string) {
	for _, v := range n.o.Env {
		e.setDefault(*v.DeepCopy())
	}
	if !n.isHead() {
		n.addHeadAddress(e)
	}
	e.set(clusterName())
	e.set(clusterNamespace())
	e.set(field("RAY_CLOUD_INSTANCE_ID", "metadata.name")) // the autoscaler uses these two to find the Pod of a Ray node
	e.set(field("RAY_NODE_TYPE_NAME", "metadata.labels['"+rayv1.LabelGroup+"']"))
	e.set(text("KUBERAY_GEN_RAY_START_CMD", start))
	e.setDefault(text("RAY_PORT", names.HeadPort(n.rc)))
	if n.ofRayService() {
		// Serve must detect the loss of a head quickly.
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
