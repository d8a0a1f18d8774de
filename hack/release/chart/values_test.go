package chart

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// everything turns on all that goes together.
const everything = `
replicas: 3
imageRegistry: registry.example.com/ray/
image: {tag: v1.2.3}
imagePullSecrets: [{name: pull}]
labels: {team: ray}
annotations: {note: here}
nodeSelector: {pool: system}
tolerations: [{key: system, operator: Exists}]
priorityClassName: system-cluster-critical
logging: {stdoutEncoder: console, baseDir: /logs, fileName: operator.log, sizeLimit: 1Gi}
batchScheduler: {name: volcano}
configuration: {enabled: true, deleteRayJobAfterJobFinishes: true, defaultPodLabels: {team: research}}
featureGates: [{name: RayClusterMTLS, enabled: true}, {name: RayCronJob, enabled: true}, {name: RayJobDeletionPolicy, enabled: false}]
metrics: {enabled: false, serviceMonitor: {enabled: true, additionalLabels: {release: prometheus}}}
useKubernetesProxy: true
leaderElectionEnabled: false
reconcileConcurrency: 4
kubeClient: {qps: 20.5, burst: 40}
watchNamespace: [team-a, team-b]
env: [{name: CLUSTER_DOMAIN, value: example.org}]
extraArgs: [--v=2]
webhooks: {mode: self-managed, failurePolicy: Fail, stage: Warn, refuseGroupRemoval: true}
deviceAdmission: {enabled: true}
gateway: {enabled: true, replicas: 3, profileNamespace: profiles, extraArgs: [--v=2], image: {tag: v1.2.3}, tracing: {endpoint: "https://collector:4317", samplingRatePerMillion: 1000000, secretName: collector}}
`

func operatorOf(t *testing.T, objects []*unstructured.Unstructured) (*appsv1.Deployment, corev1.Container) {
	t.Helper()
	d := find[appsv1.Deployment](t, objects, "Deployment", "raygate-operator")
	return d, d.Spec.Template.Spec.Containers[0]
}

// Each value reaches the operator.
func TestEverything(t *testing.T) {
	objects := render(t, everything)
	d, c := operatorOf(t, objects)
	want := []string{
		"--logging-format=text", "--log-file-path=/logs/operator.log", "--log-file-encoder=json", "--config=/etc/raygate/config.yaml",
		"--feature-gates=RayClusterMTLS=true,RayCronJob=true,RayJobDeletionPolicy=false", "--batch-scheduler=volcano", "--enable-metrics=false",
		"--use-kubernetes-proxy", "--leader-elect=false", "--reconcile-concurrency=4", "--kube-api-qps=20.5", "--kube-api-burst=40",
		"--watch-namespace=team-a,team-b", "--webhook-self-managed-certs", "--webhook-stage=Warn", "--webhook-refuse-group-removal", "--device-registry=shipped", "--v=2",
	}
	if diff := cmp.Diff(want, c.Args); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if c.Image != "registry.example.com/ray/raygate-operator:v1.2.3" {
		t.Errorf("image %s", c.Image)
	}
	if *d.Spec.Replicas != 3 || d.Spec.Template.Labels["team"] != "ray" || d.Spec.Template.Annotations["note"] != "here" ||
		d.Spec.Template.Spec.NodeSelector["pool"] != "system" || len(d.Spec.Template.Spec.Tolerations) != 1 || d.Spec.Template.Spec.PriorityClassName == "" || len(d.Spec.Template.Spec.ImagePullSecrets) != 1 {
		t.Errorf("Deployment %+v", d.Spec)
	}
	config := find[corev1.ConfigMap](t, objects, "ConfigMap", "raygate-operator-config").Data["config.yaml"]
	if !strings.Contains(config, "kind: Configuration\n") || !strings.Contains(config, "team: research") || !strings.Contains(config, "deleteRayJobAfterJobFinishes: true") {
		t.Errorf("configuration:\n%s", config)
	}
	for _, set := range []string{"mtls", "volcano", "kubernetes-proxy", "device-admission", "token-auth"} {
		role := find[rbacv1.ClusterRole](t, objects, "ClusterRole", "raygate-operator-"+set)
		binding := find[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding", "raygate-operator-"+set)
		if len(role.Rules) == 0 || binding.RoleRef.Name != role.Name || binding.Subjects[0].Name != "raygate-operator" || binding.Subjects[0].Namespace != namespace {
			t.Errorf("%s: %v, %+v", set, role.Rules, binding)
		}
	}
	gateway := find[appsv1.Deployment](t, objects, "Deployment", "raygate-apiserver")
	if args := gateway.Spec.Template.Spec.Containers[0].Args; *gateway.Spec.Replicas != 3 || !slices.Contains(args, "--namespaces=team-a,team-b") || !slices.Contains(args, "--profile-namespace=profiles") || !slices.Contains(args, "--v=2") {
		t.Errorf("gateway: %d replicas, %v", *gateway.Spec.Replicas, args)
	}
	testTracing(t, gateway)
	for _, name := range []string{"raygate-operator", "raygate-apiserver"} {
		if !has(objects, "ServiceMonitor", name) {
			t.Errorf("no ServiceMonitor %s", name)
		}
	}
}

// Traces go to a collector over TLS, with the CAs and the credentials of a Secret.
func testTracing(t *testing.T, gateway *appsv1.Deployment) {
	t.Helper()
	pod := gateway.Spec.Template.Spec
	c := pod.Containers[0]
	for _, arg := range []string{"--tracing-endpoint=https://collector:4317", "--tracing-sampling-rate-per-million=1000000", "--tracing-ca-file=/tracing/ca.crt"} {
		if !slices.Contains(c.Args, arg) {
			t.Errorf("no %s among %q", arg, c.Args)
		}
	}
	headers := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "OTEL_EXPORTER_OTLP_HEADERS" })
	if headers < 0 || c.Env[headers].ValueFrom.SecretKeyRef.Name != "collector" {
		t.Errorf("environment: %+v", c.Env)
	}
	if len(pod.Volumes) != 2 || pod.Volumes[1].Secret.SecretName != "collector" || len(c.VolumeMounts) != 2 || c.VolumeMounts[1].MountPath != "/tracing" {
		t.Errorf("volumes: %+v, %+v", pod.Volumes, c.VolumeMounts)
	}
}

// Every argument that the chart gives is a flag of the programs, as their documentation lists them; every name of a value is used.
func TestArgumentsAreFlags(t *testing.T) {
	flags, err := os.ReadFile(filepath.Join(root, "docs/operator.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, c := operatorOf(t, render(t, everything))
	for _, arg := range c.Args {
		name, _, _ := strings.Cut(arg, "=")
		if !strings.Contains(string(flags), "| `"+name+"` |") {
			t.Errorf("the operator has no flag %s", name)
		}
	}
}

// One namespace: no object of the whole cluster but the CRDs and their policies.
func TestSingleNamespace(t *testing.T) {
	for values, want := range map[string][]string{
		"{singleNamespaceInstall: true, gateway: {enabled: true}}":                             {namespace},
		"{singleNamespaceInstall: true, gateway: {enabled: true}, watchNamespace: [one, two]}": {"one", "two"},
	} {
		objects := render(t, values)
		roles := map[string][]string{}
		for _, o := range objects {
			if o.GetNamespace() == "" && !ofCRDs(o) {
				t.Errorf("%s: %s", values, key(o))
			}
			if o.GetKind() == "Role" {
				roles[o.GetName()] = append(roles[o.GetName()], o.GetNamespace())
			}
		}
		for _, name := range []string{"raygate-operator", "raygate-operator-token-auth", "raygate-apiserver"} {
			if !slices.Equal(roles[name], want) {
				t.Errorf("%s: Role %s is in %v, want %v", values, name, roles[name], want)
			}
		}
		if _, c := operatorOf(t, objects); !slices.Contains(c.Args, "--watch-namespace="+strings.Join(want, ",")) {
			t.Errorf("%s: arguments %v", values, c.Args)
		}
	}
}

// The ServiceAccount has another name everywhere, the match conditions of the webhooks included, or its own writes would be refused.
func TestServiceAccountName(t *testing.T) {
	objects := render(t, "{serviceAccount: {name: other}, webhooks: {mode: self-managed}}")
	for _, o := range objects {
		data, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		for _, wrong := range []string{`"serviceAccountName":"raygate-operator"`, ":raygate-operator'", `"kind":"ServiceAccount","name":"raygate-operator"`} {
			if strings.Contains(string(data), wrong) {
				t.Errorf("%s has %s", key(o), wrong)
			}
		}
	}
	if !has(objects, "ServiceAccount", "other") {
		t.Error("the ServiceAccount has another name")
	}
}

// A value that disables a part removes its objects.
func TestLeftOut(t *testing.T) {
	for values, kinds := range map[string][]string{
		"crds: {enabled: false}":                           {"CustomResourceDefinition", "ValidatingAdmissionPolicy"},
		"rbacEnable: false":                                {"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"},
		"podDisruptionBudget: {enabled: false}":            {"PodDisruptionBudget"},
		"networkPolicy: {enabled: false}":                  {"NetworkPolicy"},
		"{serviceAccount: {create: false}}":                {"ServiceAccount"},
		"{rbac: {userRoles: false}}":                       {},
		"{webhooks: {mode: none}, gateway: {enabled: no}}": {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "Certificate", "Secret", "ServiceMonitor", "ConfigMap"},
	} {
		for _, o := range render(t, values) {
			if slices.Contains(kinds, o.GetKind()) {
				t.Errorf("%s: %s", values, key(o))
			}
			if strings.HasPrefix(key(o), "ClusterRole raygate-ray") && strings.Contains(values, "userRoles") {
				t.Errorf("%s: %s", values, key(o))
			}
		}
	}
	for values, want := range map[string]string{"": "keep", "crds: {keep: false}": ""} {
		for _, o := range render(t, values) {
			if got := o.GetAnnotations()["helm.sh/resource-policy"]; o.GetKind() == "CustomResourceDefinition" && got != want {
				t.Errorf("%q: %s has the policy %q, want %q", values, key(o), got, want)
			}
		}
	}
}

// Mistakes in values are refused, with what is wrong.
func TestRefused(t *testing.T) {
	for values, want := range map[string]string{
		"podSpec: {tolerations: []}":                                     "its own value",
		"replica: 2":                                                     "replica",
		"webhooks: {mode: on}":                                           "mode",
		"reconcileConcurrency: 0":                                        "reconcileConcurrency",
		"kubeClient: {burst: -1}":                                        "burst",
		"featureGates: {RayCronJob: true}":                               "featureGates",
		"watchNamespace: [a b]":                                          "watchNamespace",
		"gateway: {tls: {mode: maybe}}":                                  "mode",
		"batchScheduler: {name: vulcano}":                                "batchScheduler",
		"deviceAdmission: {enabled: true}":                               "webhooks.mode",
		"deviceAdmission: {scope: Everything}":                           "scope",
		"gateway: {packages: {url: 'https://g'}}":                        "gateway.packages.store, or a history",
		"gateway: {packages: {store: 's3://b'}}":                         "gateway.packages.url",
		"{policies: {enabled: true}, webhooks: {mode: cert-manager}}":    "choose one",
		"{singleNamespaceInstall: true, webhooks: {mode: self-managed}}": "singleNamespaceInstall",
	} {
		if _, err := template(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", values, err, want)
		}
	}
}

// Device admission looks at the Pods of its scope; a quota that cannot be asked stops all Pods of a Kubernetes cluster only if the user says so.
func TestScopeOfDeviceAdmission(t *testing.T) {
	type exprs = []metav1.LabelSelectorRequirement
	rayPods := metav1.LabelSelectorRequirement{Key: "ray.io/node-type", Operator: metav1.LabelSelectorOpExists}
	labelled := metav1.LabelSelectorRequirement{Key: "devices.ray.io/enabled", Operator: metav1.LabelSelectorOpIn, Values: []string{"true"}}
	notIgnored := metav1.LabelSelectorRequirement{Key: "devices.ray.io/webhook", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"ignore"}}
	for values, want := range map[string]struct {
		mutating, validating exprs
		policy               admissionregistrationv1.FailurePolicyType
	}{
		"":                                    {exprs{rayPods, notIgnored}, exprs{rayPods}, admissionregistrationv1.Fail},
		", scope: Labelled":                   {exprs{labelled, notIgnored}, exprs{labelled}, admissionregistrationv1.Fail},
		", scope: All":                        {exprs{notIgnored}, exprs{}, admissionregistrationv1.Ignore},
		", scope: All, failurePolicy: Fail":   {exprs{notIgnored}, exprs{}, admissionregistrationv1.Fail},
		", scope: RayPods, failurePolicy: ''": {exprs{rayPods, notIgnored}, exprs{rayPods}, admissionregistrationv1.Fail},
	} {
		objects := render(t, "{webhooks: {mode: self-managed}, deviceAdmission: {enabled: true"+values+"}}")
		m := find[admissionregistrationv1.MutatingWebhookConfiguration](t, objects, "MutatingWebhookConfiguration", "raygate-mutating-webhook").Webhooks
		v := find[admissionregistrationv1.ValidatingWebhookConfiguration](t, objects, "ValidatingWebhookConfiguration", "raygate-validating-webhook").Webhooks
		mutating, validating := m[len(m)-1], v[len(v)-1]
		if diff := cmp.Diff(want.mutating, mutating.ObjectSelector.MatchExpressions); diff != "" || mutating.Name != "devices.pod.ray.io" {
			t.Errorf("%q: %s (-want +got):\n%s", values, mutating.Name, diff)
		}
		if diff := cmp.Diff(want.validating, validating.ObjectSelector.MatchExpressions); diff != "" || *validating.FailurePolicy != want.policy {
			t.Errorf("%q: %s, %s (-want +got):\n%s", values, validating.Name, *validating.FailurePolicy, diff)
		}
	}
}

// A values file for KubeRay's chart keeps working: its names, with what it has by default, and some others.
func TestValuesOfKubeRay(t *testing.T) {
	data, err := os.ReadFile("testdata/kuberay-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	d, c := operatorOf(t, render(t, string(data)))
	if d.Labels["app.kubernetes.io/component"] != "kuberay-operator" {
		t.Errorf("labels %v: kubectl ray version finds no operator", d.Labels)
	}
	for _, arg := range []string{"--reconcile-concurrency=1", "--kube-api-qps=100", "--kube-api-burst=200", "--watch-namespace=ray", "--batch-scheduler=yunikorn"} {
		if !slices.Contains(c.Args, arg) {
			t.Errorf("arguments %v lack %s", c.Args, arg)
		}
	}
}

// Each value stands in values.yaml with a default, and some template uses it.
func TestValuesAreUsed(t *testing.T) {
	var text strings.Builder
	for _, f := range load(t).Templates {
		text.Write(f.Data)
	}
	for _, dep := range load(t).Dependencies() {
		for _, f := range dep.Templates {
			text.Write(f.Data)
		}
	}
	for name := range load(t).Values {
		if !regexp.MustCompile(`(Values|\$v)\.`+name+`\b`).MatchString(text.String()) && name != "manifests" && name != "global" {
			t.Errorf("no template uses %s", name)
		}
	}
}
