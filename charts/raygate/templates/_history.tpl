{{- /* Parts of the containers and Pods that use the history store. */ -}}
{{- define "raygate.history.url" -}}
{{- ternary "file:///history" .url .persistence.enabled }}
{{- end }}

{{- /* Arguments of the values that are set: a dict of flags. */ -}}
{{- define "raygate.flags" -}}
{{- range $flag, $value := . }}
{{- with $value }}
- {{ printf "--%s=%s" $flag . | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- define "raygate.history.claim" -}}
{{- .persistence.existingClaim | default "raygate-history" }}
{{- end }}

{{- /* The Secret of the store and other sources of an environment: .history and .more. */ -}}
{{- define "raygate.history.envFrom" -}}
{{- with .history.secretName }}
- secretRef:
    name: {{ . }}
{{- end }}
{{- with .more }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "raygate.history.mounts" -}}
{{- if .persistence.enabled }}
- name: history
  mountPath: /history
{{- end }}
{{- end }}

{{- define "raygate.history.volumes" -}}
{{- if .persistence.enabled }}
- name: history
  persistentVolumeClaim:
    claimName: {{ include "raygate.history.claim" . }}
{{- end }}
{{- end }}
