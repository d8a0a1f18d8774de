{{- /* Parts of the containers and Pods that use the history store. */ -}}
{{- define "raygate.history.url" -}}
{{- .url | default (ternary "file:///history" "" .enabled) }}
{{- end }}

{{- /* Whether the store is a claim: "true", or nothing. */ -}}
{{- define "raygate.history.claimed" -}}
{{- if and .enabled (not .url) }}true{{ end }}
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
{{- if include "raygate.history.claimed" . }}
- name: history
  mountPath: /history
{{- end }}
{{- end }}

{{- define "raygate.history.volumes" -}}
{{- if include "raygate.history.claimed" . }}
- name: history
  persistentVolumeClaim:
    claimName: {{ include "raygate.history.claim" . }}
{{- end }}
{{- end }}
