{{- define "gvDetails" -}}
## {{ .GroupVersionString }}

{{ .Doc | trim }}
{{ range .SortedTypes }}
{{- if .GVK }}
{{ template "type" . }}
{{- end }}
{{- end }}
{{- range .SortedTypes }}
{{- if and (not .GVK) (markdownShouldRenderType .) }}
{{ template "type" . }}
{{- end }}
{{- end }}
{{- end -}}
