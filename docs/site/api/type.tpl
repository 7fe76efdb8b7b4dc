{{- define "type" -}}
<a id="{{ template "anchor" . }}"></a>

### {{ .Name }}

{{ .Doc }}
{{ if .References }}
In: {{ range $i, $type := .SortedReferences }}{{ if $i }}, {{ end }}{{ template "link" $type }}{{ end }}.
{{ end }}
{{- template "example" (printf "%s-%s" (.Package | trimPrefix "github.com/mycompany/pod-operator/api/" | replace "/" "-") (.Name | lower)) }}
{{- if .EnumValues }}
| value | meaning |
|---|---|
{{- range .EnumValues }}
| `{{ .Name }}` | {{ template "line" .Doc }} |
{{- end }}
{{ end }}
{{- if .Members }}
| field | type | meaning | default | limits |
|---|---|---|---|---|
{{- if .GVK }}
| `apiVersion` | string | `{{ .GVK.Group }}/{{ .GVK.Version }}` | | |
| `kind` | string | `{{ .GVK.Kind }}` | | |
{{- end }}
{{- range .Members }}
| `{{ .Name }}` | {{ template "fieldType" .Type }} | {{ if eq .Name "metadata" }}Kubernetes's own: name, labels and so on.{{ else }}{{ template "line" .Doc }}{{ end }} | {{ with .Default }}`{{ . | replace "{  }" "{}" }}`{{ end }} | {{ template "limits" .Validation }} |
{{- end }}
{{ end }}
{{- end -}}

{{- /* Rules in CEL and patterns are for machines; each says in a sentence what it wants when it is broken. */ -}}
{{- define "limits" -}}
{{- $limits := list -}}
{{- range . -}}
{{- if and (ne . "Optional: \\{\\}") (ne . "Optional: {}") (not (hasPrefix "XIntOrString" .)) (not (hasPrefix "Pattern" .)) (not (hasPrefix "Type:" .)) -}}
{{- $limits = append $limits . -}}
{{- end -}}
{{- end -}}
{{ template "line" (join "; " $limits) }}
{{- end -}}
