package gcs_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	rayv1 "github.com/raygate/raygate/api/ray/v1"
	"github.com/raygate/raygate/internal/testing/raytest"
	"github.com/raygate/raygate/operator/internal/build/gcs"
)

func options(o rayv1.GcsFaultToleranceOptions) raytest.ClusterOption {
	return raytest.Spec(func(s *rayv1.RayClusterSpec) { s.GcsFaultToleranceOptions = &o })
}

func annotation(key, value string) raytest.ClusterOption {
	return raytest.Annotations(map[string]string{key: value})
}

func TestBackend(t *testing.T) {
	cases := map[string]struct {
		opts []raytest.ClusterOption
		want rayv1.GcsFaultToleranceBackend
	}{
		"off":                        {},
		"annotation in any letters":  {[]raytest.ClusterOption{annotation(rayv1.AnnotationFTEnabled, "TRUE")}, "redis"},
		"annotation that says no":    {[]raytest.ClusterOption{annotation(rayv1.AnnotationFTEnabled, "yes")}, ""},
		"options without a backend":  {[]raytest.ClusterOption{options(rayv1.GcsFaultToleranceOptions{})}, "redis"},
		"options with Redis":         {[]raytest.ClusterOption{options(rayv1.GcsFaultToleranceOptions{Backend: "redis"})}, "redis"},
		"options with a store":       {[]raytest.ClusterOption{options(rayv1.GcsFaultToleranceOptions{Backend: "rocksdb"})}, "rocksdb"},
		"options win over the other": {[]raytest.ClusterOption{options(rayv1.GcsFaultToleranceOptions{Backend: "rocksdb"}), annotation(rayv1.AnnotationFTEnabled, "true")}, "rocksdb"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := gcs.Backend(raytest.RayCluster("ns/demo", tc.opts...)); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}

func TestStorageNamespace(t *testing.T) {
	const key = rayv1.AnnotationExternalStorageNamespace
	chosen := options(rayv1.GcsFaultToleranceOptions{ExternalStorageNamespace: "options"})
	variables := func(vars ...corev1.EnvVar) raytest.ClusterOption {
		return raytest.HeadContainer(func(c *corev1.Container) { c.Env = vars })
	}
	cases := map[string]struct {
		opts []raytest.ClusterOption
		want string
	}{
		"the UID":                   {want: "uid"},
		"the annotation":            {[]raytest.ClusterOption{annotation(key, "annotation")}, "annotation"},
		"the options before it":     {[]raytest.ClusterOption{annotation(key, "annotation"), chosen}, "options"},
		"the variable before them":  {[]raytest.ClusterOption{chosen, variables(corev1.EnvVar{Name: gcs.EnvStorageNamespace, Value: "variable"})}, "variable"},
		"the last of two variables": {[]raytest.ClusterOption{variables(corev1.EnvVar{Name: gcs.EnvStorageNamespace, Value: "a"}, corev1.EnvVar{Name: gcs.EnvStorageNamespace, Value: "b"})}, "b"},
		"no variable that is not known": {[]raytest.ClusterOption{
			chosen, variables(corev1.EnvVar{Name: gcs.EnvStorageNamespace, ValueFrom: &corev1.EnvVarSource{}}),
		}, "options"},
		"without a container": {[]raytest.ClusterOption{raytest.Head(func(h *rayv1.HeadGroupSpec) { h.Template.Spec.Containers = nil })}, "uid"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := gcs.StorageNamespace(raytest.RayCluster("ns/demo", append(tc.opts, raytest.UID("uid"))...)); got != tc.want {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}
