{{- /* Arguments of the operator: only what differs from its defaults. */ -}}
{{- define "raygate.operator.args" -}}
{{- $v := .Values -}}
- --logging-format={{ ternary "json" "text" (eq $v.logging.stdoutEncoder "json") }}
{{- if and $v.logging.baseDir $v.logging.fileName }}
- {{ printf "--log-file-path=%s/%s" (trimSuffix "/" $v.logging.baseDir) $v.logging.fileName | quote }}
- --log-file-encoder={{ $v.logging.fileEncoder }}
{{- end }}
{{- if $v.configuration.enabled }}
- --config=/etc/raygate/config.yaml
{{- end }}
{{- with $v.featureGates }}
{{- $gates := list }}
{{- range . }}{{ $gates = append $gates (printf "%s=%t" .name .enabled) }}{{ end }}
- {{ printf "--feature-gates=%s" (join "," $gates) | quote }}
{{- end }}
{{- with include "raygate.batchScheduler" . }}
- --batch-scheduler={{ . }}
{{- end }}
{{- if not $v.metrics.enabled }}
- --enable-metrics=false
{{- end }}
{{- if $v.useKubernetesProxy }}
- --use-kubernetes-proxy
{{- end }}
{{- $h := $v.history }}
{{- $limits := dict "history-wait" $h.wait "history-log-limit" $h.logLimit "history-node-logs" $h.nodeLogs "history-max-age" $h.maxAge "history-max-size" $h.maxSize }}
{{- include "raygate.flags" (merge $limits (dict "history-store" (include "raygate.history.url" $h))) }}
{{- if not $v.leaderElectionEnabled }}
- --leader-elect=false
{{- end }}
{{- with $v.reconcileConcurrency }}
- --reconcile-concurrency={{ int . }}
{{- end }}
{{- if not (kindIs "invalid" $v.kubeClient.qps) }}
- --kube-api-qps={{ $v.kubeClient.qps }}
{{- end }}
{{- if not (kindIs "invalid" $v.kubeClient.burst) }}
- --kube-api-burst={{ int $v.kubeClient.burst }}
{{- end }}
{{- with include "raygate.namespaces" . }}
- --watch-namespace={{ . }}
{{- end }}
{{- if include "raygate.webhooks" . }}
{{- if eq $v.webhooks.mode "self-managed" }}
- --webhook-self-managed-certs
{{- end }}
{{- if ne (int $v.webhooks.port) 9443 }}
- --webhook-port={{ int $v.webhooks.port }}
{{- end }}
{{- if ne $v.webhooks.stage "Enforce" }}
- --webhook-stage={{ $v.webhooks.stage }}
{{- end }}
{{- if $v.webhooks.refuseGroupRemoval }}
- --webhook-refuse-group-removal
{{- end }}
{{- end }}
{{- if $v.deviceAdmission.enabled }}
- --device-registry={{ $v.deviceAdmission.registry }}
{{- end }}
{{- with include "raygate.telemetry.args" (dict "tracing" $v.tracing "export" $v.metrics.export) }}
{{ . | trim }}
{{- end }}
{{- with $v.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "raygate.configuration" -}}
apiVersion: config.ray.io/v1alpha1
kind: Configuration
{{- with .Values.configuration }}
{{ omit . "enabled" | toYaml }}
{{- end }}
{{- end }}
