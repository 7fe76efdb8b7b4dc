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
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/nativewhy"
)

// preemptors finds the names of pods that others were preempted for, where the event
// has their UID only: in the namespace, or on the node that it names.
func (r *reader) preemptors(ctx context.Context) error {
	wanted := map[types.UID][]*nativewhy.Event{}
	nodes := map[string]bool{}
	for i := range r.facts.Events {
		e := &r.facts.Events[i]
		if e.Reason != "Preempted" || e.Other != "" || r.facts.Pod != "" && e.Name != r.facts.Pod || !strings.HasPrefix(e.Name, r.facts.Name) {
			continue
		}
		if uid := nativewhy.Preemptor(e.Message); uid != "" {
			wanted[types.UID(uid)] = append(wanted[types.UID(uid)], e)
			_, node, _ := strings.Cut(e.Message, " on node ")
			nodes[node] = true
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	if err := r.name(ctx, wanted, client.InNamespace(r.namespace)); err != nil {
		return err
	}
	for node := range nodes {
		if len(wanted) == 0 {
			return nil
		}
		if err := r.name(ctx, wanted, client.MatchingFields{"spec.nodeName": node}); err != nil {
			return err
		}
	}
	return nil
}

// name writes the names of the pods that it finds into the events that want them. Who may
// not list them is told the UID.
func (r *reader) name(ctx context.Context, wanted map[types.UID][]*nativewhy.Event, options ...client.ListOption) error {
	unread := r.facts.Unread
	defer func() { r.facts.Unread = unread }()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	return r.list(ctx, nativewhy.Pods, list, func() {
		for i := range list.Items {
			p := &list.Items[i]
			for _, e := range wanted[p.UID] {
				e.Other = "pod " + p.Name
				if p.Namespace != r.namespace {
					e.Other = "pod " + p.Namespace + "/" + p.Name
				}
			}
			delete(wanted, p.UID)
		}
	}, options...)
}
