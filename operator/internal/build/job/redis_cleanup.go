package job

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/operator/internal/build/child"
	"github.com/raygate/raygate/operator/internal/build/names"
	"github.com/raygate/raygate/operator/internal/build/pod"
)

// redisCleanupDeadlineSeconds limits the duration of the Job. It equals the default timeout of the deletion.
const redisCleanupDeadlineSeconds = 300

// RedisCleanup builds the Job that deletes the data of a cluster with GCS fault tolerance on Redis. Its Pod is that of the head,
// reduced to the Ray container, because only that has the right image, network and credentials for this Redis. As in KubeRay 1.7,
// it is tried once.
//
// Unlike in KubeRay, the Pod needs nothing that the garbage collector deletes with the cluster, and the Job itself is not deleted
// before the cluster. Otherwise foreground deletion (kubectl --cascade=foreground, Argo CD) would leave the data behind.
func RedisCleanup(rc *rayv1.RayCluster, o pod.Options) *batchv1.Job {
	head := pod.Head(rc, o)
	delete(head.Annotations, rayv1.AnnotationUpgradeStrategyRecreateHash)
	delete(head.Annotations, rayv1.AnnotationKubeRayVersion)
	head.Labels[rayv1.LabelNodeType] = string(rayv1.RedisCleanupNode)

	reducePod(&head.Spec)
	if rc.Spec.HeadGroupSpec.Template.Spec.ServiceAccountName == "" {
		head.Spec.ServiceAccountName = "" // the autoscaler's account belongs to the cluster and may be gone
	}
	makeOptional(&head.Spec)
	for i := range head.Spec.Containers {
		replaceWork(&head.Spec.Containers[i], pod.Shell(o.For(rc).LoginShell))
	}

	owner := child.Controller(rc)
	owner.BlockOwnerDeletion = new(false)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:            names.RedisCleanupJob(rc.Name),
			Namespace:       rc.Namespace,
			Labels:          maps.Clone(head.Labels),
			Annotations:     maps.Clone(head.Annotations),
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit:          new(int32(0)),
			ActiveDeadlineSeconds: new(int64(redisCleanupDeadlineSeconds)),
			Template: corev1.PodTemplateSpec{
				// No finalizers: the controllers of the head's finalizers may be gone.
				ObjectMeta: metav1.ObjectMeta{Labels: head.Labels, Annotations: head.Annotations},
				Spec:       head.Spec,
			},
		},
	}
}

// reducePod removes what a head needs and a cleanup does not.
func reducePod(s *corev1.PodSpec) {
	s.Containers = s.Containers[:min(len(s.Containers), 1)]
	s.InitContainers = slices.DeleteFunc(s.InitContainers, func(c corev1.Container) bool {
		return c.Name == rayv1.ContainerWaitTLS // no certificate will contain this Pod's IP
	})
	claims := func(c corev1.Container) bool { return len(c.Resources.Claims) > 0 }
	if !slices.ContainsFunc(s.InitContainers, claims) {
		s.ResourceClaims = nil // devices of the Ray container
	}
	s.Resources = nil
	s.SchedulingGates, s.SchedulingGroup = nil, nil // nothing would remove the gates, and the gang is gone
	s.RestartPolicy = corev1.RestartPolicyNever
}

// makeOptional lets the Pod start without the Secrets of the cluster. Redis uses neither Ray's token nor its certificates.
func makeOptional(s *corev1.PodSpec) {
	for i := range s.Volumes {
		if v := &s.Volumes[i]; v.Name == rayv1.VolumeTLS && v.Secret != nil {
			v.Secret.Optional = new(true)
		}
	}
	for i := range s.Containers {
		for _, v := range s.Containers[i].Env {
			if v.Name == pod.EnvAuthToken && v.ValueFrom != nil && v.ValueFrom.SecretKeyRef != nil {
				v.ValueFrom.SecretKeyRef.Optional = new(true)
			}
		}
	}
}

// replaceWork replaces the command of the Ray container by the cleanup.
func replaceWork(c *corev1.Container, shell []string) {
	c.Command, c.Args = shell, []string{redisCleanupLine}
	c.Lifecycle = nil
	c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = nil, nil, nil
	c.RestartPolicy, c.RestartPolicyRules, c.ResizePolicy = nil, nil, nil
	c.Ports = nil // a worker may use a host port

	c.Resources = pod.FixedResources("200m", "256Mi")

	// Allow a minute for a Redis that restarts.
	c.Env = pod.Override(c.Env, []corev1.EnvVar{
		{Name: "RAY_redis_db_connect_retries", Value: "120"},
		{Name: "RAY_redis_db_connect_wait_milliseconds", Value: "500"},
	})
}

// redisCleanupLine is a shell command: the script must not contain single quotes.
const redisCleanupLine = `echo "Deleting the metadata of this cluster from Redis. If this fails, delete it by hand: https://docs.ray.io/en/latest/cluster/kubernetes/user-guides/kuberay-gcs-ft.html" && ` +
	"python -c '" + redisCleanupScript + "'"

// redisCleanupScript uses Ray's own function. Older versions of it accept no user name, so it is passed only if there is one.
const redisCleanupScript = `
import os, sys
from urllib.parse import urlparse
from ray._private.gcs_utils import cleanup_redis_storage

address = os.environ.get("RAY_REDIS_ADDRESS", "").split(",")[0].strip()
if not address:
    sys.exit("RAY_REDIS_ADDRESS is empty: nothing is known of a Redis")
url = urlparse(address if "://" in address else "redis://" + address)
arguments = {
    "host": url.hostname,
    "port": url.port or 6379,
    "password": os.environ.get("REDIS_PASSWORD") or url.password or "",
    "use_ssl": url.scheme == "rediss",
    "storage_namespace": os.environ["RAY_external_storage_namespace"],
}
if "REDIS_USERNAME" in os.environ:
    arguments["username"] = os.environ["REDIS_USERNAME"] or url.username or ""
sys.exit(0 if cleanup_redis_storage(**arguments) else 1)
`
