package pod

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
)

// withMount lists the containers, init containers first, of head and worker that mount a volume.
func withMount(volume string, pods ...*corev1.Pod) []string {
	var all []string
	for _, p := range pods {
		for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			if slices.Contains(namesOf(c.VolumeMounts, mountName), volume) {
				all = append(all, c.Name)
			}
		}
	}
	return all
}

// withEnv lists the containers likewise that have a variable.
func withEnv(name string, pods ...*corev1.Pod) []string {
	var all []string
	for _, p := range pods {
		for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
			if _, ok := envOf(&c)[name]; ok {
				all = append(all, c.Name)
			}
		}
	}
	return all
}

func TestWhoGetsTheToken(t *testing.T) {
	all := []string{"ray-head", "autoscaler", "ray-history-collector", "wait-gcs-ready", "ray-worker", "ray-history-collector"}
	cases := map[string]struct {
		options                          rayv1.AuthOptions
		wantMode, wantToken, wantMounted []string
	}{
		"token":             {options: rayv1.AuthOptions{Mode: rayv1.AuthModeToken}, wantMode: all, wantToken: all},
		"Kubernetes tokens": {options: rayv1.AuthOptions{Mode: rayv1.AuthModeToken, EnableK8sTokenAuth: new(true)}, wantMode: all, wantMounted: all},
		"disabled":          {options: rayv1.AuthOptions{Mode: rayv1.AuthModeDisabled, EnableK8sTokenAuth: new(true)}},
		"no mode":           {options: rayv1.AuthOptions{SecretName: new("mine")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := allOptions
			o.HeadSidecars = []corev1.Container{{Name: "operator's"}}
			head, worker := buildBoth(o, authOptions(tc.options), autoscaled, collected, encrypted, raytest.Head(func(h *rayv1.HeadGroupSpec) {
				h.Template.Spec.Containers = append(h.Template.Spec.Containers, corev1.Container{Name: "user's"})
				h.Template.Spec.InitContainers = []corev1.Container{{Name: "user's"}}
			}))
			want := [][]string{tc.wantMode, tc.wantToken, tc.wantMounted}
			got := [][]string{withEnv("RAY_AUTH_MODE", head, worker), withEnv("RAY_AUTH_TOKEN", head, worker), withMount("ray-token", head, worker)}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("containers with mode, token and mount (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTokenSecret(t *testing.T) {
	const long = "raycluster-with-a-very-long-name-exceeding-k8s-limit1"
	for name, tc := range map[string]struct {
		cluster string
		secret  *string
		want    string
	}{
		"the operator's":        {"demo", nil, "demo"},
		"the user's":            {"demo", new("mine"), "mine"},
		"an empty name is none": {"demo", new(""), "demo"},
		"of a long cluster":     {long, nil, "cluster-with-a-very-long-name-exceeding-k8s-limit1"},
	} {
		p := Head(raytest.RayCluster("ns/"+tc.cluster, authOptions(rayv1.AuthOptions{Mode: rayv1.AuthModeToken, SecretName: tc.secret})), Options{})
		for _, v := range p.Spec.Containers[0].Env {
			if v.Name != EnvAuthToken {
				continue
			}
			if got := v.ValueFrom.SecretKeyRef; got.Name != tc.want || got.Key != "auth_token" {
				t.Errorf("%s: want key auth_token of Secret %s, got %+v", name, tc.want, got)
			}
		}
	}
}

func TestTokenOfTheUserStays(t *testing.T) {
	k8s := authOptions(rayv1.AuthOptions{Mode: rayv1.AuthModeToken, EnableK8sTokenAuth: new(true)})
	head, _ := buildBoth(Options{}, k8s, headEnv(text("RAY_AUTH_MODE", "mine")), raytest.Head(func(h *rayv1.HeadGroupSpec) {
		h.Template.Spec.Volumes = []corev1.Volume{{Name: "ray-token"}}
		h.Template.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "ray-token", MountPath: "/mine"}}
	}))
	if got := envOf(&head.Spec.Containers[0])["RAY_AUTH_MODE"]; got != "mine" {
		t.Errorf("want the user's mode, got %q", got)
	}
	if got := head.Spec.Containers[0].VolumeMounts; got[0].MountPath != "/mine" || len(got) != 2 {
		t.Errorf("want the user's mount and shared memory, got %v", got)
	}
	if got := head.Spec.Volumes; got[0].Projected != nil || len(got) != 2 {
		t.Errorf("want the user's volume and shared memory, got %v", got)
	}
}
