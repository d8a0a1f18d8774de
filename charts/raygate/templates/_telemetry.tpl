{{- /* Parts of a container and a Pod that sends traces (.tracing) and metrics (.export) to a collector of OpenTelemetry. */ -}}
{{- define "raygate.telemetry.args" -}}
{{- with .tracing }}
{{- if .endpoint }}
- --tracing-endpoint={{ .endpoint }}
- --tracing-sampling-rate-per-million={{ int .samplingRatePerMillion }}
{{- if .secretName }}
- --tracing-ca-file=/tracing/ca.crt
{{- end }}
{{- end }}
{{- end }}
{{- with .export }}
{{- if .endpoint }}
- --metrics-export-endpoint={{ .endpoint }}
- --metrics-export-interval={{ .interval }}
{{- if .secretName }}
- --metrics-export-ca-file=/metrics-export/ca.crt
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The Secrets that are in use, by the name of their volume. */ -}}
{{- define "raygate.telemetry.secrets" -}}
{{- if and .tracing.endpoint .tracing.secretName }}
tracing: {{ .tracing.secretName }}
{{- end }}
{{- if and .export.endpoint .export.secretName }}
metrics-export: {{ .export.secretName }}
{{- end }}
{{- end }}

{{- define "raygate.telemetry.env" -}}
{{- range $volume, $secret := include "raygate.telemetry.secrets" . | fromYaml }}
- name: {{ ternary "OTEL_EXPORTER_OTLP_HEADERS" "OTEL_EXPORTER_OTLP_METRICS_HEADERS" (eq $volume "tracing") }}
  valueFrom:
    secretKeyRef:
      name: {{ $secret }}
      key: headers
      optional: true
{{- end }}
{{- end }}

{{- define "raygate.telemetry.mounts" -}}
{{- range $volume, $_ := include "raygate.telemetry.secrets" . | fromYaml }}
- name: {{ $volume }}
  mountPath: /{{ $volume }}
  readOnly: true
{{- end }}
{{- end }}

{{- define "raygate.telemetry.volumes" -}}
{{- range $volume, $secret := include "raygate.telemetry.secrets" . | fromYaml }}
- name: {{ $volume }}
  secret:
    secretName: {{ $secret }}
    defaultMode: 288
    items:
    - {key: ca.crt, path: ca.crt}
{{- end }}
{{- end }}
