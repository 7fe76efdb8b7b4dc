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

package plan

import (
	"context"
	"fmt"
	"strings"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/native"
	"github.com/mycompany/pod-operator/internal/view"
)

// outlook is what Kubernetes' own controllers would do, beside the table.
type outlook struct {
	// Stay are the pods that the change does not touch.
	Stay []string `json:"stay"`
	// FewestAvailable and MostPods are the bounds on the way, of the Replicas asked for.
	FewestAvailable int `json:"fewestAvailable"`
	MostPods        int `json:"mostPods"`
	Replicas        int `json:"replicas"`
	// Overlap is how many more may exist for a moment.
	Overlap int `json:"overlap,omitempty"`
	// Warnings are what stops or changes it, and Unknown what cannot be known.
	Warnings []native.Note `json:"warnings"`
	Unknown  []string      `json:"unknown"`
	// Choices are the pods of which some go, where it is not known which.
	Choices []choice `json:"choices,omitempty"`
	// Comparison is what the change would do to a PodManager's pods.
	Comparison *comparison `json:"comparison,omitempty"`
}

type choice struct {
	Count int      `json:"count"`
	Among []string `json:"among"`
}

// manner is how Kubernetes' own kinds are planned.
type manner struct {
	// minor is the API server's version, 37 for 1.37; 0 is unknown.
	minor int
	// compare: say what the change would be as a PodManager's.
	compare bool
}

// workload is one of Kubernetes' own, with its model.
type workload struct {
	selector *metav1.LabelSelector
	// before and after are its templates.
	before, after *corev1.PodTemplateSpec
	minReady      int32
	// more is what its model needs besides the pods.
	more    string
	foresee func(native.World) native.Plan
}

// workloadOf reads a workload as it is and as it would be. live is nil where it is new.
func workloadOf(live, changed *unstructured.Unstructured) (w workload, err error) {
	switch changed.GetKind() {
	case "Deployment":
		var a, b kappsv1.Deployment
		was, err := decode(live, changed, &a, &b)
		w = workload{b.Spec.Selector, &a.Spec.Template, &b.Spec.Template, b.Spec.MinReadySeconds, native.ReplicaSets, nil}
		w.foresee = func(in native.World) native.Plan { return native.Deployment(given(was, &a), &b, in) }
		return w, err
	case "ReplicaSet":
		var a, b kappsv1.ReplicaSet
		was, err := decode(live, changed, &a, &b)
		w = workload{b.Spec.Selector, &a.Spec.Template, &b.Spec.Template, b.Spec.MinReadySeconds, "", nil}
		w.foresee = func(in native.World) native.Plan { return native.ReplicaSet(given(was, &a), &b, in) }
		return w, err
	case "StatefulSet":
		var a, b kappsv1.StatefulSet
		was, err := decode(live, changed, &a, &b)
		w = workload{b.Spec.Selector, &a.Spec.Template, &b.Spec.Template, b.Spec.MinReadySeconds, native.Revisions, nil}
		w.foresee = func(in native.World) native.Plan { return native.StatefulSet(given(was, &a), &b, in) }
		return w, err
	}
	var a, b kappsv1.DaemonSet
	was, err := decode(live, changed, &a, &b)
	w = workload{b.Spec.Selector, &a.Spec.Template, &b.Spec.Template, b.Spec.MinReadySeconds, native.Nodes, nil}
	w.foresee = func(in native.World) native.Plan { return native.DaemonSet(given(was, &a), &b, in) }
	return w, err
}

// foreseeNative plans a change of one of Kubernetes' own kinds. live is nil where the
// object is new.
func foreseeNative(ctx context.Context, c client.Client, how manner, live, changed *unstructured.Unstructured, p *Plan) error {
	seen := world{Client: c, World: native.World{Now: time.Now(), Minor: how.minor, Unread: map[string]string{}}, namespace: changed.GetNamespace()}
	if changed.GetKind() == configMap || changed.GetKind() == secret {
		return seen.config(ctx, live, changed, p)
	}
	of, err := workloadOf(live, changed)
	if err != nil {
		return err
	}
	if err := seen.read(ctx, of.selector, of.more); err != nil {
		return err
	}
	plan := of.foresee(seen.World)
	p.take(&plan)
	p.Estimate = seen.estimate(&plan, of.minReady)
	if how.compare {
		if p.Native.Comparison, err = seen.compare(ctx, live, changed, &plan); err != nil {
			return err
		}
	}
	if live != nil {
		p.TemplateDiff, err = view.TemplateDiff(of.before, of.after)
	}
	return err
}

// given is the live object, or nil where there is none.
func given[T any](was bool, live *T) *T {
	if !was {
		return nil
	}
	return live
}

// decode reads both objects, and reports whether there is a live one.
func decode(live, changed *unstructured.Unstructured, before, after any) (bool, error) {
	converter := runtime.DefaultUnstructuredConverter
	if err := converter.FromUnstructured(changed.Object, after); err != nil {
		return false, fmt.Errorf("decode the API server's answer: %w", err)
	}
	if live == nil {
		return false, nil
	}
	if err := converter.FromUnstructured(live.Object, before); err != nil {
		return false, fmt.Errorf("decode the API server's answer: %w", err)
	}
	return true, nil
}

// words are what a person reads for what a model says.
var words = map[string]string{native.Created: view.Create, native.Deleted: view.Delete, native.Replaced: view.Recreate, native.Held: view.Held}

// take puts a plan in the words of all plans.
func (p *Plan) take(plan *native.Plan) {
	o := &outlook{
		Stay: plan.Stay, FewestAvailable: plan.FewestAvailable, MostPods: plan.MostPods, Replicas: plan.Replicas, Overlap: plan.Overlap,
		Warnings: plan.Warnings, Unknown: plan.Unknown,
	}
	steps := []view.Step{}
	for i := range plan.Steps {
		s := &plan.Steps[i]
		step := view.Step{What: words[s.What], Pod: s.Pod, Count: s.Count, Reason: s.Reason, Why: s.Why, Wave: s.Wave}
		if len(s.Among) > 0 {
			o.Choices = append(o.Choices, choice{s.Count, s.Among})
			step.Why = fmt.Sprintf("of %s: %s", strings.Join(s.Among, ", "), s.Why)
		}
		steps = append(steps, step)
	}
	p.Preview = view.Preview{Counts: map[string]int{}}.After(steps)
	if p.Complete = !plan.Unforeseen; plan.Unforeseen {
		p.Summary = "What would happen to the pods is unknown."
	}
	p.Waves, p.Native = plan.Waves, o
}

// read reads what surrounds a workload with this selector.
func (w *world) read(ctx context.Context, selector *metav1.LabelSelector, more string) error {
	matching, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return fmt.Errorf("read the selector: %w", err)
	}
	return w.readAll(ctx, client.MatchingLabelsSelector{Selector: matching}, more)
}
