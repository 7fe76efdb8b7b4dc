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
	"testing"

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
