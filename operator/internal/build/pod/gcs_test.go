package pod

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/gcs"
)

func headEnv(vars ...corev1.EnvVar) raytest.ClusterOption {
	return raytest.HeadContainer(func(c *corev1.Container) { c.Env = append(c.Env, vars...) })
}

func annotated(kv ...string) raytest.ClusterOption {
	m := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		m[kv[i]] = kv[i+1]
	}
	return raytest.Annotations(m)
}

func TestFaultToleranceMarks(t *testing.T) {
	rocks := gcsOptions(rayv1.GcsFaultToleranceOptions{Backend: rayv1.GcsFTBackendRocksDB})
	cases := map[string]struct {
		opts          []raytest.ClusterOption
		wantEnabled   string
		wantNamespace string // UID of the cluster as "uid"
		wantTimeout   string
	}{
		"off":                     {wantEnabled: "false"},
		"off, with leftovers":     {opts: []raytest.ClusterOption{annotated(rayv1.AnnotationExternalStorageNamespace, "a", rayv1.AnnotationFTEnabled, "no")}, wantEnabled: "false"},
		"by empty options":        {opts: []raytest.ClusterOption{gcsOptions(rayv1.GcsFaultToleranceOptions{})}, wantEnabled: "true", wantNamespace: "uid", wantTimeout: "600"},
		"by annotation":           {opts: []raytest.ClusterOption{annotated(rayv1.AnnotationFTEnabled, "True")}, wantEnabled: "true", wantNamespace: "uid", wantTimeout: "600"},
		"namespace by annotation": {opts: []raytest.ClusterOption{annotated(rayv1.AnnotationFTEnabled, "true", rayv1.AnnotationExternalStorageNamespace, "a")}, wantEnabled: "true", wantNamespace: "a", wantTimeout: "600"},
		"namespace by options": {
			opts:        []raytest.ClusterOption{annotated(rayv1.AnnotationExternalStorageNamespace, "a"), gcsOptions(rayv1.GcsFaultToleranceOptions{ExternalStorageNamespace: "b"})},
			wantEnabled: "true", wantNamespace: "b", wantTimeout: "600",
		},
		"namespace by variable": {
			opts:        []raytest.ClusterOption{gcsOptions(rayv1.GcsFaultToleranceOptions{ExternalStorageNamespace: "b"}), headEnv(text(gcs.EnvStorageNamespace, "c"))},
			wantEnabled: "true", wantNamespace: "c", wantTimeout: "600",
		},
		"embedded": {opts: []raytest.ClusterOption{rocks}, wantEnabled: "true", wantTimeout: "600"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			head, worker := buildBoth(Options{}, append(tc.opts, raytest.UID("uid"))...)
			want := []string{tc.wantEnabled, tc.wantNamespace, tc.wantNamespace, "", tc.wantTimeout}
			got := []string{
				head.Annotations[rayv1.AnnotationFTEnabled],
				head.Annotations[rayv1.AnnotationExternalStorageNamespace],
				envOf(&head.Spec.Containers[0])[gcs.EnvStorageNamespace],
				worker.Annotations[rayv1.AnnotationFTEnabled],
				envOf(&worker.Spec.Containers[0])["RAY_gcs_rpc_server_reconnect_timeout_s"],
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("annotations of the head, its namespace, annotation and timeout of the worker (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRedisConnection(t *testing.T) {
	type m = map[string]string
	credential := func(s string) *rayv1.RedisCredential { return &rayv1.RedisCredential{Value: s} }
	legacy := annotated(rayv1.AnnotationFTEnabled, "true")
	password := func(s string) raytest.ClusterOption {
		return raytest.HeadParams(m{"redis-password": s})
	}
	sources := raytest.HeadContainer(func(c *corev1.Container) { c.EnvFrom = []corev1.EnvFromSource{{}} })
	cases := map[string]struct {
		opts       []raytest.ClusterOption
		wantEnv    m
		wantParams m
	}{
		"options with everything": {
			opts: []raytest.ClusterOption{gcsOptions(rayv1.GcsFaultToleranceOptions{
				RedisAddress: "redis:6379", RedisUsername: credential("ray"), RedisPassword: &rayv1.RedisCredential{ValueFrom: &corev1.EnvVarSource{}},
			})},
			wantEnv:    m{"RAY_REDIS_ADDRESS": "redis:6379", "REDIS_USERNAME": "ray", "REDIS_PASSWORD": "ref"},
			wantParams: m{"redis-username": "$REDIS_USERNAME", "redis-password": "$REDIS_PASSWORD"},
		},
		"options win over what validation refuses": {
			opts:       []raytest.ClusterOption{gcsOptions(rayv1.GcsFaultToleranceOptions{RedisPassword: credential("a")}), password("b"), headEnv(text("REDIS_PASSWORD", "c"))},
			wantEnv:    m{"RAY_REDIS_ADDRESS": "", "REDIS_PASSWORD": "a"},
			wantParams: m{"redis-password": "$REDIS_PASSWORD"},
		},
		"an empty address hides none that may come from elsewhere": {
			opts:    []raytest.ClusterOption{gcsOptions(rayv1.GcsFaultToleranceOptions{}), sources},
			wantEnv: m{}, wantParams: m{},
		},
		"legacy without a password": {opts: []raytest.ClusterOption{legacy}, wantEnv: m{}, wantParams: m{}},
		"legacy with one":           {opts: []raytest.ClusterOption{legacy, password("p")}, wantEnv: m{"REDIS_PASSWORD": "p"}, wantParams: m{"redis-password": "p"}},
		"legacy with the user's variable": {
			opts:    []raytest.ClusterOption{legacy, password("$REDIS_PASSWORD"), headEnv(text("REDIS_PASSWORD", "c"))},
			wantEnv: m{"REDIS_PASSWORD": "c"}, wantParams: m{"redis-password": "$REDIS_PASSWORD"},
		},
		"legacy with another variable": {
			opts:    []raytest.ClusterOption{legacy, password("${MINE}"), headEnv(text("MINE", "c"))},
			wantEnv: m{"REDIS_PASSWORD": "$(MINE)"}, wantParams: m{"redis-password": "${MINE}"},
		},
		"legacy with a variable from elsewhere": {
			opts:    []raytest.ClusterOption{legacy, password("$REDIS_PASSWORD"), sources},
			wantEnv: m{}, wantParams: m{"redis-password": "$REDIS_PASSWORD"},
		},
		"a password alone is no fault tolerance": {opts: []raytest.ClusterOption{password("p")}, wantEnv: m{}, wantParams: m{"redis-password": "p"}},
		"the embedded store knows no Redis": {
			opts:    []raytest.ClusterOption{gcsOptions(rayv1.GcsFaultToleranceOptions{Backend: rayv1.GcsFTBackendRocksDB, RedisPassword: credential("a")})},
			wantEnv: m{}, wantParams: m{},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rc := raytest.RayCluster("ns/demo", tc.opts...)
			got := pick(envOf(&Head(rc, Options{}).Spec.Containers[0]), envRedisAddress, envRedisUsername, envRedisPassword)
			if diff := cmp.Diff(tc.wantEnv, got); diff != "" {
				t.Errorf("environment (-want +got):\n%s", diff)
			}
			n := headNode(rc, Options{})
			if diff := cmp.Diff(tc.wantParams, pick(n.params(corev1.ResourceRequirements{}), paramRedisUsername, paramRedisPassword)); diff != "" {
				t.Errorf("start parameters (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEmbeddedStore(t *testing.T) {
	embedded := func(s *rayv1.GcsEmbeddedStorage) raytest.ClusterOption {
		return gcsOptions(rayv1.GcsFaultToleranceOptions{Backend: rayv1.GcsFTBackendRocksDB, Storage: s})
	}
	for name, tc := range map[string]struct {
		storage             *rayv1.GcsEmbeddedStorage
		wantClaim, wantPath string
	}{
		"claim of the operator": {nil, "demo-gcs-pvc", ""},
		"claim of the user":     {&rayv1.GcsEmbeddedStorage{ClaimName: "mine", SubPath: "a/b"}, "mine", "a/b"},
	} {
		head, worker := buildBoth(Options{}, embedded(tc.storage))
		volume, mount := head.Spec.Volumes[0], head.Spec.Containers[0].VolumeMounts[0]
		want := []string{"gcs-storage", tc.wantClaim, "gcs-storage", "/data/gcs", tc.wantPath}
		got := []string{volume.Name, volume.PersistentVolumeClaim.ClaimName, mount.Name, mount.MountPath, mount.SubPath}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: volume and mount (-want +got):\n%s", name, diff)
		}
		if len(worker.Spec.Volumes) != 1 {
			t.Errorf("%s: want workers without the store, got %v", name, worker.Spec.Volumes)
		}
	}
}
