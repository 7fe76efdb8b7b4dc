{{/* The prefix of all names. */}}
{{- define "pod-operator.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" (.Release.Name | trunc 27 | trimSuffix "-") .Chart.Name -}}
{{- end -}}
{{- end -}}

{{/* kubectl podmanager finds the operator by the first two. */}}
{{- define "pod-operator.selector" -}}
control-plane: controller-manager
app.kubernetes.io/name: pod-operator
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "pod-operator.labels" -}}
app.kubernetes.io/name: pod-operator
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "pod-operator.serviceAccount" -}}
{{- if .Values.serviceAccount.name -}}
{{- .Values.serviceAccount.name -}}
{{- else if .Values.serviceAccount.create -}}
{{- include "pod-operator.fullname" . }}-controller-manager
{{- else -}}
default
{{- end -}}
{{- end -}}

{{- define "pod-operator.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- define "pod-operator.certManager" -}}
{{- if and .Values.webhooks.enabled (eq .Values.webhooks.certificates "cert-manager") -}}true{{- end -}}
{{- end -}}

{{/* Only the API server calls the admission webhooks, by its client certificate. */}}
{{- define "pod-operator.clientCA" -}}
{{- if and .Values.webhooks.enabled (or .Values.webhooks.clientCA.configMap .Values.webhooks.clientCA.secret) -}}true{{- end -}}
{{- end -}}

{{/* The operator makes a certificate for metrics or the page and publishes its CA. */}}
{{- define "pod-operator.publishes" -}}
{{- if and (or .Values.metrics.enabled .Values.explain.enabled) (not (include "pod-operator.certManager" .)) -}}true{{- end -}}
{{- end -}}

{{/* An object of config/, given as {root, object}, as this release's: its name
gets the prefix, and it gets our labels. */}}
{{- define "pod-operator.ours" -}}
{{- $object := .object -}}
{{- $labels := merge (include "pod-operator.labels" .root | fromYaml) ($object.metadata.labels | default dict) -}}
{{- $_ := set $object.metadata "labels" $labels -}}
{{- $_ := set $object.metadata "name" (printf "%s-%s" (include "pod-operator.fullname" .root) $object.metadata.name) -}}
{{- toYaml $object -}}
{{- end -}}

{{/* A binding, given as {root, kind, role, name, namespace}, of a role to the
operator; a namespace makes it a RoleBinding. */}}
{{- define "pod-operator.binding" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ if .namespace }}RoleBinding{{ else }}ClusterRoleBinding{{ end }}
metadata:
  name: {{ include "pod-operator.fullname" .root }}-{{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "pod-operator.labels" .root | nindent 4 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ .kind }}
  name: {{ include "pod-operator.fullname" .root }}-{{ .role }}
subjects:
- kind: ServiceAccount
  name: {{ include "pod-operator.serviceAccount" .root }}
  namespace: {{ .root.Release.Namespace }}
{{- end -}}

{{/* The kinds to work on, separated by commas; empty means all. */}}
{{- define "pod-operator.controllers" -}}
{{- if .Values.controllers -}}
{{- join "," .Values.controllers -}}
{{- else if not .Values.tutorialKinds -}}
podmanager
{{- end -}}
{{- end -}}

{{/* Whether an API group is one of the kinds of tutorials. */}}
{{- define "pod-operator.ofTutorials" -}}
{{- if has . (list "batch.tutorial.kubebuilder.io" "test.jiaozi.com" "collector.ip.mycompany.com") -}}true{{- end -}}
{{- end -}}

{{/* Values that contradict each other, as sentences. */}}
{{- define "pod-operator.check" -}}
{{- $v := .Values -}}
{{- if and (gt (int $v.shards) 0) $v.explain.enabled -}}
{{- fail "explain.enabled and shards exclude each other: with shards every replica has a part of the records only. Set one of them." -}}
{{- end -}}
{{- if gt (int $v.shards) 0 -}}
{{- range $v.controllers -}}
{{- if ne . "podmanager" -}}
{{- fail (printf "shards are for PodManagers: run controllers: [%s] in a release of its own, without shards." .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if not $v.tutorialKinds -}}
{{- range $v.controllers -}}
{{- if ne . "podmanager" -}}
{{- fail (printf "controllers names %s, which tutorialKinds: false leaves out." .) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if and $v.metrics.serviceMonitor.enabled (not $v.metrics.enabled) -}}
{{- fail "metrics.serviceMonitor.enabled needs metrics.enabled: there would be nothing to scrape." -}}
{{- end -}}
{{- if and (not $v.serviceAccount.create) (not $v.serviceAccount.name) $v.rbac.create -}}
{{- fail "serviceAccount.create is false and serviceAccount.name is empty, so the operator's rights would go to everybody who uses the namespace's default ServiceAccount: set serviceAccount.name." -}}
{{- end -}}
{{- if and $v.crds.v1alpha1 (not $v.webhooks.enabled) -}}
{{- fail "crds.v1alpha1 needs webhooks.enabled: without a conversion, objects in v1alpha1 would lose fields." -}}
{{- end -}}
{{- if and $v.webhooks.clientCA.configMap $v.webhooks.clientCA.secret -}}
{{- fail "webhooks.clientCA.configMap and webhooks.clientCA.secret exclude each other: the CA is read from one of them." -}}
{{- end -}}
{{- if and $v.webhooks.clientCA.name (not $v.webhooks.clientCA.configMap) (not $v.webhooks.clientCA.secret) -}}
{{- fail "webhooks.clientCA.name needs webhooks.clientCA.configMap or webhooks.clientCA.secret: without a CA no certificate is asked for." -}}
{{- end -}}
{{- if and (not $v.webhooks.enabled) (eq $v.webhooks.certificates "cert-manager") -}}
{{- fail "webhooks.certificates is cert-manager but webhooks.enabled is false: there is nothing to make a certificate for." -}}
{{- end -}}
{{- end -}}

{{- define "pod-operator.alertLabels" -}}
{{- with .Values.metrics.rules.alertLabels }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{/* The link from an alert, given as [root, anchor], to what to do. */}}
{{- define "pod-operator.runbook" -}}
{{- with (index . 0).Values.metrics.rules.runbookURL }}
{{- printf "runbook_url: %s#%s" . (index $ 1) }}
{{- end -}}
{{- end -}}
