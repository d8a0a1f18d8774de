package pod

import (
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/operator/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// node is a Pod to be built: what head and worker have in common, so that the parts are written once.
type node struct {
	rc       *rayv1.RayCluster
	o        Options
	kind     rayv1.RayNodeType
	group    string                  // value of the label ray.io/group
	template *corev1.PodTemplateSpec // of the user; never changed

	startParams map[string]string // as the user wrote them
	resources   map[string]string // of the group
	labels      map[string]string // of the group
}

func (n *node) isHead() bool { return n.kind.IsHead() }

// build assembles the Pod. The order of the parts is the order in which their list entries appear.
func (n *node) build() *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: n.metadata(), Spec: *n.template.Spec.DeepCopy()}
	p.Spec.Containers = append(p.Spec.Containers, n.sidecars()...)
	if len(n.template.Spec.Containers) == 0 {
		return p // not a Ray Pod: there is no container to run Ray in
	}
	ray := &p.Spec.Containers[0] // the container at index 0 runs Ray, whatever its name
	user := ray.DeepCopy()
	params := n.params(user.Resources)
	start := startCommand(n.kind, params)

	if !n.isHead() && !n.o.NoInitContainer {
		p.Spec.InitContainers = append(p.Spec.InitContainers, n.waitForHead(user))
	}
	for i := range p.Spec.InitContainers {
		env := environment{&p.Spec.InitContainers[i].Env}
		n.headAddressEnv(env)
	}
	addMetricsPort(ray)
	setCommand(ray, p.Annotations, start, n.o.LoginShell)
	n.rayEnv(environment{&ray.Env}, start)
	if _, own := n.startParams["plasma-directory"]; !own {
		addSharedMemory(&p.Spec, ray)
	}
	if !n.o.NoProbes {
		n.addProbes(ray, params)
	}
	return p
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
