package pod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// environment adds variables to a container in the two ways the contract knows.
type environment struct{ vars *[]corev1.EnvVar }

func (e environment) index(name string) int {
	return slices.IndexFunc(*e.vars, func(v corev1.EnvVar) bool { return v.Name == name })
}

// set makes the operator's value win. KubeRay appends a second entry of the name, to the same effect for processes but
// with a warning from the API server on each Pod; here an entry of the user is replaced where it stands.
func (e environment) set(v corev1.EnvVar) {
	if i := e.index(v.Name); i >= 0 {
		(*e.vars)[i] = v
		return
	}
	*e.vars = append(*e.vars, v)
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

// headAddressEnv tells where the head is. RAY_IP is deprecated: the first label of the host, which resolves in the
// cluster's own namespace only.
func (n *node) headAddressEnv(e environment) {
	e.set(text("FQ_RAY_IP", names.HeadHost(n.rc, n.o.ClusterDomain)))
	e.set(text("RAY_IP", names.HeadService(n.rc)))
}

// rayEnv completes the environment of the Ray container. The order of the entries is part of the contract: variables
// may refer to those before them.
func (n *node) rayEnv(e environment, start string) {
	if !n.isHead() && n.gcsFaultTolerance() {
		// Workers must outlive a head that comes back, which takes longer than Ray's own default.
		e.setDefault(text("RAY_gcs_rpc_server_reconnect_timeout_s", "600"))
	}
	for _, v := range n.o.Env {
		e.setDefault(*v.DeepCopy())
	}
	if !n.isHead() {
		n.headAddressEnv(e)
	}
	e.set(field("RAY_CLUSTER_NAME", "metadata.labels['"+rayv1.LabelCluster+"']"))
	e.set(field("RAY_CLUSTER_NAMESPACE", "metadata.namespace"))
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
