{{- /* The namespace of the operator. */ -}}
{{- define "raygate-crds.namespace" -}}
{{ .Values.webhooks.namespace | default .Release.Namespace }}
{{- end }}

{{- /* Annotations of a CRD, besides its own; converted says that it has versions to convert. */ -}}
{{- define "raygate.crd.annotations" -}}
{{- if .root.Values.crds.keep }}
helm.sh/resource-policy: keep
{{- end }}
{{- if and .converted (eq .root.Values.webhooks.mode "cert-manager") }}
cert-manager.io/inject-ca-from: {{ include "raygate-crds.namespace" .root }}/raygate-webhook-cert
{{- end }}
{{- end }}

{{- define "raygate.crd.conversion" -}}
{{- if and .converted (ne .root.Values.webhooks.mode "none") }}
{{- include "raygate.conversion.webhook" (dict "Release" (dict "Namespace" (include "raygate-crds.namespace" .root))) }}
{{- else }}
strategy: None
{{- end }}
{{- end }}
