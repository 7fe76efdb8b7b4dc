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

package workload

import (
	"context"
	"fmt"
	"slices"
	"strings"

	kappsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/nativewhy"
)

// around reads what is around the workload. The context's end is the only error.
func (r *reader) around(ctx context.Context) error {
	for _, read := range []func(context.Context) error{
		r.revisions, r.pods, r.events, r.preemptors, r.nodes, r.autoscalers, r.quotas, r.budgets, r.configs,
	} {
		if err := read(ctx); err != nil {
			return err
		}
	}
	return nil
}

// page is how many objects one request asks for.
const page = 500

// list reads all pages of a list. Each page replaces the one before in into, so
// visit is called for each. An error that is not the context's is noted.
func (r *reader) list(ctx context.Context, source nativewhy.Source, into client.ObjectList, visit func(), options ...client.ListOption) error {
	next := ""
	for {
		err := r.client.List(ctx, into, append(slices.Clip(options), client.Limit(page), client.Continue(next))...)
		if ctx.Err() != nil {
			return fmt.Errorf("list the %s of %s: %w", source, r.namespace, ctx.Err())
		}
		if err != nil {
			r.unread(source, err)
			return nil
		}
		visit()
		if next = into.GetContinue(); next == "" {
			return nil
		}
	}
}

// matching selects the workload's objects.
func (r *reader) matching() ([]client.ListOption, bool) {
	selector, err := metav1.LabelSelectorAsSelector(r.selector)
	if err != nil || r.selector == nil {
		return nil, false
	}
	return []client.ListOption{client.InNamespace(r.namespace), client.MatchingLabelsSelector{Selector: selector}}, true
}

func (r *reader) revisions(ctx context.Context) error {
	options, ok := r.matching()
	if !ok || r.uid == nil || r.facts.Kind == "ReplicaSet" {
		return nil
	}
	var err, malformed error
	if r.facts.Kind == "Deployment" {
		var sets []kappsv1.ReplicaSet
		list := &kappsv1.ReplicaSetList{}
		err = r.list(ctx, nativewhy.Revisions, list, func() { sets = append(sets, list.Items...) }, options...)
		r.facts.Revisions, malformed = nativewhy.FromReplicaSets(sets, r.uid.GetUID())
	} else {
		var stored []kappsv1.ControllerRevision
		list := &kappsv1.ControllerRevisionList{}
		err = r.list(ctx, nativewhy.Revisions, list, func() { stored = append(stored, list.Items...) }, options...)
		r.facts.Revisions, malformed = nativewhy.FromControllerRevisions(stored, r.uid.GetUID())
	}
	r.unread(nativewhy.Revisions, malformed)
	return err
}

func (r *reader) pods(ctx context.Context) error {
	options, ok := r.matching()
	if !ok || r.uid == nil || r.facts.Pod != "" {
		return nil
	}
	list := &corev1.PodList{}
	return r.list(ctx, nativewhy.Pods, list, func() {
		for i := range list.Items {
			if r.owns(&list.Items[i]) {
				r.facts.Pods = append(r.facts.Pods, list.Items[i])
			}
		}
	}, options...)
}

// owns reports whether a pod is the workload's, or that of the ReplicaSet that is
// asked for.
func (r *reader) owns(p *corev1.Pod) bool {
	owner := metav1.GetControllerOf(p)
	switch {
	case owner == nil:
		return false
	case r.set != nil:
		return owner.UID == r.set.GetUID()
	case r.facts.Kind != "Deployment":
		return owner.UID == r.uid.GetUID()
	}
	return slices.ContainsFunc(r.facts.Revisions, func(s nativewhy.Revision) bool { return s.Meta.UID == owner.UID })
}

// events reads those of the namespace that may be about the workload.
func (r *reader) events(ctx context.Context) error {
	if r.facts.Events != nil || !r.facts.Could(nativewhy.Events) {
		return nil
	}
	r.facts.Events = []nativewhy.Event{}
	list := &corev1.EventList{}
	return r.list(ctx, nativewhy.Events, list, func() {
		for i := range list.Items {
			r.facts.Events = append(r.facts.Events, event(&list.Items[i]))
		}
	}, client.InNamespace(r.namespace))
}

func event(e *corev1.Event) nativewhy.Event {
	n := nativewhy.Event{
		Type: e.Type, Reason: e.Reason, Message: strings.TrimSpace(e.Message), Kind: e.InvolvedObject.Kind, Name: e.InvolvedObject.Name,
		UID: e.InvolvedObject.UID, First: e.FirstTimestamp.Time, Last: e.LastTimestamp.Time, Count: int(e.Count),
	}
	if n.First.IsZero() {
		n.First = e.EventTime.Time
	}
	if e.Series != nil {
		n.Last, n.Count = e.Series.LastObservedTime.Time, int(e.Series.Count)
	}
	if n.First.IsZero() {
		n.First = e.CreationTimestamp.Time
	}
	if n.Last.IsZero() {
		n.Last = n.First
	}
	if _, container, ok := strings.Cut(e.InvolvedObject.FieldPath, "ontainers{"); ok {
		n.Container = strings.TrimSuffix(container, "}")
	}
	if o := e.Related; o != nil && o.Name != "" {
		n.Other = strings.ToLower(o.Kind) + " " + o.Name
		if o.Namespace != "" && o.Namespace != e.InvolvedObject.Namespace {
			n.Other = strings.ToLower(o.Kind) + " " + o.Namespace + "/" + o.Name
		}
	}
	return n
}

// ownerByEvents is the controller whose event names a pod.
func ownerByEvents(events []nativewhy.Event, pod string) (kind, name string) {
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case "ReplicaSet", "StatefulSet", "DaemonSet":
			if names(e.Message, pod) {
				return e.Kind, e.Name
			}
		}
	}
	return "", ""
}

// names reports whether a message has a pod's name as a word.
func names(message, pod string) bool {
	return slices.Contains(strings.Fields(strings.NewReplacer(":", " ", ",", " ", "/", " ").Replace(message)), pod)
}

// fewNodes are read one by one; of more the list is cheaper.
const fewNodes = 8

func (r *reader) nodes(ctx context.Context) error {
	wanted := r.nodeNames()
	if len(wanted) > fewNodes {
		list := &corev1.NodeList{}
		err := r.list(ctx, nativewhy.Nodes, list, func() {
			for i := range list.Items {
				if at, is := slices.BinarySearch(wanted, list.Items[i].Name); is {
					r.facts.Nodes = append(r.facts.Nodes, list.Items[i])
					wanted = slices.Delete(wanted, at, at+1)
				}
			}
		})
		if err == nil && r.facts.Could(nativewhy.Nodes) {
			r.facts.LostNodes = wanted
		}
		return err
	}
	for _, name := range wanted {
		node := &corev1.Node{}
		err := r.client.Get(ctx, client.ObjectKey{Name: name}, node)
		switch {
		case ctx.Err() != nil:
			return fmt.Errorf("read node %s: %w", name, ctx.Err())
		case apierrors.IsNotFound(err):
			r.facts.LostNodes = append(r.facts.LostNodes, name)
		case err != nil:
			r.unread(nativewhy.Nodes, err)
			return nil
		default:
			r.facts.Nodes = append(r.facts.Nodes, *node)
		}
	}
	return nil
}

// nodeNames are the nodes of the pods, and those that the events name for pods that
// are gone, sorted.
func (r *reader) nodeNames() []string {
	found := map[string]bool{}
	for i := range r.facts.Pods {
		found[r.facts.Pods[i].Spec.NodeName] = true
	}
	for i := range r.facts.Events {
		e := &r.facts.Events[i]
		if e.Reason != "Scheduled" || r.facts.Pod != "" && e.Name != r.facts.Pod || !strings.HasPrefix(e.Name, r.facts.Name) {
			continue
		}
		if _, node, ok := strings.Cut(e.Message, " to "); ok {
			found[node] = true
		}
	}
	delete(found, "")
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (r *reader) autoscalers(ctx context.Context) error {
	if r.uid == nil {
		return nil
	}
	list := &autoscalingv2.HorizontalPodAutoscalerList{}
	return r.list(ctx, nativewhy.Autoscalers, list, func() {
		for i := range list.Items {
			if t := list.Items[i].Spec.ScaleTargetRef; t.Kind == r.facts.Kind && t.Name == r.facts.Name {
				r.facts.Autoscalers = append(r.facts.Autoscalers, list.Items[i])
			}
		}
	}, client.InNamespace(r.namespace))
}

func (r *reader) quotas(ctx context.Context) error {
	if r.uid == nil {
		return nil
	}
	list := &corev1.ResourceQuotaList{}
	return r.list(ctx, nativewhy.Quotas, list, func() { r.facts.Quotas = append(r.facts.Quotas, list.Items...) }, client.InNamespace(r.namespace))
}

func (r *reader) budgets(ctx context.Context) error {
	list := &policyv1.PodDisruptionBudgetList{}
	return r.list(ctx, nativewhy.PodBudgets, list, func() { r.facts.Budgets = append(r.facts.Budgets, list.Items...) }, client.InNamespace(r.namespace))
}

// configs reads the metadata of what the pods read when they start. Pods of one
// template read the same.
func (r *reader) configs(ctx context.Context) error {
	asked := map[string]bool{}
	for i := range r.facts.Pods {
		for _, key := range nativewhy.Read(&r.facts.Pods[i].Spec) {
			if asked[key] {
				continue
			}
			asked[key] = true
			if err := r.config(ctx, key); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) config(ctx context.Context, key string) error {
	kind, name, _ := strings.Cut(key, "/")
	source := nativewhy.ConfigMaps
	if kind == "Secret" {
		source = nativewhy.Secrets
	}
	if !r.facts.Could(source) {
		return nil
	}
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	err := r.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: name}, object)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("read %s %s: %w", kind, name, ctx.Err())
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		r.unread(source, err)
		return nil
	}
	r.facts.Configs = append(r.facts.Configs, nativewhy.Config{Kind: kind, Meta: object.ObjectMeta})
	return nil
}
