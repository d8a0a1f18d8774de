package pod

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/names"
)

// newHeadWait returns the init container that delays a worker until the GCS answers, since "ray start" gives up after a few
// attempts while the head may still pull its image. It uses the image and the user's environment of the Ray container, because
// reaching the head may need both. That includes envFrom, which KubeRay omits. It returns nil on the head and if it is disabled.
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

// waitScript retries every 5 seconds forever, because only the user knows a reasonable limit. It prints the error of the head only
// after two minutes, because the first errors are always the same.
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
