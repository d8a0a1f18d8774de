package migrate

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// operatorPage is docs/operator.md, whose tables are held to the operator by tests of its own.
func operatorPage(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "operator.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSettingsAreTheOperators: whatever the report calls known is known to the operator, by the name that it says.
func TestSettingsAreTheOperators(t *testing.T) {
	page := operatorPage(t)
	for name, k := range flags {
		here, _, _ := strings.Cut(k.here, "=")
		if !strings.Contains(page, "| `--"+name+"` |") {
			t.Errorf("--%s is in no table of docs/operator.md", name)
		}
		if here != "" && !strings.Contains(page, "\n| `--"+here+"` |") {
			t.Errorf("--%s is called --%s here, which is in no table of docs/operator.md", name, here)
		}
	}
	for name := range variables {
		if !strings.Contains(page, "\n| `"+name+"` |") {
			t.Errorf("%s is in no table of docs/operator.md", name)
		}
	}
	for field := range fields() {
		if !strings.Contains(page, "`"+field+"`") && field != "apiVersion" && field != "kind" {
			t.Errorf("field %s is not in docs/operator.md", field)
		}
	}
	for _, gate := range gateNames {
		if !strings.Contains(page, "`"+gate+"`") {
			t.Errorf("feature gate %s is not in docs/operator.md", gate)
		}
	}
}

// TestRolesAreThoseThatAreInstalled: hack/generate-rbac.sh copies them.
func TestRolesAreThoseThatAreInstalled(t *testing.T) {
	copies, err := roles.ReadDir("roles")
	if err != nil || len(copies) < 8 {
		t.Fatalf("%d copies, %v", len(copies), err)
	}
	for _, file := range copies {
		name := strings.TrimSuffix(file.Name(), ".yaml")
		path := fileOf(name)
		if strings.HasPrefix(path, "operator/config/components/") {
			path += "/role.yaml"
		}
		want, err := os.ReadFile(filepath.Join("..", "..", "..", "..", filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := roles.ReadFile("roles/" + file.Name())
		if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("roles/%s is not %s; run hack/generate-rbac.sh (-want +got):\n%s", file.Name(), path, diff)
		}
		if rules, err := rulesOf(name); err != nil || len(rules) == 0 {
			t.Errorf("%s: %d rules, %v", name, len(rules), err)
		}
	}
}

// deployment is KubeRay's, with these words after the program.
func deployment(args []string, env ...corev1.EnvVar) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ray", Name: "kuberay-operator"},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			ServiceAccountName: "kuberay-operator",
			Containers:         []corev1.Container{{Name: "kuberay-operator", Image: "quay.io/kuberay/operator:v1.7.0", Command: []string{"/manager"}, Args: args, Env: env}},
		}}},
	}
}

// findings are those of settings, as "severity field".
func findings(r *Report) []string {
	all := map[string]bool{}
	for _, f := range r.Findings {
		if f.Field != "default" {
			all[string(f.Severity)+" "+f.Field] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

func TestSettings(t *testing.T) {
	cases := map[string]struct {
		args []string
		env  []corev1.EnvVar
		file string
		want []string
		// wantHere are settings with what they are called here.
		wantHere map[string]string
	}{
		"nothing": {},
		"what the chart sets": {
			args:     []string{"--feature-gates=RayJobDeletionPolicy=true,RayCronJob=false", "--enable-leader-election=true", "--enable-metrics=true", "--reconcile-concurrency=1", "--qps=100.0", "--burst=200"},
			wantHere: map[string]string{"--enable-leader-election": "--leader-elect", "--qps": "--kube-api-qps", "--burst": "--kube-api-burst", "--reconcile-concurrency": "--reconcile-concurrency"},
		},
		"values apart from names, and one dash": {
			args:     []string{"-watch-namespace", "a,b", "--use-kubernetes-proxy", "--metrics-addr", ":9090"},
			wantHere: map[string]string{"--watch-namespace": "--watch-namespace", "--use-kubernetes-proxy": "--use-kubernetes-proxy", "--metrics-addr": "--metrics-bind-address"},
		},
		"a flag that nobody knows":    {args: []string{"--frobnicate"}, want: []string{"error --frobnicate"}, wantHere: map[string]string{"--frobnicate": ""}},
		"a gate that nobody knows":    {args: []string{"--feature-gates=Frob=true"}, want: []string{"error --feature-gates"}},
		"a gate that is always on":    {args: []string{"--feature-gates=RayClusterStatusConditions=false"}, want: []string{"error --feature-gates"}},
		"a stray comma":               {args: []string{"--watch-namespace=a,"}, want: []string{"error --watch-namespace"}},
		"a variable that cannot be":   {env: []corev1.EnvVar{{Name: "ENABLE_PROBES_INJECTION", Value: "0"}}, want: []string{"error ENABLE_PROBES_INJECTION"}},
		"a switch in capitals":        {env: []corev1.EnvVar{{Name: "ENABLE_LOGIN_SHELL", Value: "TRUE"}}, wantHere: map[string]string{"ENABLE_LOGIN_SHELL": "ENABLE_LOGIN_SHELL"}},
		"webhooks in capitals":        {env: []corev1.EnvVar{{Name: "ENABLE_WEBHOOKS", Value: "True"}}, want: []string{"error ENABLE_WEBHOOKS"}},
		"a variable of somebody else": {env: []corev1.EnvVar{{Name: "PASSWORD", Value: "s3cret"}}, want: []string{"note PASSWORD"}},
		"a file":                      {args: []string{"--config=/etc/kuberay/config.yaml"}, file: "reconcileConcurrency: 4\ndefaultPodLabels: {a: b}\n", wantHere: map[string]string{"reconcileConcurrency": "reconcileConcurrency"}},
		"a file and flags":            {args: []string{"--config=/etc/kuberay/config.yaml", "--qps=5"}, file: "qps: 50\n", want: []string{"warning --qps"}},
		"a file with what is ignored": {args: []string{"--config=/etc/kuberay/config.yaml"}, file: "deleteRayJobAfterJobFinishes: true\nnonsense: 1\n", want: []string{"error nonsense", "warning deleteRayJobAfterJobFinishes"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newReport()
			d := deployment(tc.args, tc.env...)
			container := operatorContainer(d)
			s := &settings{report: r, operator: &Operator{gates: map[string]bool{}}}
			for _, f := range flagsOf(container) {
				s.flag(f, tc.file != "")
			}
			for _, v := range container.Env {
				s.variable(v)
			}
			if tc.file != "" {
				s.file("apiVersion: config.ray.io/v1alpha1\nkind: Configuration\n" + tc.file)
			}
			s.defaults(container)
			if diff := cmp.Diff(tc.want, findings(r)); diff != "" {
				t.Errorf("findings (-want +got):\n%s\n%+v", diff, r.Findings)
			}
			for _, entry := range s.operator.Settings {
				if want, ok := tc.wantHere[entry.Name]; ok && entry.Here != want {
					t.Errorf("%s is called %q here, want %q", entry.Name, entry.Here, want)
				}
				if strings.Contains(entry.Value, "s3cret") {
					t.Errorf("the report has a secret: %+v", entry)
				}
				delete(tc.wantHere, entry.Name)
			}
			if len(tc.wantHere) > 0 {
				t.Errorf("the report lacks %v", tc.wantHere)
			}
		})
	}
}

// TestOtherDefaults: a setting that has another default here is named unless it is set, and how to keep it.
func TestOtherDefaults(t *testing.T) {
	named := func(args []string, env ...corev1.EnvVar) int {
		r := newReport()
		container := operatorContainer(deployment(args, env...))
		s := &settings{report: r, operator: &Operator{gates: map[string]bool{}}}
		for _, f := range flagsOf(container) {
			s.flag(f, false)
		}
		for _, v := range env {
			s.variable(v)
		}
		s.defaults(container)
		n := 0
		for _, f := range r.Findings {
			if f.Field == "default" {
				n++
			}
		}
		return n
	}
	if n := named(nil); n != len(otherDefaults) {
		t.Errorf("%d defaults named, want %d", n, len(otherDefaults))
	}
	if n := named([]string{"--qps=100"}, corev1.EnvVar{Name: "RAYCLUSTER_DEFAULT_REQUEUE_SECONDS_ENV", Value: "300"}); n != len(otherDefaults)-2 {
		t.Errorf("%d defaults named, want two less than %d", n, len(otherDefaults))
	}
	page := operatorPage(t)
	for _, d := range otherDefaults {
		if name, _, _ := strings.Cut(d.keep, "="); !strings.Contains(page, "`"+name+"`") {
			t.Errorf("%s is not in docs/operator.md", name)
		}
	}
}

func TestLooksLikeOperator(t *testing.T) {
	other := func(change func(*appsv1.Deployment)) *appsv1.Deployment {
		d := deployment(nil)
		d.Name, d.Spec.Template.Spec.Containers[0].Image = "other", "example.com/mirror:1"
		change(d)
		return d
	}
	cases := map[string]struct {
		deployment *appsv1.Deployment
		want       bool
	}{
		"by its name": {deployment(nil), true},
		"by a label": {other(func(d *appsv1.Deployment) {
			d.Labels = map[string]string{"app.kubernetes.io/component": "kuberay-operator"}
		}), true},
		"by its image": {other(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "mirror/kuberay/operator:v1" }), true},
		"another":      {other(func(*appsv1.Deployment) {}), false},
		"raygate": {other(func(d *appsv1.Deployment) {
			d.Name, d.Spec.Template.Spec.Containers[0].Image = "kuberay-operator", "ghcr.io/raygate/raygate-operator:v1"
		}), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := looksLikeOperator(tc.deployment); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestConfigMapOf(t *testing.T) {
	mounted := func(mountPath, subPath string, items ...corev1.KeyToPath) *appsv1.Deployment {
		d := deployment(nil)
		spec := &d.Spec.Template.Spec
		spec.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Items: items}}}}
		spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "config", MountPath: mountPath, SubPath: subPath}}
		return d
	}
	cases := map[string]struct {
		deployment *appsv1.Deployment
		want       string
	}{
		"a folder":             {mounted("/etc/kuberay", ""), "settings config.yaml"},
		"a folder with slash":  {mounted("/etc/kuberay/", ""), "settings config.yaml"},
		"a renamed key":        {mounted("/etc/kuberay", "", corev1.KeyToPath{Key: "k", Path: "config.yaml"}), "settings k"},
		"a file":               {mounted("/etc/kuberay/config.yaml", "config.yaml"), "settings config.yaml"},
		"mounted elsewhere":    {mounted("/etc/other", ""), " "},
		"no ConfigMap mounted": {deployment(nil), " "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			name, key := configMapOf(tc.deployment, operatorContainer(tc.deployment), "/etc/kuberay/config.yaml")
			if got := name + " " + key; got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
