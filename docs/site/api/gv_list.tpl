{{- define "gvList" -}}
<!-- Made from the types by make api-docs. Edit those. -->

# API reference

Every kind with every field, as `kubectl explain` has it, too. In the column of types, what is a list says so; what links to
kubernetes.io is Kubernetes's own.

| kind | API version | |
|---|---|---|
{{- range $gv := . }}
{{- range $gv.SortedKinds }}
{{- $type := $gv.TypeForKind . }}
| [{{ . }}](#{{ template "anchor" $type }}) | `{{ $gv.GroupVersionString }}` | {{ template "line" $type.Doc }} |
{{- end }}
{{- end }}
{{ range . }}
{{ template "gvDetails" . }}
{{- end }}
{{- end -}}

{{- /* An anchor has the version in it, because two versions have types of the same names. */ -}}
{{- define "anchor" -}}
{{ .Package | trimPrefix "github.com/mycompany/pod-operator/api/" | replace "/" "-" }}-{{ .Name | lower }}
{{- end -}}

{{- /* Doc comments are wrapped; in a table a line is a row. */ -}}
{{- define "line" -}}
{{ . | replace "\n\n" " " | replace "\n" " " | replace "|" "\\|" | replace "<" "&lt;" | trim }}
{{- end -}}

{{- define "link" -}}
{{- if hasPrefix "github.com/mycompany/pod-operator/" .Package -}}
[{{ .Name }}](#{{ template "anchor" . }})
{{- else -}}
{{ markdownRenderTypeLink . }}
{{- end -}}
{{- end -}}

{{- define "fieldType" -}}
{{- $kind := toJson .Kind -}}
{{- if eq $kind "\"SLICE\"" -}}
list of {{ template "link" .UnderlyingType }}
{{- else if eq $kind "\"MAP\"" -}}
map of {{ template "link" .KeyType }} to {{ template "link" .ValueType }}
{{- else if and (eq $kind "\"POINTER\"") .UnderlyingType -}}
{{ template "fieldType" .UnderlyingType }}
{{- else -}}
{{ template "link" . }}
{{- end -}}
{{- end -}}
