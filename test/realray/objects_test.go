package realray

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
)

// scripts is where the programs of testdata are in containers.
const scripts = "/scripts"

func image() string { return "rayproject/ray:" + rayVersion }

// template is a Pod of Ray that asks for little, so that several clusters fit on a small machine, and may use more.
func template(container, memory string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		TerminationGracePeriodSeconds: new(int64(5)),
		Containers: []corev1.Container{{
			Name: container, Image: image(),
			Env: []corev1.EnvVar{
				{Name: "PYTHONPATH", Value: scripts},
				{Name: "RAY_USAGE_STATS_ENABLED", Value: "0"}, // there is no internet to report to
			},
			Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m"), corev1.ResourceMemory: resource.MustParse("200Mi")},
				Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)},
			},
			VolumeMounts: []corev1.VolumeMount{{Name: "scripts", MountPath: scripts}},
		}},
		Volumes: []corev1.Volume{{Name: "scripts", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "scripts"}},
		}}},
	}}
}

// group is the name of the group of workers of the tests.
const group = "cpu"

// clusterSpec is a head that runs no tasks that need CPUs, and workers with a CPU each as Ray counts, whatever the machine has.
func clusterSpec(workers int32) rayv1.RayClusterSpec {
	spec := rayv1.RayClusterSpec{
		RayVersion: rayVersion,
		HeadGroupSpec: rayv1.HeadGroupSpec{
			RayStartParams: map[string]string{"num-cpus": "0", "object-store-memory": "100000000"},
			Template:       template("ray-head", "4Gi"),
		},
	}
	if workers > 0 {
		spec.WorkerGroupSpecs = []rayv1.WorkerGroupSpec{{
			GroupName: group, Replicas: &workers, MinReplicas: &workers, MaxReplicas: new(int32(3)),
			RayStartParams: map[string]string{"num-cpus": "1", "object-store-memory": "100000000", "resources": `'{"worker":1}'`},
			Template:       template("ray-worker", "2Gi"),
		}}
	}
	return spec
}

// cluster makes a RayCluster.
func (w *world) cluster(name string, workers int32, change ...func(*rayv1.RayCluster)) *rayv1.RayCluster {
	w.t.Helper()
	rc := &rayv1.RayCluster{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns}, Spec: clusterSpec(workers)}
	for _, f := range change {
		f(rc)
	}
	w.create(rc)
	return rc
}

// job makes a RayJob with a cluster of a head that has a CPU.
func (w *world) job(name string, mode rayv1.JobSubmissionMode, entrypoint string, change ...func(*rayv1.RayJob)) *rayv1.RayJob {
	w.t.Helper()
	spec := clusterSpec(0)
	spec.HeadGroupSpec.RayStartParams["num-cpus"] = "1"
	j := &rayv1.RayJob{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.ns},
		Spec: rayv1.RayJobSpec{
			SubmissionMode: mode, Entrypoint: entrypoint, RayClusterSpec: &spec, RuntimeEnvYAML: "env_vars: {GREETING: it's me}",
		},
	}
	for _, f := range change {
		f(j)
	}
	w.create(j)
	return j
}

// autoscaled turns the autoscaler on.
func autoscaled(version rayv1.AutoscalerVersion) func(*rayv1.RayCluster) {
	return func(rc *rayv1.RayCluster) {
		rc.Spec.EnableInTreeAutoscaling = new(true)
		rc.Spec.AutoscalerOptions = &rayv1.AutoscalerOptions{Version: &version, IdleTimeoutSeconds: new(int32(10))}
	}
}

func withTLS(rc *rayv1.RayCluster) { rc.Spec.TLSOptions = &rayv1.TLSOptions{Enabled: new(true)} }
