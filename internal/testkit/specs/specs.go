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

// Package specs draws specs of PodManagers, for all tests that need any. It walks the
// API's Go type and takes one of the values of its table for every field, so a new
// field that is not in the table is a failure and not a gap. What is drawn is valid:
// the CRD would take it.
package specs

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Choose picks one of n values for a field.
type Choose func(path string, n int) int

// values are those that a field is drawn with; what is there twice is drawn more
// often. nil leaves the field out.
var values = map[string][]any{
	"Replicas":                       {3, 2, 1, nil, 4, 3, 2, 6, 0},
	"Image":                          {"nginx:1.27", "nginx:1.28", "nginx:1.27", ""},
	"Template":                       {nil, nil, plain, sized("1"), sized("2"), spread, labelled, plain},
	"Identity":                       {appsv1.IdentityOrdinal, appsv1.IdentityRandom, ""},
	"ServiceName":                    {"", "", "web", "db"},
	"PodManagementPolicy":            {appsv1.ParallelPods, appsv1.OrderedReadyPods, ""},
	"MinReadySeconds":                {0, 0, 10},
	"Paused":                         {false, false, false, true},
	"Update.Strategy":                {appsv1.UpdateInPlace, appsv1.UpdateRecreate, appsv1.UpdateOnDelete, ""},
	"Update.MaxUnavailable":          shares,
	"Update.MaxSurge":                shares,
	"Update.Partition":               append([]any{nil, nil, nil}, shares...),
	"Update.ProgressDeadlineSeconds": {nil, 20, 3600},
	"Update.OnFailure":               {appsv1.FailurePause, appsv1.FailureRollback, ""},
	"Update.UseEviction":             {false, false, true},
	"Update.ReadinessGate":           {false, false, true},
	"Update.ResizeDeadlineSeconds":   {nil, 0, 3600},
	"ScaleDown.Prefer":               {appsv1.ScaleDownNotReadyFirst, ""},
	"Terminating.Policy":             {appsv1.TerminatingReplaceAtOnce, appsv1.TerminatingWait, appsv1.TerminatingAfterTimeout, ""},
	"Terminating.Timeout":            {nil, time.Minute, time.Duration(0)},
	"ReserveOrdinals":                {nil, nil, []int32{0}, []int32{3, 1}, []int32{0, 1, 2}},
	"VolumeClaimTemplates":           {nil, nil, nil, claims("1Gi", "data"), claims("2Gi", "data"), claims("1Gi", "data", "log")},
	"PersistentVolumeClaimRetentionPolicy.WhenDeleted": {appsv1.ClaimRetain, appsv1.ClaimDelete, ""},
	"PersistentVolumeClaimRetentionPolicy.WhenScaled":  {appsv1.ClaimRetain, appsv1.ClaimDelete, ""},
	"FailedPods.Limit":           {nil, 0, 5},
	"FailedPods.Backoff.Initial": {nil, time.Second, 500 * time.Millisecond},
	"FailedPods.Backoff.Max":     {nil, time.Minute, 30 * time.Second},
	"Disruption.Policy":          {appsv1.DisruptionSurgeFirst, appsv1.DisruptionAllow, appsv1.DisruptionSurgeFirst, ""},
	"Disruption.DeadlineSeconds": {nil, 1, 30, 7200}, // the last is above --max-eviction-hold
	"Disruption.MaxSurge":        {nil, 1, "50%", "100%"},
	"Disruption.Rebalance":       {appsv1.RebalanceManual, appsv1.RebalanceAuto, ""},
	"Deletion.Policy":            {appsv1.DeletionDelete, appsv1.DeletionOrphan, ""},
	"RevisionHistoryLimit":       {nil, 10, 0},
}

// shares of replicas. That of disruption.maxSurge is at least one pod.
var shares = []any{nil, 0, 1, 2, "30%", "100%"}

func container(cpu string) corev1.Container {
	c := corev1.Container{Name: appsv1.AppContainer, Image: "redis:7"}
	if cpu != "" {
		c.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
	return c
}

var plain = &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{container("")}}}

func sized(cpu string) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{container(cpu)}}}
}

var labelled = &corev1.PodTemplateSpec{
	ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"tier": "front"}, Annotations: map[string]string{"team": "a"}},
	Spec:       corev1.PodSpec{Containers: []corev1.Container{container("")}},
}

var spread = &corev1.PodTemplateSpec{
	ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "spread"}},
	Spec: corev1.PodSpec{
		Containers: []corev1.Container{container("")},
		TopologySpreadConstraints: []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "spread"}},
		}},
	},
}

func claims(size string, names ...string) []corev1.PersistentVolumeClaim {
	var list []corev1.PersistentVolumeClaim
	for _, name := range names {
		claim := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
		claim.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}
		list = append(list, claim)
	}
	return list
}

// Fields are the paths of all fields of a spec.
func Fields() []string {
	var paths []string
	walk("", reflect.ValueOf(&appsv1.PodManagerSpec{}).Elem(), func(path string, _ reflect.Value) { paths = append(paths, path) })
	return paths
}

// walk calls for every field that the table has a value for, and for the leaves that
// it has none for.
func walk(path string, v reflect.Value, call func(path string, v reflect.Value)) {
	if _, known := values[path]; known || v.Kind() != reflect.Struct {
		call(path, v)
		return
	}
	for i := range v.NumField() {
		walk(strings.TrimPrefix(path+"."+v.Type().Field(i).Name, "."), v.Field(i), call)
	}
}

// Draw draws a spec that is valid.
func Draw(choose Choose) appsv1.PodManagerSpec {
	var spec appsv1.PodManagerSpec
	walk("", reflect.ValueOf(&spec).Elem(), func(path string, v reflect.Value) { put(path, v, choose) })
	fit(&spec)
	return *spec.DeepCopy()
}

// Redraw draws one field of a spec anew, and says what the spec is then. It need not
// be valid.
func Redraw(spec *appsv1.PodManagerSpec, field string, choose Choose) {
	walk("", reflect.ValueOf(spec).Elem(), func(path string, v reflect.Value) {
		if path == field {
			put(path, v, choose)
		}
	})
}

// Clear leaves a field out.
func Clear(spec *appsv1.PodManagerSpec, field string) {
	walk("", reflect.ValueOf(spec).Elem(), func(path string, v reflect.Value) {
		if path == field {
			v.SetZero()
		}
	})
}

// Copy takes a field from another spec, and reports whether that changes anything.
func Copy(spec, from *appsv1.PodManagerSpec, field string) (changed bool) {
	var source reflect.Value
	walk("", reflect.ValueOf(from.DeepCopy()).Elem(), func(path string, v reflect.Value) {
		if path == field {
			source = v
		}
	})
	walk("", reflect.ValueOf(spec).Elem(), func(path string, v reflect.Value) {
		if path == field {
			changed = !reflect.DeepEqual(v.Interface(), source.Interface())
			v.Set(source)
		}
	})
	return changed
}

func put(path string, v reflect.Value, choose Choose) {
	from, ok := values[path]
	if !ok {
		panic(fmt.Sprintf("the field %s has no values: add them to the table of package specs", path))
	}
	set(v, from[choose(path, len(from))])
}

// set converts a value of the table to the type of a field.
func set(v reflect.Value, value any) {
	v.SetZero()
	if value == nil {
		return
	}
	if v.Kind() == reflect.Pointer && reflect.TypeOf(value) != v.Type() {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch value := value.(type) {
	case *corev1.PodTemplateSpec:
		v.Set(reflect.ValueOf(value.DeepCopy()))
		return
	case time.Duration:
		v.Set(reflect.ValueOf(metav1.Duration{Duration: value}))
		return
	}
	if v.Type() == reflect.TypeFor[intstr.IntOrString]() {
		v.Set(reflect.ValueOf(intstr.Parse(fmt.Sprint(value))))
		return
	}
	v.Set(reflect.ValueOf(value).Convert(v.Type()))
}

// fit takes back what the CRD would refuse together with the rest.
func fit(spec *appsv1.PodManagerSpec) {
	if spec.Identity == appsv1.IdentityRandom {
		spec.ServiceName, spec.ReserveOrdinals, spec.VolumeClaimTemplates = "", nil, nil
		spec.PodManagementPolicy = ""
	}
	if spec.Image == "" && spec.Template == nil {
		spec.Template = plain.DeepCopy()
	}
}
