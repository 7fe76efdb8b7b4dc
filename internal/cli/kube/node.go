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

package kube

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ManagersOn are the PodManagers with pods on a node, and how many other pods are
// there: of all namespaces, or of the one that the person gave or may read.
func (s *Session) ManagersOn(ctx context.Context, c client.Client, node string) (managers []client.ObjectKey, others int, err error) {
	pods, err := s.podsOn(ctx, c, node)
	if err != nil {
		return nil, 0, fmt.Errorf("list the pods of node %s: %w", node, err)
	}
	found := map[client.ObjectKey]bool{}
	for i := range pods {
		owner := metav1.GetControllerOf(&pods[i])
		if owner == nil || owner.Kind != PodManagers.Kind.Kind {
			others++
			continue
		}
		found[client.ObjectKey{Namespace: pods[i].Namespace, Name: owner.Name}] = true
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b client.ObjectKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	}), others, nil
}

func (s *Session) podsOn(ctx context.Context, c client.Client, node string) ([]corev1.Pod, error) {
	namespace, given, err := s.NamespaceGiven()
	if err != nil {
		return nil, err
	}
	var list corev1.PodList
	on := client.MatchingFields{"spec.nodeName": node}
	if given {
		err = c.List(ctx, &list, on, client.InNamespace(namespace))
		return list.Items, err
	}
	err = c.List(ctx, &list, on)
	if apierrors.IsForbidden(err) {
		fmt.Fprintf(s.ErrOut, "You may not list the pods of all namespaces: only those in %s are looked at.\n", namespace)
		err = c.List(ctx, &list, on, client.InNamespace(namespace))
	}
	return list.Items, err
}
