{{- /* The labels by which Services and others find the Pods of a component ("operator" or "apiserver"). They must never change: selectors of Deployments cannot. */ -}}
{{- define "raygate.selector" -}}
app.kubernetes.io/name: {{ .root.Values.nameOverride }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- /* Labels of all objects of a component. */ -}}
{{- define "raygate.labels" -}}
{{ include "raygate.selector" . }}
{{ include "raygate.chartLabels" .root }}
{{- end }}

{{- define "raygate.chartLabels" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | trunc 63 | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "raygate.serviceAccountName" -}}
{{ .Values.serviceAccount.name }}
{{- end }}

{{- /* Reference of an image: .root and .image. */ -}}
{{- define "raygate.image" -}}
{{- with .root.Values.imageRegistry | default (.root.Values.global | default dict).imageRegistry }}{{ . | trimSuffix "/" }}/{{ end }}
{{- .image.repository }}
{{- if .image.digest }}@{{ .image.digest }}{{ else }}:{{ .image.tag | default .root.Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "raygate.pullSecrets" -}}
{{- with .Values.imagePullSecrets | default (.Values.global | default dict).imagePullSecrets -}}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* Certificates of cert-manager: the set .name, by the issuer of the values if there is one. */ -}}
{{- define "raygate.certificates" -}}
{{- $documents := include (printf "raygate.certificates.%s" .name) .root }}
{{- if not .root.Values.issuerRef }}
{{- $documents }}
{{- else }}
{{- range splitList "\n---\n" (trimPrefix "---\n" $documents) }}
{{- $object := fromYaml . }}
{{- if and (eq $object.kind "Certificate") (not $object.spec.isCA) }}
{{- $_ := set $object.spec "issuerRef" $.root.Values.issuerRef }}
---
{{ toYaml $object }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Spread constraints of a component: .constraints, each with the selector of .component unless it has one. */ -}}
{{- define "raygate.spread" -}}
{{- $selector := include "raygate.selector" . | fromYaml }}
{{- range .constraints }}
- {{ merge (dict) . (dict "labelSelector" (dict "matchLabels" $selector)) | toYaml | nindent 2 | trim }}
{{- end }}
{{- end }}

{{- /* Webhooks (.webhooks, a list) with the conditions of the values webhooks.*. */ -}}
{{- define "raygate.selectedWebhooks" -}}
{{- $values := .root.Values.webhooks }}
{{- range .webhooks }}
{{- $webhook := . }}
{{- with $values.timeoutSeconds }}{{ $_ := set $webhook "timeoutSeconds" (int .) }}{{ end }}
{{- range $field := list "namespaceSelector" "objectSelector" }}
{{- with get $values $field }}
{{- $selector := get $webhook $field | default dict }}
{{- with .matchLabels }}{{ $_ := set $selector "matchLabels" (merge (dict) . ($selector.matchLabels | default dict)) }}{{ end }}
{{- with .matchExpressions }}{{ $_ := set $selector "matchExpressions" (concat ($selector.matchExpressions | default list) .) }}{{ end }}
{{- $_ := set $webhook $field $selector }}
{{- end }}
{{- end }}
{{- end }}
{{- toYaml .webhooks }}
{{- end }}

{{- /* Rules of incoming traffic from a list of .port and .peers: one for each port with peers, and one for all ports that are open to everybody. */ -}}
{{- define "raygate.ingressRules" -}}
{{- $open := list }}
{{- $rules := list }}
{{- range . }}
{{- if .peers }}{{ $rules = append $rules (dict "from" .peers "ports" (list (dict "port" .port))) }}{{ else }}{{ $open = append $open (dict "port" .port) }}{{ end }}
{{- end }}
{{- with $open }}{{ $rules = append $rules (dict "ports" .) }}{{ end }}
{{- toYaml $rules }}
{{- end }}

{{- /* Rules of outgoing traffic of the values, with the types of a policy. */ -}}
{{- define "raygate.policyTypes" -}}
{{- if kindIs "invalid" .Values.networkPolicy.egress }}
policyTypes: [Ingress]
{{- else }}
policyTypes: [Ingress, Egress]
egress:
  {{- toYaml .Values.networkPolicy.egress | nindent 2 }}
{{- end }}
{{- end }}

{{- /* "true" with webhooks, else empty. */ -}}
{{- define "raygate.webhooks" -}}
{{- if ne .Values.webhooks.mode "none" }}true{{ end }}
{{- end }}

{{- /* "true" if the feature gate .gate is turned on, else empty. */ -}}
{{- define "raygate.gate" -}}
{{- $on := "" }}
{{- range .root.Values.featureGates }}{{ if eq .name $.gate }}{{ $on = ternary "true" "" .enabled }}{{ end }}{{ end }}
{{- $on }}
{{- end }}

{{- define "raygate.batchScheduler" -}}
{{- .Values.batchScheduler.name | default (ternary "volcano" "" .Values.batchScheduler.enabled) }}
{{- end }}

{{- /* The namespaces to look at, by comma; empty for all. */ -}}
{{- define "raygate.namespaces" -}}
{{- $given := join "," .Values.watchNamespace }}
{{- $given | default (ternary .Release.Namespace "" .Values.singleNamespaceInstall) }}
{{- end }}

{{- /* Names of the sets of rules of the operator (raygate.rules.*), by comma. */ -}}
{{- define "raygate.ruleSets" -}}
{{- $sets := list "operator" }}
{{- if .Values.rbac.tokenAuth }}{{ $sets = append $sets "token-auth" }}{{ end }}
{{- if .Values.rbac.routes }}{{ $sets = append $sets "routes" }}{{ end }}
{{- if .Values.useKubernetesProxy }}{{ $sets = append $sets "kubernetes-proxy" }}{{ end }}
{{- if include "raygate.history.url" .Values.history }}{{ $sets = append $sets "history" }}{{ end }}
{{- if .Values.deviceAdmission.enabled }}{{ $sets = append $sets "device-admission" }}{{ end }}
{{- if include "raygate.gate" (dict "root" . "gate" "RayClusterMTLS") }}{{ $sets = append $sets "mtls" }}{{ end }}
{{- if include "raygate.gate" (dict "root" . "gate" "KubernetesWAS") }}{{ $sets = append $sets "workload-aware-scheduling" }}{{ end }}
{{- $scheduler := include "raygate.batchScheduler" . }}
{{- if has $scheduler (include "raygate.rules" . | splitList ",") }}{{ $sets = append $sets $scheduler }}{{ end }}
{{- join "," $sets }}
{{- end }}

{{- /* What the schema of the values cannot say. */ -}}
{{- define "raygate.check" -}}
{{- if and .Values.deviceAdmission.enabled (not (include "raygate.webhooks" .)) }}
{{- fail "deviceAdmission.enabled needs webhooks: set webhooks.mode to self-managed or cert-manager" }}
{{- end }}
{{- if and .Values.singleNamespaceInstall (eq .Values.webhooks.mode "self-managed") }}
{{- fail "webhooks.mode self-managed needs rights on the whole cluster, which singleNamespaceInstall leaves out: use cert-manager, or none" }}
{{- end }}
{{- if and .Values.singleNamespaceInstall (eq .Values.gateway.authentication.mode "impersonate") }}
{{- fail "gateway.authentication.mode impersonate needs rights on the whole cluster, which singleNamespaceInstall leaves out: use passthrough" }}
{{- end }}
{{- $packages := .Values.gateway.packages }}
{{- if and $packages.url (not $packages.store) (not (include "raygate.history.url" .Values.history)) }}
{{- fail "gateway.packages.url needs gateway.packages.store, or a history" }}
{{- end }}
{{- if and $packages.store (not $packages.url) }}
{{- fail "gateway.packages.store needs gateway.packages.url" }}
{{- end }}
{{- range $field := list "affinity" "containers" "nodeSelector" "securityContext" "serviceAccountName" "tolerations" "topologySpreadConstraints" "volumes" }}
{{- if or (hasKey $.Values.podSpec $field) (hasKey $.Values.gateway.podSpec $field) }}
{{- fail (printf "podSpec.%s is a field that the chart sets: use its own value" $field) }}
{{- end }}
{{- end }}
{{- $authentication := .Values.gateway.authentication }}
{{- if and $authentication.login.redirectURL (not (and (eq $authentication.mode "impersonate") $authentication.configurationConfigMapName)) }}
{{- fail "gateway.authentication.login needs mode impersonate and configurationConfigMapName, which says what the tokens of the providers mean" }}
{{- end }}
{{- range $authentication.login.providers }}
{{- if and .clientSecretKey (not $authentication.login.secretName) }}
{{- fail "gateway.authentication.login.providers: clientSecretKey needs login.secretName" }}
{{- end }}
{{- end }}
{{- if and .Values.policies.enabled (include "raygate.webhooks" .) }}
{{- fail "policies.enabled and webhooks.mode hold objects to the same rules: choose one" }}
{{- end }}
{{- end }}

{{- /* Annotations of webhook configurations: whose CA they get, and what the operator puts back (docs/device-admission.md). */ -}}
{{- define "raygate.webhooks.annotations" -}}
{{- $annotations := dict }}
{{- if eq .Values.webhooks.mode "cert-manager" }}
{{- $_ := set $annotations "cert-manager.io/inject-ca-from" (printf "%s/raygate-webhook-cert" .Release.Namespace) }}
{{- end }}
{{- if and .Values.deviceAdmission.enabled .Values.deviceAdmission.keepRegistrations (not .Values.singleNamespaceInstall) }}
{{- $_ := set $annotations "devices.ray.io/scope" .Values.deviceAdmission.scope }}
{{- with .Values.deviceAdmission.failurePolicy }}
{{- $_ := set $annotations "devices.ray.io/failure-policy" . }}
{{- end }}
{{- end }}
{{- with $annotations }}{{ toYaml . }}{{ end }}
{{- end }}

{{- /* The webhook of device admission, validating or mutating, for the Pods of deviceAdmission.scope. */ -}}
{{- define "raygate.deviceWebhook" -}}
{{- $values := .root.Values.deviceAdmission }}
{{- $webhook := include (printf "raygate.webhooks.%s.devices" .kind) .root | fromYamlArray | first }}
{{- if ne $values.scope "RayPods" }}
{{- $expressions := list }}
{{- if eq $values.scope "Labelled" }}
{{- $expressions = append $expressions (dict "key" "devices.ray.io/enabled" "operator" "In" "values" (list "true")) }}
{{- end }}
{{- range $webhook.objectSelector.matchExpressions }}
{{- if ne .key "ray.io/node-type" }}
{{- $expressions = append $expressions . }}
{{- end }}
{{- end }}
{{- $_ := set $webhook "objectSelector" (dict "matchExpressions" $expressions) }}
{{- end }}
{{- if eq .kind "validating" }}
{{- $_ := set $webhook "failurePolicy" ($values.failurePolicy | default (ternary "Ignore" "Fail" (eq $values.scope "All"))) }}
{{- end }}
{{- list $webhook | toYaml }}
{{- end }}

{{- /* Annotations of a CRD, besides its own; converted says that it has versions to convert. */ -}}
{{- define "raygate.crd.annotations" -}}
{{- if .root.Values.crds.keep }}
helm.sh/resource-policy: keep
{{- end }}
{{- if and .converted (eq .root.Values.webhooks.mode "cert-manager") }}
cert-manager.io/inject-ca-from: {{ .root.Release.Namespace }}/raygate-webhook-cert
{{- end }}
{{- end }}

{{- define "raygate.crd.conversion" -}}
{{- if and .converted (include "raygate.webhooks" .root) }}
{{- include "raygate.conversion.webhook" .root }}
{{- else }}
strategy: None
{{- end }}
{{- end }}
