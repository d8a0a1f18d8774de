package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// platform has what a platform sets beside what raygate does.
const platform = `
image: {digest: "sha256:0123456789012345678901234567890123456789012345678901234567890123", tag: v1}
serviceAccount: {annotations: {iam: operator}}
envFrom: [{configMapRef: {name: proxy}}]
extraVolumes: [{name: registry, configMap: {name: families}}]
extraVolumeMounts: [{name: registry, mountPath: /registry}]
topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule}]
hostUsers: false
commonLabels: {cost-center: "7"}
deploymentAnnotations: {reload: "yes"}
extraContainers: [{name: proxy, image: proxy}]
podSpec: {hostNetwork: true, dnsPolicy: ClusterFirstWithHostNet}
global: {imageRegistry: mirror.example.com, imagePullSecrets: [{name: mirror}]}
extraObjects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: "{{ .Release.Name }}-more"}}]
podDisruptionBudget: {maxUnavailable: 50%}
podSecurityContext: {runAsUser: null}
webhooks:
  mode: self-managed
  timeoutSeconds: 7
  port: 9444
  namespaceSelector: {matchLabels: {ray: "yes"}}
  objectSelector: {matchExpressions: [{key: raygate, operator: NotIn, values: ["off"]}]}
networkPolicy:
  metricsFrom: [{namespaceSelector: {matchLabels: {name: monitoring}}}]
  gatewayFrom: [{ipBlock: {cidr: 10.0.0.0/8}}]
  egress: [{ports: [{port: 53}]}, {ports: [{port: 443}]}]
tracing: {endpoint: "https://collector:4317", samplingRatePerMillion: 1000, secretName: collector}
metrics:
  export: {endpoint: "https://metrics:4317", interval: 30s, secretName: metrics-collector}
  serviceMonitor: {enabled: true, endpoint: {scrapeTimeout: 5s}}
  podMonitor: {enabled: true, interval: 15s, additionalLabels: {release: prometheus}}
  prometheusRule: {enabled: true, gatewayJob: "gateway-.*", runbookURL: "https://wiki.example.com/raygate", additionalLabels: {release: prometheus}}
  dashboards: {enabled: true, namespace: monitoring}
gateway:
  enabled: true
  serviceAccount: {name: gateway-account, annotations: {iam: gateway}}
  authentication: {mode: impersonate, clientCASecretName: client-ca, configurationConfigMapName: issuers, tokenAudiences: [raygate, ray]}
  envFrom: [{secretRef: {name: more}}]
  autoscaling: {enabled: true, maxReplicas: 4}
  service: {type: LoadBalancer, spec: {loadBalancerClass: internal}}
  extraContainers: [{name: proxy, image: proxy}]
  podSpec: {schedulerName: other}
  deploymentAnnotations: {reload: "yes"}
  extraVolumes: [{name: keys, secret: {secretName: keys}}]
  extraVolumeMounts: [{name: keys, mountPath: /keys}]
  topologySpreadConstraints: []
  fsGroup: null
  ingress: {enabled: true, className: nginx, host: ray.example.com, tlsSecretName: ray-tls}
  httpRoute: {enabled: true, parentRefs: [{name: public}], hostnames: [ray.example.com]}
  grpcRoute: {enabled: true, parentRefs: [{name: public}]}
`

// Values of a platform reach the Pods of the operator and the gateway.
func TestPlatformPods(t *testing.T) {
	objects := render(t, platform)
	operator, c := operatorOf(t, objects)
	if want := "mirror.example.com/raygate-operator@sha256:0123456789012345678901234567890123456789012345678901234567890123"; c.Image != want {
		t.Errorf("image %s, want %s", c.Image, want)
	}
	pod := operator.Spec.Template.Spec
	hasVolume := func(pod corev1.PodSpec, name string) bool {
		return slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == name }) &&
			slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == name })
	}
	if !hasVolume(pod, "registry") || len(c.EnvFrom) != 1 || pod.HostUsers == nil || *pod.HostUsers || pod.SecurityContext.RunAsUser != nil {
		t.Errorf("the Pod of the operator is %+v", pod)
	}
	if !pod.HostNetwork || len(pod.Containers) != 2 || pod.ImagePullSecrets[0].Name != "mirror" || operator.Annotations["reload"] != "yes" ||
		!slices.Contains(c.Args, "--webhook-port=9444") || operator.Spec.Template.Labels["cost-center"] != "7" {
		t.Errorf("the Deployment of the operator is %+v", operator)
	}
	spread := pod.TopologySpreadConstraints
	if len(spread) != 1 || spread[0].LabelSelector == nil || spread[0].LabelSelector.MatchLabels["app.kubernetes.io/component"] != "operator" {
		t.Errorf("topologySpreadConstraints %+v", spread)
	}
	gateway := find[appsv1.Deployment](t, objects, "Deployment", "raygate-apiserver").Spec.Template.Spec
	args := gateway.Containers[0].Args
	if !hasVolume(gateway, "keys") || !hasVolume(gateway, "client-ca") || !hasVolume(gateway, "authentication") || len(gateway.Containers[0].EnvFrom) != 1 || gateway.TopologySpreadConstraints != nil ||
		gateway.SecurityContext.FSGroup != nil || !slices.Contains(args, "--authentication=impersonate") || !slices.Contains(args, "--client-ca-file=/client-ca/ca.crt") ||
		!slices.Contains(args, "--token-audiences=raygate,ray") {
		t.Errorf("the Pod of the gateway is %+v", gateway)
	}
	for name, want := range map[string]string{"raygate-operator": "operator", "gateway-account": "gateway"} {
		if got := find[corev1.ServiceAccount](t, objects, "ServiceAccount", name).Annotations["iam"]; got != want {
			t.Errorf("ServiceAccount %s has the annotation %q, want %q", name, got, want)
		}
	}
	binding := find[rbacv1.ClusterRoleBinding](t, objects, "ClusterRoleBinding", "raygate-apiserver-impersonator")
	if s := binding.Subjects; len(s) != 1 || s[0].Name != "gateway-account" || s[0].Namespace != namespace {
		t.Errorf("the right to impersonate is bound to %+v", s)
	}
}

// Operator and gateway send traces and metrics to collectors over TLS, with the CAs and the credentials of Secrets.
func TestTelemetry(t *testing.T) {
	objects := render(t, platform)
	flagsOfMetrics := []string{"--metrics-export-endpoint=https://metrics:4317", "--metrics-export-interval=30s", "--metrics-export-ca-file=/metrics-export/ca.crt"}
	for name, want := range map[string][]string{
		"raygate-operator":  append([]string{"--tracing-endpoint=https://collector:4317", "--tracing-sampling-rate-per-million=1000", "--tracing-ca-file=/tracing/ca.crt"}, flagsOfMetrics...),
		"raygate-apiserver": flagsOfMetrics,
	} {
		pod := find[appsv1.Deployment](t, objects, "Deployment", name).Spec.Template.Spec
		for _, arg := range want {
			if !slices.Contains(pod.Containers[0].Args, arg) {
				t.Errorf("%s: no %s among %q", name, arg, pod.Containers[0].Args)
			}
		}
		headers := slices.ContainsFunc(pod.Containers[0].Env, func(e corev1.EnvVar) bool {
			return e.Name == "OTEL_EXPORTER_OTLP_METRICS_HEADERS" && e.ValueFrom.SecretKeyRef.Name == "metrics-collector"
		})
		if !headers || !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "metrics-export" }) {
			t.Errorf("%s: environment %+v, volumes %+v", name, pod.Containers[0].Env, pod.Volumes)
		}
	}
}

const withLogin = `
gateway:
  enabled: true
  authentication:
    mode: impersonate
    configurationConfigMapName: issuers
    extraKeys: [example.com/team]
    impersonatedGroups: ["sso:ml"]
    login:
      redirectURL: https://ray.example.com/oauth2/callback
      secretName: clients
      providers: [{issuerURL: "https://login.example.com", clientID: console, clientSecretKey: example, name: Example, scopes: [openid, groups]}]
`

// The gateway gets the providers in a file, after whose change new Pods start, and the client secrets in another. It may impersonate the groups and extra
// keys of the mappings alone.
func TestLogin(t *testing.T) {
	objects := render(t, withLogin)
	template := func(objects []*unstructured.Unstructured) corev1.PodTemplateSpec {
		return find[appsv1.Deployment](t, objects, "Deployment", "raygate-apiserver").Spec.Template
	}
	pod, changed := template(objects).Spec, template(render(t, strings.Replace(withLogin, "openid, groups", "openid", 1)))
	if sum := template(objects).Annotations["checksum/login"]; sum == "" || sum == changed.Annotations["checksum/login"] {
		t.Errorf("the Pods of the gateway have the checksum %q before and after a change of the file", sum)
	}
	rules := find[rbacv1.ClusterRole](t, objects, "ClusterRole", "raygate-apiserver-impersonator-extra").Rules
	if len(rules) != 1 || !slices.Equal(rules[0].Resources, []string{"userextras/example.com/team"}) {
		t.Errorf("the gateway may impersonate by %+v", rules)
	}
	rules = find[rbacv1.ClusterRole](t, objects, "ClusterRole", "raygate-apiserver-impersonator").Rules
	for _, r := range rules {
		if slices.Contains(r.Resources, "serviceaccounts") || slices.Contains(r.Resources, "groups") && !slices.Equal(r.ResourceNames, []string{"sso:ml"}) {
			t.Errorf("the gateway may impersonate by %+v", r)
		}
	}
	if len(rules) != 4 || !slices.Equal(rules[0].Resources, []string{"users"}) {
		t.Errorf("the gateway may impersonate by %+v", rules)
	}
	if !slices.Contains(pod.Containers[0].Args, "--login-config=/login/login.yaml") {
		t.Errorf("the flags of the gateway are %v", pod.Containers[0].Args)
	}
	for _, name := range []string{"login", "login-secrets"} {
		if !slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == name }) {
			t.Errorf("there is no volume %s", name)
		}
	}
	const want = `redirectURL: "https://ray.example.com/oauth2/callback"
checkInterval: "5m"
providers:
- issuerURL: "https://login.example.com"
  clientID: "console"
  name: "Example"
  clientSecretFile: "/login-secrets/example"
  scopes: ["openid","groups"]
`
	if diff := cmp.Diff(want, find[corev1.ConfigMap](t, objects, "ConfigMap", "raygate-apiserver-login").Data["login.yaml"]); diff != "" {
		t.Errorf("login.yaml (-want +got):\n%s", diff)
	}
}

// Operator and gateway share a claim, and the credentials of a store.
func TestHistory(t *testing.T) {
	objects := render(t, "{history: {enabled: true, secretName: keys, persistence: {size: 5Gi}}, gateway: {enabled: true}}")
	claim := find[corev1.PersistentVolumeClaim](t, objects, "PersistentVolumeClaim", "raygate-history")
	if claim.Spec.Resources.Requests.Storage().String() != "5Gi" || claim.Spec.StorageClassName != nil || claim.Annotations["helm.sh/resource-policy"] != "keep" {
		t.Errorf("the claim is %+v", claim)
	}
	for _, name := range []string{"raygate-operator", "raygate-apiserver"} {
		pod := find[appsv1.Deployment](t, objects, "Deployment", name).Spec.Template.Spec
		c := pod.Containers[0]
		if !slices.Contains(c.Args, "--history-store=file:///history") || len(c.EnvFrom) != 1 || c.EnvFrom[0].SecretRef.Name != "keys" {
			t.Errorf("%s: arguments %q, environment from %+v", name, c.Args, c.EnvFrom)
		}
		mounted := slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "history" && m.MountPath == "/history" })
		shared := slices.ContainsFunc(pod.Volumes, func(v corev1.Volume) bool {
			return v.Name == "history" && v.PersistentVolumeClaim.ClaimName == "raygate-history"
		})
		if group := pod.SecurityContext.FSGroup; !mounted || !shared || group == nil || *group != 65532 {
			t.Errorf("%s: mounts %+v, volumes %+v, fsGroup %v", name, c.VolumeMounts, pod.Volumes, group)
		}
	}
	find[rbacv1.ClusterRole](t, objects, "ClusterRole", "raygate-operator-history")
	for _, values := range []string{"{}", "history: {enabled: true, persistence: {existingClaim: mine}}", `history: {enabled: true, url: "s3://b"}`} {
		for _, o := range render(t, values) {
			if o.GetKind() == "PersistentVolumeClaim" {
				t.Errorf("%s: the chart makes the claim %s", values, o.GetName())
			}
		}
	}
}

// Limits of the history are those of the operator, and the gateway keeps packages in the store of the history or in another one.
func TestLimitsOfStores(t *testing.T) {
	const values = `{history: {url: "s3://b?region=r", wait: 2m, logLimit: 1Mi, nodeLogs: 8Mi, maxAge: "0", maxSize: 1Gi},
		gateway: {enabled: true, dashboardPages: /pages, packages: {url: "https://g:8888", store: "s3://p", maxSize: 9Mi, namespaceSize: 99Mi, keep: 4h}}}`
	objects := render(t, values)
	for name, want := range map[string]string{
		"raygate-operator":  "--history-log-limit=1Mi --history-max-age=0 --history-max-size=1Gi --history-node-logs=8Mi --history-store=s3://b?region=r --history-wait=2m",
		"raygate-apiserver": "--dashboard-pages=/pages --history-store=s3://b?region=r --package-keep=4h --package-max-size=9Mi --package-namespace-size=99Mi --package-store=s3://p --package-url=https://g:8888",
	} {
		args := strings.Join(find[appsv1.Deployment](t, objects, "Deployment", name).Spec.Template.Spec.Containers[0].Args, " ")
		if !strings.Contains(args, " "+want) {
			t.Errorf("%s: arguments %s, want %s", name, args, want)
		}
	}
}

// Files in volumes serve without a certificate, too.
func TestVolumesAlone(t *testing.T) {
	const values = "gateway: {enabled: true, tls: {mode: none}, extraVolumes: [{name: a, emptyDir: {}}], extraVolumeMounts: [{name: a, mountPath: /a}]}"
	pod := find[appsv1.Deployment](t, render(t, values), "Deployment", "raygate-apiserver").Spec.Template.Spec
	if len(pod.Volumes) != 1 || len(pod.Containers[0].VolumeMounts) != 1 {
		t.Errorf("volumes %+v, mounts %+v", pod.Volumes, pod.Containers[0].VolumeMounts)
	}
}

// The gateway scales by its load, and fields of values reach its Pods and its Service.
func TestPlatformGateway(t *testing.T) {
	objects := render(t, platform)
	gateway := find[appsv1.Deployment](t, objects, "Deployment", "raygate-apiserver")
	pod := gateway.Spec.Template.Spec
	if gateway.Spec.Replicas != nil || pod.SchedulerName != "other" || len(pod.Containers) != 2 || gateway.Annotations["reload"] != "yes" {
		t.Errorf("the Deployment is %+v", gateway)
	}
	scaler := find[autoscalingv2.HorizontalPodAutoscaler](t, objects, "HorizontalPodAutoscaler", "raygate-apiserver").Spec
	if scaler.ScaleTargetRef.Name != gateway.Name || *scaler.MinReplicas != 2 || scaler.MaxReplicas != 4 {
		t.Errorf("the autoscaler is %+v", scaler)
	}
	if class := find[corev1.Service](t, objects, "Service", "raygate-apiserver").Spec.LoadBalancerClass; class == nil || *class != "internal" {
		t.Errorf("loadBalancerClass %v", class)
	}
	for _, name := range []string{"raygate-operator", "raygate-apiserver"} {
		if budget := find[policyv1.PodDisruptionBudget](t, objects, "PodDisruptionBudget", name); budget.Spec.MaxUnavailable.String() != "50%" {
			t.Errorf("%s: maxUnavailable %s", name, budget.Spec.MaxUnavailable)
		}
	}
	if !has(objects, "ConfigMap", "raygate-more") {
		t.Error("there is no ConfigMap of extraObjects")
	}
}

// Certificates come from the issuer of the values, and the chart then makes none.
func TestIssuer(t *testing.T) {
	const values = "{webhooks: {mode: cert-manager}, gateway: {enabled: true, tls: {mode: cert-manager}}"
	certificates := func(values string) map[string]string {
		issuers := map[string]string{}
		for _, o := range render(t, values) {
			switch o.GetKind() {
			case "Issuer":
				issuers[o.GetName()] = ""
			case "Certificate":
				issuers[o.GetName()], _, _ = unstructured.NestedString(o.Object, "spec", "issuerRef", "name")
			}
		}
		return issuers
	}
	want := map[string]string{"raygate-webhook-cert": "vault", "raygate-apiserver": "vault"}
	if diff := cmp.Diff(want, certificates(values+", issuerRef: {name: vault, kind: ClusterIssuer}}")); diff != "" {
		t.Errorf("issuers (-want +got):\n%s", diff)
	}
	want = map[string]string{
		"raygate-selfsigned": "", "raygate-apiserver-selfsigned": "", "raygate-webhook-ca": "raygate-selfsigned",
		"raygate-webhook-cert": "raygate-webhook-ca", "raygate-apiserver": "raygate-apiserver-selfsigned",
	}
	if diff := cmp.Diff(want, certificates(values+"}")); diff != "" {
		t.Errorf("issuers of the chart (-want +got):\n%s", diff)
	}
}

// Selectors of values narrow those of the webhooks, which stay.
func TestPlatformWebhooks(t *testing.T) {
	objects := render(t, platform)
	before := find[admissionregistrationv1.ValidatingWebhookConfiguration](t, render(t, "webhooks: {mode: self-managed}"), "ValidatingWebhookConfiguration", "raygate-validating-webhook")
	for i, w := range find[admissionregistrationv1.ValidatingWebhookConfiguration](t, objects, "ValidatingWebhookConfiguration", "raygate-validating-webhook").Webhooks {
		if *w.TimeoutSeconds != 7 || w.NamespaceSelector.MatchLabels["ray"] != "yes" || len(w.ObjectSelector.MatchExpressions) != 1 {
			t.Errorf("%s: %d s, %v, %v", w.Name, *w.TimeoutSeconds, w.NamespaceSelector, w.ObjectSelector)
		}
		if diff := cmp.Diff(before.Webhooks[i].NamespaceSelector.MatchExpressions, w.NamespaceSelector.MatchExpressions); diff != "" {
			t.Errorf("%s has other conditions on namespaces (-want +got):\n%s", w.Name, diff)
		}
	}
}

// Ports with peers have rules of their own; the others stay open to all.
func TestPlatformNetworkPolicies(t *testing.T) {
	objects := render(t, platform)
	for name, want := range map[string]map[int32]bool{
		"raygate-operator":  {8080: true, 8082: false, 9444: false},
		"raygate-apiserver": {8887: true, 8888: true, 9090: true},
	} {
		policy := find[networkingv1.NetworkPolicy](t, objects, "NetworkPolicy", name)
		got := map[int32]bool{}
		for _, rule := range policy.Spec.Ingress {
			for _, p := range rule.Ports {
				got[p.Port.IntVal] = len(rule.From) > 0
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: ports with peers (-want +got):\n%s", name, diff)
		}
		if len(policy.Spec.PolicyTypes) != 2 || len(policy.Spec.Egress) != 2 {
			t.Errorf("%s: %v, egress %v", name, policy.Spec.PolicyTypes, policy.Spec.Egress)
		}
	}
}

// The gateway is exposed by an Ingress and by routes of the Gateway API.
func TestExposedGateway(t *testing.T) {
	objects := render(t, platform)
	rule := find[networkingv1.Ingress](t, objects, "Ingress", "raygate-apiserver").Spec.Rules[0]
	if rule.Host != "ray.example.com" || rule.HTTP.Paths[0].Backend.Service.Port.Number != 8888 {
		t.Errorf("the Ingress has the rule %+v", rule)
	}
	for kind, want := range map[string]int64{"HTTPRoute": 8888, "GRPCRoute": 8887} {
		i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind })
		if i < 0 {
			t.Errorf("there is no %s", kind)
			continue
		}
		rules, _, _ := unstructured.NestedSlice(objects[i].Object, "spec", "rules")
		backend := rules[0].(map[string]any)["backendRefs"].([]any)[0].(map[string]any)
		if backend["port"] != want || backend["name"] != "raygate-apiserver" {
			t.Errorf("%s leads to %v, want the port %d", kind, backend, want)
		}
		request, _, _ := unstructured.NestedString(rules[0].(map[string]any), "timeouts", "request")
		if (request == "0s") != (kind == "HTTPRoute") {
			t.Errorf("%s has the time limit %q", kind, request)
		}
	}
	if _, err := template(t, "gateway: {enabled: true, httpRoute: {enabled: true}}"); err == nil || !strings.Contains(err.Error(), "parentRefs") {
		t.Errorf("a route without a Gateway: %v", err)
	}
}

// A Route of OpenShift leads to the gateway, where TLS ends unless it has no certificate.
func TestRoute(t *testing.T) {
	for values, want := range map[string][2]string{"": {"passthrough", "https"}, ", tls: {mode: none}": {"edge", "http"}} {
		objects := render(t, "gateway: {enabled: true, route: {enabled: true, host: ray.example.com}"+values+"}")
		i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Route" })
		if i < 0 {
			t.Fatal("there is no Route")
		}
		termination, _, _ := unstructured.NestedString(objects[i].Object, "spec", "tls", "termination")
		port, _, _ := unstructured.NestedString(objects[i].Object, "spec", "port", "targetPort")
		if got := [2]string{termination, port}; got != want {
			t.Errorf("%q: TLS ends by %v, want %v", values, got, want)
		}
	}
}

// Alerts select the jobs that the ServiceMonitors of the release have, or those of the values.
func TestMonitoring(t *testing.T) {
	objects := render(t, platform)
	text := func(kind, name string) string {
		for _, o := range objects {
			if o.GetKind() == kind && o.GetName() == name {
				data, err := yaml.Marshal(o.Object)
				if err != nil {
					t.Fatal(err)
				}
				return string(data)
			}
		}
		t.Errorf("there is no %s %s", kind, name)
		return ""
	}
	rules := text("PrometheusRule", "raygate")
	for _, want := range []string{`job=~"raygate-operator-metrics"`, `job=~"gateway-.*"`, "https://wiki.example.com/raygate#raygateoperatordown", "release: prometheus", "{{ $labels.namespace }}"} {
		if !strings.Contains(rules, want) {
			t.Errorf("the PrometheusRule lacks %s", want)
		}
	}
	if strings.Contains(rules, "raygate-apiserver(-metrics)?") || strings.Contains(rules, "github.com") {
		t.Error("the PrometheusRule has jobs or links that the values replace")
	}
	if monitor := text("ServiceMonitor", "raygate-operator"); !strings.Contains(monitor, "scrapeTimeout: 5s") {
		t.Errorf("ServiceMonitor:\n%s", monitor)
	}
	if strings.Contains(text("Service", "raygate-operator-metrics"), "prometheus.io") {
		t.Error("the operator is scraped twice")
	}
	if !strings.Contains(text("PrometheusRule", "raygate-ray"), `job="ray"`) {
		t.Error("the alerts about Ray select no job")
	}
	if monitor := text("PodMonitor", "raygate-ray"); strings.Count(monitor, "interval: 15s") != 3 || !strings.Contains(monitor, "replacement: ray\n") {
		t.Errorf("PodMonitor:\n%s", monitor)
	}
	for _, name := range []string{"raygate-ray", "raygate-operator", "raygate-gateway", "raygate-ray-nodes"} {
		config := find[corev1.ConfigMap](t, objects, "ConfigMap", name+"-dashboard")
		if config.Labels["grafana_dashboard"] != "1" || config.Namespace != "monitoring" || !strings.Contains(config.Data[name+".json"], `"uid":"`+name+`"`) {
			t.Errorf("dashboard %s: %v, %.80s", name, config.Labels, config.Data[name+".json"])
		}
	}
	rule := "metrics: {prometheusRule: {enabled: true}}"
	objects = render(t, "{fullnameOverride: kuberay-operator, "+rule+"}")
	if !strings.Contains(text("PrometheusRule", "raygate"), `job=~"kuberay-operator-metrics"`) {
		t.Error("the rules do not select the operator by the name of the release")
	}
}

// Values of later charts of KubeRay that mean nothing here do not fail, and the notes name them.
func TestNotes(t *testing.T) {
	notes := func(values string) string {
		files, err := template(t, values)
		if err != nil {
			t.Fatal(err)
		}
		return files["raygate/templates/NOTES.txt"]
	}
	for values, want := range map[string]string{
		"eventForwarder: {enabled: true, image: {tag: x}}": "eventForwarder",
		"imageRegistry: ''": "imageRegistry is empty",
	} {
		if got := notes(values); !strings.Contains(got, "WARNING: ") || !strings.Contains(got, want) {
			t.Errorf("%s: the notes do not warn:\n%s", values, got)
		}
	}
	if got := notes("{imageRegistry: registry.example.com, hostUsers: true}"); strings.Contains(got, "WARNING") {
		t.Errorf("the notes warn of nothing:\n%s", got)
	}
}
