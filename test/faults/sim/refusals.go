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

package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/test/faults/oracle"
	"github.com/mycompany/pod-operator/test/faults/scenario"
)

// Refusal is a rule of the API server that the operator meets: which of its
// writes are refused, how, and for how long. Kubelets, users and the garbage
// collector do not meet it.
type Refusal struct {
	// Verb is create, delete, patch, resize or evict; a resize is a patch, too.
	Verb string `json:"verb"`
	Kind string `json:"kind"`
	// Name is the object that it is about; empty is all of the kind.
	Name string `json:"name,omitempty"`
	How  How    `json:"how"`
	// Times is how many requests are refused before the rule is gone; 0 is all
	// of them, for ever.
	Times int `json:"times,omitempty"`
}

// How is in which words the API server refuses.
type How string

// The ways to refuse.
const (
	// ByPolicy: admission says no.
	ByPolicy How = "policy"
	// AtLength: admission says no in more words than a condition may have.
	AtLength How = "length"
	// ByValidation: the object is invalid.
	ByValidation How = "validation"
	// ByQuota: a ResourceQuota is full.
	ByQuota How = "quota"
	// ByWebhook: an admission webhook does not answer.
	ByWebhook How = "webhook"
	// ByBudget: a PodDisruptionBudget allows no eviction.
	ByBudget How = "budget"
	// ByError: the API server fails, and nothing says that it will again.
	ByError How = "error"
	// ByConflict: a webhook answers 409.
	ByConflict How = "conflict"
	// ByRange: a LimitRange allows no such size.
	ByRange How = "range"
	// ByAllocatable: the pod's node is smaller than the size.
	ByAllocatable How = "allocatable"
)

// answer is what the API server says.
func (r *Refusal) answer(name string) error {
	resource := schema.GroupResource{Resource: r.Kind}
	why := errors.New(r.Message())
	switch r.How {
	case ByPolicy:
	case AtLength:
		why = errors.New(r.Message() + strings.Repeat(", and so on", 4000))
	case ByValidation:
		return apierrors.NewInvalid(schema.GroupKind{Kind: r.Kind}, name, field.ErrorList{field.Forbidden(field.NewPath("spec"), r.Message())})
	case ByQuota:
		why = errors.New("exceeded quota: " + r.Message())
	case ByRange:
		why = errors.New("maximum cpu usage per Container is 1, but request is 2: " + r.Message())
	case ByAllocatable:
		why = errors.New("node didn't have enough allocatable resources: cpu, requested: 2000, allocatable: 1000: " + r.Message())
	case ByWebhook:
		return apierrors.NewInternalError(fmt.Errorf("failed calling webhook %q: %w", "guard.example.com", why))
	case ByBudget:
		return budgetError(r.Message())
	case ByError:
		return apierrors.NewInternalError(why)
	case ByConflict:
		return apierrors.NewConflict(resource, name, why)
	}
	return apierrors.NewForbidden(resource, name, why)
}

// Message is in every answer of this rule, and in no other.
func (r *Refusal) Message() string {
	return fmt.Sprintf("no %s of %s %s today", r.Verb, r.Kind, r.Name)
}

// Stalls reports whether the operator has to say that it needs help: it cannot
// know of an error that it will stay, and a budget is for it to wait for.
func (r *Refusal) Stalls() bool { return r.How != ByBudget && r.How != ByError && r.How != ByConflict }

func (r *Refusal) matches(verb, subresource string, key objectKey) bool {
	return (r.Verb == verb || r.Verb == subresource) && r.Kind == key.kind && (r.Name == "" || r.Name == key.name)
}

// standing is a rule in force, with what it has refused so far.
type standing struct {
	Refusal
	refused []refused
	// ended: it was taken back.
	ended bool
}

// refused is an object whose write was refused, and how many steps the world had
// made when the reconcile began that asked for it.
type refused struct {
	name  string
	began int
}

func (s *standing) over() bool { return s.ended || s.Times > 0 && len(s.refused) >= s.Times }

// admit is asked before every write of the operator.
func (s *Server) admit(by request, verb, subresource string, key objectKey) error {
	if by.actor != oracle.Operator && by.actor != oracle.Late || subresource == "status" && key.kind == "PodManager" {
		return nil
	}
	s.requests = append(s.requests, oracle.Request{Time: s.clock.Now(), Version: s.version, Verb: verb, Kind: key.kind, Name: key.name})
	for _, rule := range s.rules {
		if !rule.matches(verb, subresource, key) || rule.over() {
			continue
		}
		rule.refused = append(rule.refused, refused{key.name, by.began})
		last := &s.requests[len(s.requests)-1]
		resizes := subresource == "resize"
		last.Refused, last.TooLarge, last.Invalid = true, resizes && rule.How == ByAllocatable, resizes && rule.How == ByValidation
		return rule.answer(key.name)
	}
	return nil
}

// inForce are the rules that still would refuse what a reconcile wanted that began
// after so many steps. Those that refused something of a fresh operator, too, are
// still met: it has no memory, and its caches are not behind.
func (s *Server) inForce(since, fresh int) []oracle.Refusal {
	var list []oracle.Refusal
	for _, rule := range s.rules {
		if rule.over() {
			continue
		}
		names, met := map[string]bool{}, false
		for _, r := range rule.refused {
			if r.began >= since {
				names[r.name] = true
				met = met || r.began >= fresh
			}
		}
		for slot := range s.wanted(rule) { // it would refuse what was not asked for yet, too
			names[fmt.Sprintf("%s-%d", scenario.Name, slot)] = len(names) > 0
		}
		maps.DeleteFunc(names, func(_ string, refused bool) bool { return !refused })
		for _, name := range sorted(names) {
			list = append(list, oracle.Refusal{Verb: rule.Verb, Kind: rule.Kind, Name: name, Message: rule.Message(), Stalls: met && rule.Stalls()})
		}
	}
	return list
}

// wanted is how many pods with ordinals a rule is about that refuses to create any.
func (s *Server) wanted(rule *standing) int {
	pm, _ := s.objects[objectKey{"PodManager", namespace, scenario.Name}].(*appsv1.PodManager)
	if pm == nil || rule.Name != "" || rule.Verb != "create" || rule.Kind != "Pod" || pm.Spec.Identity == appsv1.IdentityRandom {
		return 0
	}
	return int(ptr.Deref(pm.Spec.Replicas, 3))
}

// lifted: no rule is left, or none of those that are left was ever met.
func (s *Server) lifted() bool {
	return !slices.ContainsFunc(s.rules, func(r *standing) bool { return len(r.refused) > 0 && !r.over() })
}

func sorted(set map[string]bool) []string {
	var list []string
	for name := range set {
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// label puts an owner, and a pod or a claim that it may adopt, in the shard, as our webhook
// and the keeper of the labels do. Others' pods have no such label.
func label(obj client.Object) {
	if _, owner := obj.(*appsv1.PodManager); !owner && obj.GetLabels()[appsv1.LabelName] == "" {
		return
	}
	switch obj.(type) {
	case *corev1.Pod, *appsv1.PodManager, *corev1.PersistentVolumeClaim:
		labels := obj.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[appsv1.LabelShard] = "0"
		obj.SetLabels(labels)
	}
}

// meddle is a webhook that changes pods: it adds a container, a label, an
// annotation and a toleration, as those of service meshes and policies do.
func meddle(pod *corev1.Pod) {
	metav1.SetMetaDataLabel(&pod.ObjectMeta, "mesh.example.com/injected", "true")
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, "mesh.example.com/version", "7")
	pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: oracle.Injected, Image: "mesh.example.com/proxy:7"})
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: "mesh.example.com/slow", Operator: corev1.TolerationOpExists})
	for i := range pod.Spec.Containers {
		pod.Spec.Containers[i].Env = append(pod.Spec.Containers[i].Env, corev1.EnvVar{Name: "MESH", Value: "on"})
	}
}
