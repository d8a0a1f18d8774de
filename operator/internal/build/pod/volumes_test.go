package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

func TestSharedMemory(t *testing.T) {
	cases := map[string]struct {
		change     func(*rayv1.HeadGroupSpec)
		wantVolume int
		wantMount  int
	}{
		"added": {func(*rayv1.HeadGroupSpec) {}, 1, 1},
		"not beside a mount of the user": {func(h *rayv1.HeadGroupSpec) {
			h.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "x", MountPath: "/dev/shm"}}
		}, 0, 1},
		"in a volume of the user": {func(h *rayv1.HeadGroupSpec) {
			h.Template.Spec.Volumes = []corev1.Volume{{Name: rayv1.VolumeSharedMemory}}
		}, 1, 1},
		"not beside one written otherwise": {func(h *rayv1.HeadGroupSpec) {
			h.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "x", MountPath: "/dev//shm/"}}
		}, 0, 1},
		"not with a plasma directory": {func(h *rayv1.HeadGroupSpec) { h.RayStartParams["plasma-directory"] = "" }, 0, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := Head(raytest.RayCluster("ns/demo", raytest.HeadParams(nil), raytest.Head(tc.change)), Options{})
			if v, m := len(p.Spec.Volumes), len(p.Spec.Containers[0].VolumeMounts); v != tc.wantVolume || m != tc.wantMount {
				t.Errorf("want %d volumes and %d mounts, got %d and %d", tc.wantVolume, tc.wantMount, v, m)
			}
		})
	}
}

// TestLogs looks at what stands at /tmp/ray in the containers of an autoscaled and collected head.
func TestLogs(t *testing.T) {
	mounts := func(ms ...corev1.VolumeMount) raytest.ClusterOption {
		return raytest.HeadContainer(func(c *corev1.Container) { c.VolumeMounts = ms })
	}
	cases := map[string]struct {
		opts                            []raytest.ClusterOption
		wantRay, wantSidecar, wantAdded []string
	}{
		"no sidecar, no volume": {},
		"shared with the autoscaler": {
			opts:    []raytest.ClusterOption{autoscaled},
			wantRay: []string{"ray-logs"}, wantSidecar: []string{"ray-logs"}, wantAdded: []string{"ray-logs"},
		},
		"with the collector too": {
			opts:    []raytest.ClusterOption{autoscaled, collected},
			wantRay: []string{"ray-logs"}, wantSidecar: []string{"ray-logs", "ray-logs"}, wantAdded: []string{"ray-logs"},
		},
		"the user's volume is shared": {
			opts:    []raytest.ClusterOption{collected, mounts(corev1.VolumeMount{Name: "mine", MountPath: "/tmp/ray/", SubPath: "a"})},
			wantRay: []string{"mine/a"}, wantSidecar: []string{"mine/a"},
		},
		"but not a path of variables": {
			opts:    []raytest.ClusterOption{collected, mounts(corev1.VolumeMount{Name: "mine", MountPath: "/tmp/ray", SubPathExpr: "$(A)"})},
			wantRay: []string{"mine"}, wantSidecar: []string{"ray-logs"}, wantAdded: []string{"ray-logs"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			head, _ := buildBoth(allOptions, tc.opts...)
			var ray, sidecars, added []string
			for i, c := range head.Spec.Containers {
				m := mountAt(c.VolumeMounts, "/tmp/ray")
				if m == nil {
					continue
				}
				at := m.Name
				if m.SubPath != "" {
					at += "/" + m.SubPath
				}
				if i == 0 {
					ray = append(ray, at)
				} else {
					sidecars = append(sidecars, at)
				}
			}
			for _, v := range head.Spec.Volumes {
				if v.Name == "ray-logs" {
					added = append(added, v.Name)
				}
			}
			if diff := cmp.Diff([][]string{tc.wantRay, tc.wantSidecar, tc.wantAdded}, [][]string{ray, sidecars, added}); diff != "" {
				t.Errorf("mounts of Ray, of sidecars and volumes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSharedMemoryLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		limits, requests corev1.ResourceList
		want             string
	}{
		"the limit":        {list("memory", "2Gi"), list("memory", "1Gi"), "2Gi"},
		"else the request": {list("memory", "0"), list("memory", "1Gi"), "1Gi"},
		"else none":        {nil, list("cpu", "1"), "<nil>"},
	} {
		head, _ := buildBoth(Options{}, raytest.HeadContainer(func(c *corev1.Container) {
			c.Resources = corev1.ResourceRequirements{Limits: tc.limits, Requests: tc.requests}
		}))
		source := head.Spec.Volumes[0].EmptyDir
		if got := source.SizeLimit.String(); got != tc.want || source.Medium != corev1.StorageMediumMemory {
			t.Errorf("%s: want %s of memory, got %s of %s", name, tc.want, got, source.Medium)
		}
	}
}
