// Package pod builds the head and worker Pods of a RayCluster from its spec. It uses no client, clock or environment variable and
// does not change its arguments. The operator's flags arrive in Options.
//
// The Pods equal those of KubeRay 1.7 in everything that running clusters or Ray can see: names, labels, start command,
// environment. So either operator can take over the clusters of the other. Comments mark deliberate differences.
//
// Builders never fail and never panic: for an object that admission would reject, they return a Pod that the API server rejects.
package pod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/pkg/devices/plan"
)

// node contains the inputs of a Pod that head and worker have in common.
type node struct {
	rc       *rayv1.RayCluster
	o        Options
	kind     rayv1.RayNodeType
	group    string                  // value of the label ray.io/group
	template *corev1.PodTemplateSpec // of the user; read-only

	startParams map[string]string // as the user wrote them
	resources   map[string]string // of the group
	labels      map[string]string // of the group

	program *plan.Program // set by completeDevices; nil without a registry
	devices []plan.Device // of the template
}

func (n *node) isHead() bool { return n.kind.IsHead() }

// parts are the containers that the operator creates or completes. All except ray may be nil.
type parts struct {
	ray        *corev1.Container // container 0 of the template, with any name
	autoscaler *corev1.Container
	collector  *corev1.Container
	waitCert   *corev1.Container // init container
	waitHead   *corev1.Container // init container
}

// build assembles the Pod. The order of the parts determines the order of environment, mounts and volumes: first those of the
// user, then those of each feature.
func (n *node) build() *corev1.Pod {
	n.completeDevices()
	p := &corev1.Pod{ObjectMeta: n.metadata(), Spec: *n.template.Spec.DeepCopy()}
	s := &p.Spec
	n.setPolicies(s)
	if len(s.Containers) == 0 {
		s.Containers = n.sidecars()
		return p // not a Ray Pod: no container can run Ray
	}
	user := &n.template.Spec.Containers[0]
	params := n.params(user.Resources)
	c := parts{
		ray:        user.DeepCopy(),
		autoscaler: n.newAutoscaler(user),
		collector:  n.newCollector(params),
		waitCert:   n.newCertificateWait(user),
		waitHead:   n.newHeadWait(user),
	}

	n.addAutoscalerVersion(c.ray)
	n.addFaultTolerance(s, c.ray)
	AddAuth(n.rc, s, c.ray, c.waitHead, c.autoscaler, c.collector)
	n.addTLS(s, c.ray, c.waitHead, c.autoscaler)
	n.addAutoscalerOptions(c.autoscaler)
	n.addRayEnv(environment{&c.ray.Env}, startCommand(n.kind, params, unquoted))
	n.addExportEnv(c.ray)
	if _, own := n.startParams["plasma-directory"]; !own {
		addSharedMemory(s, c.ray)
	}
	addLogs(s, c)
	addMetricsPort(c.ray)
	setCommand(c.ray, p.Annotations, startCommand(n.kind, params, quoted), n.o.LoginShell)
	if !n.o.NoProbes {
		n.addProbes(c.ray, params)
	}

	s.Containers[0] = *c.ray
	s.Containers = slices.Concat(s.Containers, present(c.autoscaler, c.collector), n.sidecars())
	s.InitContainers = slices.Concat(present(c.waitCert), s.InitContainers, present(c.waitHead))
	for i := range s.InitContainers {
		n.addHeadAddress(environment{&s.InitContainers[i].Env})
	}
	return p
}

// present returns the containers that are not nil.
func present(containers ...*corev1.Container) []corev1.Container {
	var list []corev1.Container
	for _, c := range containers {
		if c != nil {
			list = append(list, *c)
		}
	}
	return list
}

// setPolicies sets the Pod fields that the autoscaler requires.
func (n *node) setPolicies(s *corev1.PodSpec) {
	if !n.autoscaling() {
		return
	}
	if n.isHead() {
		s.ServiceAccountName = names.ServiceAccount(n.rc) // this account has the autoscaler's permissions
	}
	if n.autoscalerVersion() == rayv1.AutoscalerVersionV2 {
		// Autoscaler v2 counts instances: it does not know a Ray node that restarts in the same Pod.
		s.RestartPolicy = corev1.RestartPolicyNever
	}
}

func (n *node) sidecars() []corev1.Container {
	of := n.o.WorkerSidecars
	if n.isHead() {
		of = n.o.HeadSidecars
	}
	containers := make([]corev1.Container, 0, len(of))
	for i := range of {
		containers = append(containers, *of[i].DeepCopy())
	}
	return containers
}

func (n *node) ofRayService() bool { return names.CreatorKind(n.rc) == "RayService" }
