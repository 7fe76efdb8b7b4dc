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
	"context"
	"fmt"
	"slices"
	"strings"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
)

// Type is a kind that a verb takes as TYPE/NAME.
type Type struct {
	Kind schema.GroupKind
	// Names are the words for it on the command line, the one of messages first.
	Names []string
}

// The types that verbs take.
var (
	PodManagers = Type{appsv1.GroupVersion.WithKind("PodManager").GroupKind(), []string{"pm", "podmanager", "podmanagers"}}
	ImoocPods   = Type{batchv1alpha1.GroupVersion.WithKind("ImoocPod").GroupKind(), []string{"imoocpod", "imoocpods"}}
	HelloWorlds = Type{testv1alpha1.GroupVersion.WithKind("HelloWorld").GroupKind(), []string{"helloworld", "helloworlds"}}
	Nodes       = Type{corev1.SchemeGroupVersion.WithKind("Node").GroupKind(), []string{"node", "nodes", "no"}}
	Pods        = Type{corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), []string{"pod", "pods", "po"}}

	Deployments  = Type{kappsv1.SchemeGroupVersion.WithKind("Deployment").GroupKind(), []string{"deployment", "deployments", "deploy"}}
	StatefulSets = Type{kappsv1.SchemeGroupVersion.WithKind("StatefulSet").GroupKind(), []string{"statefulset", "statefulsets", "sts"}}
	DaemonSets   = Type{kappsv1.SchemeGroupVersion.WithKind("DaemonSet").GroupKind(), []string{"daemonset", "daemonsets", "ds"}}
	ReplicaSets  = Type{kappsv1.SchemeGroupVersion.WithKind("ReplicaSet").GroupKind(), []string{"replicaset", "replicasets", "rs"}}

	ConfigMaps = Type{corev1.SchemeGroupVersion.WithKind("ConfigMap").GroupKind(), []string{"configmap", "configmaps", "cm"}}
	Secrets    = Type{corev1.SchemeGroupVersion.WithKind("Secret").GroupKind(), []string{"secret", "secrets"}}
)

// BuiltIn are the workloads that every cluster has.
func BuiltIn() []Type { return []Type{Deployments, StatefulSets, DaemonSets, ReplicaSets} }

// IsBuiltIn reports whether a kind is one of those.
func IsBuiltIn(kind schema.GroupKind) bool {
	return slices.ContainsFunc(BuiltIn(), func(t Type) bool { return t.Kind == kind })
}

// Reports reports whether the operator has records of what an owner does to its pods.
func Reports(owner *metav1.OwnerReference) bool {
	return owner.Kind == PodManagers.Kind.Kind || owner.Kind == ImoocPods.Kind.Kind
}

// Ref is a word of the command line that names an object.
type Ref struct {
	Kind schema.GroupKind
	Name string
}

// ParseRef reads NAME or TYPE/NAME, as kubectl does: the type may be singular,
// plural or short, with its version and group or without. A word without a type
// means the first of the types.
func ParseRef(word string, types ...Type) (Ref, error) {
	kind, name, typed := strings.Cut(word, "/")
	if !typed {
		kind, name = types[0].Names[0], word
	}
	at := slices.IndexFunc(types, func(t Type) bool { return t.is(kind) })
	switch {
	case name == "" || strings.Contains(name, "/"):
		return Ref{}, fmt.Errorf("%q is no name: give %s", word, forms(types))
	case at < 0:
		return Ref{}, fmt.Errorf("%q is of another type: give %s", word, forms(types))
	}
	return Ref{Kind: types[at].Kind, Name: name}, nil
}

// is: the word is pm, PodManagers, podmanager.apps.mycompany.com or
// podmanagers.v1.apps.mycompany.com.
func (t Type) is(word string) bool {
	resource, group, long := strings.Cut(strings.ToLower(word), ".")
	if !slices.Contains(t.Names, resource) {
		return false
	}
	_, behind, _ := strings.Cut(group, ".")
	return !long || group == t.Kind.Group || behind == t.Kind.Group
}

// forms are the words that a verb takes.
func forms(types []Type) string {
	words := []string{"NAME"}
	for _, t := range types {
		words = append(words, t.Names[0]+"/NAME")
	}
	if len(words) == 2 {
		return words[0] + " or " + words[1]
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// Manager is the key of the PodManager that a word names: NAME, pm/NAME, or
// pod/NAME for the PodManager of a pod.
func (s *Session) Manager(ctx context.Context, c client.Client, word string) (client.ObjectKey, error) {
	namespace, err := s.Namespace()
	if err != nil {
		return client.ObjectKey{}, err
	}
	ref, err := ParseRef(word, PodManagers, Pods)
	if err != nil {
		return client.ObjectKey{}, err
	}
	key := client.ObjectKey{Namespace: namespace, Name: ref.Name}
	if ref.Kind != Pods.Kind {
		return key, nil
	}
	pod := &corev1.Pod{}
	if err := c.Get(ctx, key, pod); err != nil {
		return key, fmt.Errorf("read pod %s: %w", key, err)
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != PodManagers.Kind.Kind {
		return key, fmt.Errorf("pod %s belongs to no PodManager", key)
	}
	return client.ObjectKey{Namespace: namespace, Name: owner.Name}, nil
}
