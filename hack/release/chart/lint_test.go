package chart

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

func TestLint(t *testing.T) {
	for chart, values := range map[string][]string{"raygate": {"", everything, platform}, "raygate-crds": {""}, "ray-cluster": {"", team}} {
		for _, v := range values {
			given := decode(t, []byte(v)).Object
			for _, m := range lint.RunAll(filepath.Join(root, "charts", chart), given, namespace).Messages {
				if m.Severity > support.InfoSev {
					t.Errorf("helm lint %s: %v", chart, m)
				}
			}
		}
	}
}

// Helm keeps a release in a Secret, which holds a MiB: chart, values and all that is rendered.
func TestReleaseFitsIntoSecret(t *testing.T) {
	for _, values := range []string{"policies: {enabled: true}", everything, platform} {
		files, err := template(t, values)
		if err != nil {
			t.Fatal(err)
		}
		release := releasev1.Release{Name: "raygate", Chart: load(t)}
		for name, content := range files {
			if !strings.HasSuffix(name, ".txt") {
				release.Manifest += "---\n# Source: " + name + "\n" + content + "\n"
			}
		}
		plain, err := json.Marshal(release)
		if err != nil {
			t.Fatal(err)
		}
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if _, err := w.Write(plain); err != nil {
			t.Fatal(err)
		}
		_ = w.Close()
		size := base64.StdEncoding.EncodedLen(packed.Len())
		t.Logf("the record of a release takes %d of %d bytes", size, corev1.MaxSecretSize)
		if size > corev1.MaxSecretSize*3/4 {
			t.Errorf("%d bytes of %d leave no room", size, corev1.MaxSecretSize)
		}
	}
}

// The Pods pass the restricted Pod security standard.
func TestRestrictedPodSecurity(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, values := range []string{"gateway: {enabled: true}", everything} {
		objects := render(t, values)
		for _, name := range []string{"raygate-operator", "raygate-apiserver"} {
			template := find[appsv1.Deployment](t, objects, "Deployment", name).Spec.Template
			if r := policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec)); !r.Allowed {
				t.Errorf("%s: %s", name, r.ForbiddenDetail())
			}
			for _, c := range template.Spec.Containers {
				if c.SecurityContext.ReadOnlyRootFilesystem == nil || !*c.SecurityContext.ReadOnlyRootFilesystem {
					t.Errorf("%s can write to the file system of its image", name)
				}
			}
			template.Spec.SecurityContext.RunAsNonRoot = nil // or this test could not fail
			if policy.AggregateCheckResults(evaluator.EvaluatePod(restricted, &template.ObjectMeta, &template.Spec)).Allowed {
				t.Errorf("%s is allowed as root", name)
			}
		}
	}
}
