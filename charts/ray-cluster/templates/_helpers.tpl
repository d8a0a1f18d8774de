{{- define "ray-cluster.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- $name := .Values.nameOverride | default .Chart.Name }}
{{- ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "ray-cluster.labels" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 }}
{{- end }}

{{- /* The version of Ray: that of the values, or that of the tag, as in 2.52.0-py311-gpu; empty if neither is a version. */ -}}
{{- define "ray-cluster.rayVersion" -}}
{{- .Values.head.rayVersion | default (regexFind "^[0-9]+\\.[0-9]+\\.[0-9]+" (toString .Values.image.tag)) }}
{{- end }}

{{- /* The Pod template of .values, whose Ray container is named .container. */ -}}
{{- define "ray-cluster.pod" -}}
{{- $v := .values }}
{{- $image := mergeOverwrite (deepCopy .root.Values.image) ($v.image | default dict) }}
{{- if or $v.labels $v.annotations }}
metadata:
  {{- with $v.labels }}
  labels:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $v.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
spec:
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- range $field := list "serviceAccountName" "restartPolicy" "runtimeClassName" "priorityClassName" "schedulerName" "terminationGracePeriodSeconds" "hostNetwork" "dnsPolicy" }}
  {{- with get $v $field }}
  {{ $field }}: {{ . | toYaml }}
  {{- end }}
  {{- end }}
  {{- range $field := list "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "resourceClaims" "dnsConfig" "volumes" "initContainers" }}
  {{- with get $v $field }}
  {{ $field }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
  {{- with $v.podSecurityContext }}
  securityContext:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
  - name: {{ .container }}
    image: {{ $image.repository }}:{{ $image.tag }}
    imagePullPolicy: {{ $image.pullPolicy }}
    {{- with concat (.root.Values.common.containerEnv | default list) ($v.containerEnv | default list) }}
    env:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- range $field := list "command" "args" "envFrom" "ports" "resources" "securityContext" "lifecycle" "livenessProbe" "readinessProbe" "volumeMounts" }}
    {{- with get $v $field }}
    {{ $field }}:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- end }}
  {{- with $v.sidecarContainers }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
