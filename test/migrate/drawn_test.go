/*
Copyright 2026 The pod-operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package migrate

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// out leaves a field out.
const out = ""

// values are those that a field is drawn with, as YAML: of the workload, and below
// template.spec and app of the pod and its first container. What a template may not
// have, or what needs an object or a feature that the cluster lacks, is always out.
var values = map[string][]string{
	"replicas": {"2", "3", "1", "0", out},
	"selector": {"{matchLabels: {app: web}}", "{matchExpressions: [{key: app, operator: In, values: [web, shop]}]}"},

	"strategy.type":                         {out, "Recreate", "RollingUpdate", "RollingUpdate"},
	"strategy.rollingUpdate.maxUnavailable": {out, "0", "1", "50%"},
	"strategy.rollingUpdate.maxSurge":       {out, "0", "1", "50%"},
	"minReadySeconds":                       {out, out, "1"},
	"revisionHistoryLimit":                  {out, "3", "0"},
	"paused":                                {out, out, out, "true"},
	"progressDeadlineSeconds":               {out, "60"},

	"volumeClaimTemplates":                             {out, claimTemplate, claimTemplate},
	"serviceName":                                      {"web", out, "db"},
	"podManagementPolicy":                              {out, "Parallel", "OrderedReady"},
	"updateStrategy.type":                              {out, "RollingUpdate", "OnDelete"},
	"updateStrategy.rollingUpdate.partition":           {out, out, "1"},
	"updateStrategy.rollingUpdate.maxUnavailable":      {out, "1", "50%"},
	"persistentVolumeClaimRetentionPolicy.whenDeleted": {out, "Delete", "Retain"},
	"persistentVolumeClaimRetentionPolicy.whenScaled":  {out, "Delete", "Retain"},
	"ordinals.start":                                   {out, out, "3"},

	"template.metadata.labels":      {"{app: web}", "{app: web, tier: front}"},
	"template.metadata.annotations": {out, "{team: shop}"},

	"template.spec.volumes":                       {out, "[{name: scratch, emptyDir: {}}]"},
	"template.spec.initContainers":                {out, "[{name: first, image: busybox:1}]", "[{name: beside, image: busybox:1, restartPolicy: Always}]"},
	"template.spec.ephemeralContainers":           {out},
	"template.spec.restartPolicy":                 {out, "Always"},
	"template.spec.terminationGracePeriodSeconds": {out, "0", "1"},
	"template.spec.activeDeadlineSeconds":         {out},
	"template.spec.dnsPolicy":                     {out, "Default"},
	"template.spec.nodeSelector":                  {out, "{kubernetes.io/os: linux}"},
	"template.spec.serviceAccountName":            {out, "default"},
	"template.spec.serviceAccount":                {out, "default"},
	"template.spec.automountServiceAccountToken":  {out, "false", "true"},
	"template.spec.nodeName":                      {out},
	"template.spec.hostNetwork":                   {out, out, "false"},
	"template.spec.hostPID":                       {out, "true"},
	"template.spec.hostIPC":                       {out, "true"},
	"template.spec.shareProcessNamespace":         {out, "true"},
	"template.spec.securityContext":               {out, "{fsGroup: 7, runAsUser: 7, sysctls: [{name: net.ipv4.tcp_syncookies, value: '1'}]}"},
	"template.spec.imagePullSecrets":              {out, "[{name: pull}]"},
	"template.spec.hostname":                      {out, "here"},
	"template.spec.subdomain":                     {out, "below"},
	"template.spec.affinity": {out, `{podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution:
		[{weight: 1, podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: web}}}}]}}`},
	"template.spec.schedulerName":      {out, "default-scheduler"},
	"template.spec.tolerations":        {out, "[{key: example.com/spot, operator: Exists, effect: NoExecute, tolerationSeconds: 60}]"},
	"template.spec.hostAliases":        {out, "[{ip: 127.0.0.1, hostnames: [here.example.com]}]"},
	"template.spec.priorityClassName":  {out},
	"template.spec.priority":           {out, "0"},
	"template.spec.dnsConfig":          {out, "{options: [{name: ndots, value: '2'}]}"},
	"template.spec.readinessGates":     {out},
	"template.spec.runtimeClassName":   {out},
	"template.spec.enableServiceLinks": {out, "false", "true"},
	"template.spec.preemptionPolicy":   {out, "PreemptLowerPriority"},
	"template.spec.overhead":           {out},
	"template.spec.topologySpreadConstraints": {out, `[{maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway,
		labelSelector: {matchLabels: {app: web}}, matchLabelKeys: [pod-template-hash]}]`},
	"template.spec.setHostnameAsFQDN":  {out, "false"},
	"template.spec.os":                 {out, "{name: linux}"},
	"template.spec.hostUsers":          {out, "true"},
	"template.spec.schedulingGates":    {out},
	"template.spec.resourceClaims":     {out},
	"template.spec.resources":          {out, "{requests: {cpu: 20m}, limits: {cpu: 40m}}"},
	"template.spec.hostnameOverride":   {out},
	"template.spec.schedulingGroup":    {out},
	"template.spec.evictionResponders": {out},

	"app.name":                     {"app", "web"},
	"app.image":                    {"nginx:1.27"},
	"app.command":                  {out, "[nginx]"},
	"app.args":                     {out, "[-v]"},
	"app.workingDir":               {out, "/tmp"},
	"app.ports":                    {out, "[{name: http, containerPort: 80}]"},
	"app.envFrom":                  {out, "[{configMapRef: {name: kube-root-ca.crt}}]"},
	"app.env":                      {out, "[{name: A, value: a}, {name: B, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]"},
	"app.resources":                {out, "{requests: {cpu: 10m, memory: 1Mi}, limits: {cpu: 20m}}"},
	"app.resizePolicy":             {out, "[{resourceName: cpu, restartPolicy: RestartContainer}]"},
	"app.restartPolicy":            {out},
	"app.restartPolicyRules":       {out},
	"app.volumeMounts":             {out},
	"app.volumeDevices":            {out},
	"app.livenessProbe":            {out, "{tcpSocket: {port: 80}}"},
	"app.readinessProbe":           {out, "{httpGet: {port: 80}, periodSeconds: 1}"},
	"app.startupProbe":             {out, "{exec: {command: ['true']}}"},
	"app.lifecycle":                {out, "{preStop: {exec: {command: ['true']}}}"},
	"app.terminationMessagePath":   {out, "/tmp/end"},
	"app.terminationMessagePolicy": {out, "FallbackToLogsOnError"},
	"app.imagePullPolicy":          {out, "Always"},
	"app.securityContext":          {out, "{runAsNonRoot: true, runAsUser: 7}"},
	"app.stdin":                    {out, "true"},
	"app.stdinOnce":                {out, "false"},
	"app.tty":                      {out, "true"},
}

const claimTemplate = `[{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]`

// fields calls for every field of a type that the table has, and fails for one that it
// lacks.
func fields(t testing.TB, path string, of reflect.Type, call func(path string, choices []string)) {
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		here := strings.TrimPrefix(path+"."+name, ".")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		choices, known := values[here]
		_, number := reflect.New(inner).Interface().(*intstr.IntOrString)
		switch {
		case known:
			call(here, choices)
		case here == "template.metadata":
			call(here+".labels", values[here+".labels"])
			call(here+".annotations", values[here+".annotations"])
		case here == "template.spec.containers":
			fields(t, "app", reflect.TypeFor[corev1.Container](), call)
		case inner.Kind() == reflect.Struct && !number:
			fields(t, here, inner, call)
		default:
			t.Errorf("no values for the field %s: add them to the table", here)
		}
	}
}

// drawSpec draws a workload's spec, and says in which fields it differs from the plainest.
func drawSpec(t testing.TB, of reflect.Type, draw *rand.Rand) (spec map[string]any, drawn []string) {
	spec, app := map[string]any{}, map[string]any{}
	fields(t, "", of, func(path string, choices []string) {
		i := draw.IntN(len(choices))
		if strings.HasPrefix(path, "template.spec.") || strings.HasPrefix(path, "app.") {
			i = max(0, i-draw.IntN(3)) // most pods are plain
		}
		if choices[i] == out {
			return
		}
		if i > 0 {
			drawn = append(drawn, path+": "+choices[i])
		}
		var value any
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(choices[i], "\t", "")), &value); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		into := spec
		if name, ok := strings.CutPrefix(path, "app."); ok {
			into, path = app, name
		}
		if err := unstructured.SetNestedField(into, normal(value), strings.Split(path, ".")...); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	})
	fit(spec, app)
	if err := unstructured.SetNestedSlice(spec, []any{app}, "template", "spec", "containers"); err != nil {
		t.Fatal(err)
	}
	return spec, drawn
}

// normal makes the integers of YAML those of a Kubernetes object.
func normal(value any) any {
	switch value := value.(type) {
	case float64:
		return int64(value)
	case []any:
		for i := range value {
			value[i] = normal(value[i])
		}
	case map[string]any:
		for key := range value {
			value[key] = normal(value[key])
		}
	}
	return value
}

// fit takes back what the API server would refuse together with the rest.
func fit(spec, app map[string]any) {
	rolling, _, _ := unstructured.NestedMap(spec, "strategy", "rollingUpdate")
	if kind, _, _ := unstructured.NestedString(spec, "strategy", "type"); kind == string(kappsv1.RecreateDeploymentStrategyType) {
		unstructured.RemoveNestedField(spec, "strategy", "rollingUpdate")
	} else if zero(rolling["maxUnavailable"]) && zero(rolling["maxSurge"]) {
		unstructured.RemoveNestedField(spec, "strategy", "rollingUpdate", "maxUnavailable")
	}
	if kind, _, _ := unstructured.NestedString(spec, "updateStrategy", "type"); kind == string(kappsv1.OnDeleteStatefulSetStrategyType) {
		unstructured.RemoveNestedField(spec, "updateStrategy", "rollingUpdate")
	}
	var mounts []any
	if _, claims := spec["volumeClaimTemplates"]; claims {
		mounts = append(mounts, map[string]any{"name": "data", "mountPath": "/data"})
	}
	if _, volumes, _ := unstructured.NestedSlice(spec, "template", "spec", "volumes"); volumes {
		mounts = append(mounts, map[string]any{"name": "scratch", "mountPath": "/scratch"})
	}
	if len(mounts) > 0 {
		app["volumeMounts"] = mounts
	}
	if pid, _, _ := unstructured.NestedBool(spec, "template", "spec", "hostPID"); pid {
		unstructured.RemoveNestedField(spec, "template", "spec", "shareProcessNamespace")
	}
}

func zero(number any) bool { return number == int64(0) }

// drawn makes a workload with drawn fields, and waits until it is what it says.
func (s subject) drawn(w *world, draw *rand.Rand) {
	w.Helper()
	of := map[string]reflect.Type{"Deployment": reflect.TypeFor[kappsv1.DeploymentSpec](), "StatefulSet": reflect.TypeFor[kappsv1.StatefulSetSpec]()}[s.kind.Kind]
	spec, drawn := drawSpec(w, of, draw)
	if claims, ok := spec["volumeClaimTemplates"].([]any); ok {
		_ = unstructured.SetNestedField(claims[0].(map[string]any), w.namespace, "spec", "storageClassName")
		for i := range int32(12) {
			w.volume(i)
		}
	}
	w.Logf("%s with %s", s.kind.Kind, strings.Join(drawn, ", "))
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(s.kind.GroupVersionKind)
	object.SetNamespace(w.namespace)
	object.SetName("web")
	suite.Create(w, object)
	testkit.Eventually(w, "the workload has its pods", func() error {
		now := object.DeepCopy()
		if err := suite.Client.Get(w.Context(), w.key(), now); err != nil {
			return err
		}
		if paused, _, _ := unstructured.NestedBool(spec, "paused"); paused {
			return nil
		}
		asked, _, _ := unstructured.NestedInt64(now.Object, "spec", "replicas")
		ready, _, _ := unstructured.NestedInt64(now.Object, "status", "availableReplicas")
		observed, _, _ := unstructured.NestedInt64(now.Object, "status", "observedGeneration")
		if observed != now.GetGeneration() || ready != asked {
			return fmt.Errorf("%d of %d pods are available", ready, asked)
		}
		return nil
	})
}

// relent ends what a person holds back on purpose: a pause, a partition, pods that wait
// to be deleted.
func (u *user) relent(ctx context.Context) {
	top, ok := u.top(ctx).(*unstructured.Unstructured)
	if !ok {
		return
	}
	before := top.DeepCopy()
	for _, path := range [][]string{
		{"spec", "paused"},
		{"spec", "updateStrategy", "rollingUpdate", "partition"},
		{"spec", "update", "partition"},
	} {
		unstructured.RemoveNestedField(top.Object, path...)
	}
	for _, path := range [][]string{{"spec", "updateStrategy", "type"}, {"spec", "update", "strategy"}} {
		if value, _, _ := unstructured.NestedString(top.Object, path...); value == string(appsv1.UpdateOnDelete) {
			unstructured.RemoveNestedField(top.Object, path...)
		}
	}
	if !reflect.DeepEqual(before.Object, top.Object) {
		_ = suite.Client.Update(ctx, top)
	}
}

// The seeds of TestMigrationsAmongOthers draw every field of Deployments and
// StatefulSets with each of its values.
func TestEveryFieldOfAWorkloadIsDrawn(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for i := range uint64(2000) {
		for _, of := range []reflect.Type{reflect.TypeFor[kappsv1.DeploymentSpec](), reflect.TypeFor[kappsv1.StatefulSetSpec]()} {
			_, drawn := drawSpec(t, of, rand.New(rand.NewPCG(i, 5))) // #nosec G404 -- it is a test
			for _, field := range drawn {
				seen[field] = true
			}
		}
	}
	for path, choices := range values {
		for i, choice := range choices {
			if i > 0 && choice != out && !seen[path+": "+choice] {
				t.Errorf("%s is never %s", path, choice)
			}
		}
	}
}
