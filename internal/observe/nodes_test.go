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

package observe

import (
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// aNode is a node as the cache keeps it.
func aNode(t *testing.T, name string, notices []string, change func(*corev1.Node)) *corev1.Node {
	t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"disk": "fast"}}}
	change(n)
	slim, err := NewSlimNode(notices)(n)
	if err != nil {
		t.Fatal(err)
	}
	return slim.(*corev1.Node)
}

func taint(key string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: effect}) }
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

// TestNodesThatLeave: a notice counts where a pod cannot come back to the node.
func TestNodesThatLeave(t *testing.T) {
	const key = "example.com/spot"
	annotated := func(n *corev1.Node) { n.Annotations = map[string]string{key: "in two minutes"} }
	both := func(changes ...func(*corev1.Node)) func(*corev1.Node) {
		return func(n *corev1.Node) {
			for _, change := range changes {
				change(n)
			}
		}
	}
	everywhere := []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	for name, test := range map[string]struct {
		change      func(*corev1.Node)
		tolerations []corev1.Toleration
		want        string
	}{
		"a node in order":                     {change: func(*corev1.Node) {}},
		"a cordoned node":                     {change: cordoned},
		"a taint":                             {change: taint(key, corev1.TaintEffectNoSchedule), want: "taint " + key},
		"a taint that evicts":                 {change: taint(key, corev1.TaintEffectNoExecute), want: "taint " + key},
		"a taint that keeps no pod away":      {change: taint(key, corev1.TaintEffectPreferNoSchedule)},
		"a taint that the template tolerates": {change: taint(key, corev1.TaintEffectNoSchedule), tolerations: everywhere},
		"another taint":                       {change: taint("example.com/gpu", corev1.TaintEffectNoSchedule)},
		"an annotation on a cordoned node":    {change: both(annotated, cordoned), want: "annotation " + key},
		"an annotation on an open node":       {change: annotated},
		"our own annotation": {
			change: both(cordoned, func(n *corev1.Node) { n.Annotations = map[string]string{appsv1.AnnotationNodeLeaving: "new kernel"} }),
			want:   "new kernel",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := fleetOf(1, template("app:1"))
			f.Template.Spec.Tolerations = test.tolerations
			c := cache(t, aNode(t, "n", []string{key}, test.change))
			p := plan.Pod{Node: "n"}
			if err := newNodes(c, c, f).describe(t.Context(), &p); err != nil {
				t.Fatal(err)
			}
			if p.NodeLeaving != test.want {
				t.Errorf("the node says that it goes: %q, want %q", p.NodeLeaving, test.want)
			}
		})
	}
}

// TestNodesThatTakePods: the nodes that the template allows, and those of them that
// are open.
func TestNodesThatTakePods(t *testing.T) {
	node := func(name string, change func(*corev1.Node)) client.Object { return aNode(t, name, nil, change) }
	slow := func(n *corev1.Node) { n.Labels["disk"] = "slow" }
	f := fleetOf(1, template("app:1"))
	f.Template.Spec.NodeSelector = map[string]string{"disk": "fast"}
	f.Desired.Disruption = plan.Disruption{SurgeFirst: true, MaxSurge: 1, Spread: []plan.Spread{{Key: "disk", MaxSkew: 1}}}
	o := New(cache(t, node("a", func(*corev1.Node) {}), node("b", cordoned), node("c", slow),
		node("d", taint("example.com/gpu", corev1.TaintEffectNoSchedule)), node("e", taint("x", corev1.TaintEffectPreferNoSchedule))), nil, nil)

	leaving := []plan.Pod{{EvictionRequested: at(1).Time}}
	nodes, err := o.countNodes(t.Context(), f, leaving)
	if want := (&plan.Nodes{Open: 2, All: 4, Domains: [][]string{{"fast"}}}); err != nil || !reflect.DeepEqual(nodes, want) {
		t.Errorf("%+v, %v, want %+v", nodes, err, want)
	}
	f.Desired.Disruption.Spread = nil
	if nodes, err := o.countNodes(t.Context(), f, []plan.Pod{{}}); err != nil || nodes != nil {
		t.Errorf("nodes are counted although no pod leaves: %+v, %v", nodes, err)
	}
}

// TestWhoReadsAllNodes: those with a pod that leaves, or with a spread to restore, and
// not those on which an annotation is left of it.
func TestWhoReadsAllNodes(t *testing.T) {
	now := at(0).Time
	asked := func(ago time.Duration) []plan.Pod { return []plan.Pod{{EvictionRequested: now.Add(-ago)}} }
	spread := []plan.Spread{{Key: "zone", MaxSkew: 1}}
	first := plan.Disruption{SurgeFirst: true, MaxSurge: 1, Deadline: 5 * time.Minute}
	for name, test := range map[string]struct {
		disruption plan.Disruption
		now        time.Time
		pods       []plan.Pod
		want       bool
	}{
		"at rest":                             {first, now, []plan.Pod{{}}, false},
		"an eviction waits":                   {first, now, asked(time.Minute), true},
		"an eviction is let through":          {first, now, asked(15 * time.Minute), true},
		"an eviction is forgotten":            {first, now, asked(time.Hour), false},
		"a node goes":                         {first, now, []plan.Pod{{NodeLeaving: "spot"}}, true},
		"a rebalance is asked for":            {plan.Disruption{MaxSurge: 1, Spread: spread, Rebalance: now.Add(-time.Minute)}, now, nil, true},
		"a rebalance was asked for long ago":  {plan.Disruption{MaxSurge: 1, Spread: spread, Rebalance: now.Add(-2 * time.Hour)}, now, nil, false},
		"it is not known when that was":       {plan.Disruption{MaxSurge: 1, Spread: spread, Rebalance: now.Add(-2 * time.Hour)}, time.Time{}, nil, true},
		"the spread is always to be restored": {plan.Disruption{MaxSurge: 1, Spread: spread, AutoRebalance: true}, now, nil, true},
		"no pod can be replaced first":        {plan.Disruption{SurgeFirst: true}, now, asked(time.Minute), false},
	} {
		t.Run(name, func(t *testing.T) {
			f := fleetOf(1, template("app:1"))
			f.Now, f.Desired.Disruption = test.now, test.disruption
			nodes, err := New(cache(t, aNode(t, "a", nil, func(*corev1.Node) {})), nil, nil).countNodes(t.Context(), f, test.pods)
			if err != nil || (nodes != nil) != test.want {
				t.Errorf("they are read: %t, %v, want %t", nodes != nil, err, test.want)
			}
		})
	}
}

// TestEveryChangeOfANodeThatThePlannerSeesPasses changes every field of a node, one
// after the other: what the cache keeps of it, and so all that the planner can read,
// passes, and nothing else does.
func TestEveryChangeOfANodeThatThePlannerSeesPasses(t *testing.T) {
	const key = "example.com/spot"
	slim := func(n *corev1.Node) *corev1.Node {
		return aNode(t, n.Name, []string{key}, func(into *corev1.Node) { n.DeepCopyInto(into) })
	}
	// What says which object it is, and which version of it, decides nothing.
	identity := func(n *corev1.Node) *corev1.Node {
		n = n.DeepCopy()
		n.TypeMeta = metav1.TypeMeta{}
		n.ObjectMeta = metav1.ObjectMeta{Labels: n.Labels, Annotations: n.Annotations}
		for i := range n.Spec.Taints {
			n.Spec.Taints[i].TimeAdded = nil // when, and not whether
		}
		return n
	}
	passed := map[string]bool{}
	walkFields(reflect.TypeFor[corev1.Node](), nil, func(path []int, name string) {
		before, after := &corev1.Node{}, &corev1.Node{}
		before.Spec.Taints = []corev1.Taint{{Key: key, Effect: corev1.TaintEffectNoSchedule}}
		before.Annotations = map[string]string{}
		before.DeepCopyInto(after)
		if !alter(reflect.ValueOf(after).Elem().FieldByIndex(path)) {
			t.Fatalf("no change of %s is known", name)
		}
		kept := !reflect.DeepEqual(identity(slim(before)), identity(slim(after)))
		if got := NodeChanged(slim(before), slim(after)); got != kept {
			t.Errorf("a change of %s passes: %t, but the planner can read it: %t", name, got, kept)
		}
		passed[name] = kept
	})
	for _, name := range []string{"ObjectMeta.Labels", "Spec.Taints", "Spec.Unschedulable"} {
		if !passed[name] {
			t.Errorf("the planner does not read %s", name)
		}
	}
	announced := aNode(t, "n", []string{key}, func(n *corev1.Node) { n.Annotations = map[string]string{key: "soon"} })
	if !NodeChanged(aNode(t, "n", []string{key}, func(*corev1.Node) {}), announced) {
		t.Error("a notice does not pass")
	}
}

// walkFields calls for every field of a node's metadata, spec and status.
func walkFields(of reflect.Type, path []int, found func(path []int, name string)) {
	for i := range of.NumField() {
		field := of.Field(i)
		if len(path) == 0 { // TypeMeta, ObjectMeta, Spec and Status
			walkFields(field.Type, []int{i}, func(path []int, name string) { found(path, field.Name+"."+name) })
			continue
		}
		found(append(slices.Clone(path), i), field.Name)
	}
}

// alter makes a field another than it is; false where it does not know how.
func alter(field reflect.Value) bool {
	switch field.Kind() {
	case reflect.String:
		field.SetString(field.String() + "x")
	case reflect.Bool:
		field.SetBool(!field.Bool())
	case reflect.Int64, reflect.Int32:
		field.SetInt(field.Int() + 1)
	case reflect.Slice:
		field.Set(reflect.Append(field, reflect.New(field.Type().Elem()).Elem()))
	case reflect.Map:
		into := reflect.MakeMap(field.Type())
		into.SetMapIndex(reflect.ValueOf("x").Convert(field.Type().Key()), reflect.New(field.Type().Elem()).Elem())
		field.Set(into)
	case reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
	case reflect.Struct:
		for i := range field.NumField() {
			if field.Field(i).CanSet() && alter(field.Field(i)) {
				return true
			}
		}
		field.Set(reflect.ValueOf(time.Now())) // the only one without a field to set
	default:
		return false
	}
	return true
}
