package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/raygate/raygate/test/raytest"
)

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
