package pod

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// newHeadWait holds a worker until the GCS answers, since "ray start" gives up after a few attempts and a head that is
// pulling its image takes longer. It runs in the image and, as far as the user set it up, the environment of the Ray
// container, because reaching the head may need both; that includes envFrom, which KubeRay leaves out. Nil on the head
// and when turned off.
func (n *node) newHeadWait(user *corev1.Container) *corev1.Container {
	if n.isHead() || n.o.NoInitContainer {
		return nil
	}
	c := user.DeepCopy()
	return &corev1.Container{
		Name:            rayv1.ContainerWaitGCSReady,
		Image:           c.Image,
		ImagePullPolicy: c.ImagePullPolicy,
		Command:         Shell(n.o.LoginShell),
		Args:            []string{waitScript(names.HeadAddress(n.rc, n.o.ClusterDomain))},
		SecurityContext: c.SecurityContext,
		Env:             c.Env,
		EnvFrom:         c.EnvFrom,
		VolumeMounts:    c.VolumeMounts,
		Resources:       FixedResources("200m", "256Mi"),
	}
}

// waitScript asks every 5 seconds for ever: the kubelet cannot know better than the user how long is too long. The
// reasons why the head does not answer are only shown after two minutes, for at first they are always the same.
func waitScript(address string) string {
	return fmt.Sprintf(`
SECONDS=0
while true; do
  if (( SECONDS < 120 )); then
    ray health-check --address %[1]s > /dev/null 2>&1 && break
    echo "Waiting for the head at %[1]s, ${SECONDS} seconds so far."
  else
    ray health-check --address %[1]s && break
    echo "The head at %[1]s has not answered for ${SECONDS} seconds. Look at the logs and events of the head Pod, and at https://docs.ray.io/en/latest/cluster/kubernetes/troubleshooting.html"
  fi
  sleep 5
done
echo "The head is ready."
exit 0
`, address)
}
