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

// Package migrate takes a running workload over into a PodManager without a
// restart of its pods, and gives it back.
//
// Every step is harmless by itself, and can be repeated: the record, a ConfigMap
// beside the PodManager, says how to go back, and everything else is read from
// the cluster. All requests are made with the rights of the user.
package migrate

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of workload that can be taken over.
type Kind struct {
	schema.GroupVersionKind
	Resource string
	// Names are the words for it on the command line, the usual one first.
	Names []string
	// read fills in what the workload asks for.
	read func(r *reader, w *Workload) error
	// Ordinal: its pods are named NAME-0, NAME-1 and so on.
	Ordinal bool
}

// kruiseGroup is the group of OpenKruise's workloads.
const kruiseGroup = "apps.kruise.io"

// The kinds of workloads.
var (
	Deployments = &Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Resource:         "deployments", Names: []string{"deployment", "deployments", "deploy"}, read: (*reader).deployment,
	}
	ReplicaSets = &Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
		Resource:         "replicasets", Names: []string{"replicaset", "replicasets", "rs"}, read: (*reader).replicaSet,
	}
	StatefulSets = &Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"},
		Resource:         "statefulsets", Names: []string{"statefulset", "statefulsets", "sts"}, read: (*reader).statefulSet,
		Ordinal: true,
	}
	CloneSets = &Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: kruiseGroup, Version: "v1alpha1", Kind: "CloneSet"},
		Resource:         "clonesets", Names: []string{"cloneset", "clonesets", "clone"}, read: (*reader).cloneSet,
	}
	AdvancedStatefulSets = &Kind{
		GroupVersionKind: schema.GroupVersionKind{Group: kruiseGroup, Version: "v1beta1", Kind: "StatefulSet"},
		Resource:         "statefulsets", Names: []string{"advancedstatefulset", "advancedstatefulsets", "asts"},
		read: (*reader).advancedStatefulSet, Ordinal: true,
	}
	// BarePods are pods without a controller, found by labels.
	BarePods = &Kind{GroupVersionKind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, Resource: "pods"}
)

// Kinds are all kinds that are named on the command line.
func Kinds() []*Kind {
	return []*Kind{Deployments, StatefulSets, ReplicaSets, CloneSets, AdvancedStatefulSets}
}

// FindKind finds a kind by a word such as deployment, deploy or
// statefulset.apps.kruise.io, or returns nil.
func FindKind(word string) *Kind {
	name, group, long := strings.Cut(strings.ToLower(word), ".")
	for _, k := range Kinds() {
		if long && group == k.Group && (name == k.Resource || name == strings.ToLower(k.Kind)) || !long && slices.Contains(k.Names, name) {
			return k
		}
	}
	return nil
}

// Word is the kind's usual word.
func (k *Kind) Word() string {
	if k == BarePods {
		return "pods"
	}
	return k.Names[0]
}

// id is how the take-over annotation names the resource.
func (k *Kind) id() string {
	if k.Group == "" {
		return k.Resource
	}
	return k.Resource + "." + k.Group
}
