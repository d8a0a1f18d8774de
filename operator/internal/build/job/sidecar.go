package job

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/pod"
	"github.com/raygate/raygate/operator/internal/build/service"
)

// Sidecar builds the container that submits a RayJob in the head Pod in SidecarMode. rc is the cluster that gets it. With restart
// (feature gate SidecarSubmitterRestart), Kubernetes restarts it after a failure, and it attaches to the running job. Otherwise
// its exit code is that of the job, and it runs once.
func Sidecar(job *rayv1.RayJob, rc *rayv1.RayCluster, o pod.Options, restart bool) (corev1.Container, error) {
	script, err := sidecarScript(job, strconv.Itoa(int(service.DashboardPort(rc))), strconv.Itoa(int(pod.AgentPort(rc.Spec.HeadGroupSpec.RayStartParams))), restart)
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
