package job

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/pod"
)

// Sidecar builds the container that submits a RayJob from within the head Pod in SidecarMode. rc is the cluster that is to
// get it. With restart, the feature gate SidecarSubmitterRestart, Kubernetes runs it again after a failure and it then
// attaches to the job that runs; without, its exit code is that of the job, and it is tried once.
func Sidecar(job *rayv1.RayJob, rc *rayv1.RayCluster, o pod.Options, restart bool) (corev1.Container, error) {
	script, err := sidecarScript(job, strconv.Itoa(int(dashboardPort(rc))), strconv.Itoa(int(pod.AgentPort(rc.Spec.HeadGroupSpec.RayStartParams))), restart)
	if err != nil {
		return corev1.Container{}, err
	}
	c := submitterContainer(rc)
	c.Command, c.Args = shell(o.For(rc).LoginShell), []string{script}
	addSubmitterEnv(&c, job)
	pod.AddAuth(rc, &corev1.PodSpec{}, &c)
	if restart {
		c.RestartPolicy = new(corev1.ContainerRestartPolicyOnFailure)
	}
	return c, nil
}

// dashboardPort is the port that the head's Ray container names so.
func dashboardPort(rc *rayv1.RayCluster) int32 {
	if head := rc.Spec.HeadGroupSpec.Template.Spec.Containers; len(head) > 0 {
		i := slices.IndexFunc(head[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == rayv1.PortDashboard })
		if i >= 0 {
			return head[0].Ports[i].ContainerPort
		}
	}
	return rayv1.DefaultDashboardPort
}
