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
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// remove deletes an object, or begins to; verb is delete or evict.
func (s *Server) remove(by request, verb string, key objectKey, options *client.DeleteOptions) error {
	current, err := s.get(key)
	if err != nil {
		return err
	}
	if err := s.admit(by, verb, "", key); err != nil {
		return err
	}
	if pod, ok := current.(*corev1.Pod); ok && verb == "evict" {
		if err := s.budgeted(key, pod); err != nil {
			return err
		}
	}
	if p := options.Preconditions; p != nil {
		if p.UID != nil && *p.UID != current.GetUID() {
			return conflict(key, "the UID in the precondition is %s, that of the object %s", *p.UID, current.GetUID())
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != current.GetResourceVersion() {
			return conflict(key, "the version in the precondition is %s, that of the object %s", *p.ResourceVersion, current.GetResourceVersion())
		}
	}
	grace := gracePeriod(current, options)
	if was := current.GetDeletionGracePeriodSeconds(); current.GetDeletionTimestamp() != nil {
		if asked := options.GracePeriodSeconds; asked == nil || was == nil || *asked >= *was {
			return nil // it is on its way already, and not later than this
		}
		grace = *options.GracePeriodSeconds
	}
	next := copyOf(current)
	propagate(next, ptr.Deref(options.PropagationPolicy, ""))
	if len(next.GetFinalizers()) == 0 && grace == 0 {
		s.write(by, current, next, true)
		return nil
	}
	until := metav1.NewTime(s.now().Add(time.Duration(grace) * time.Second))
	next.SetDeletionTimestamp(&until)
	next.SetDeletionGracePeriodSeconds(&grace)
	if next.GetGeneration() > 0 && current.GetDeletionTimestamp() == nil {
		next.SetGeneration(next.GetGeneration() + 1)
	}
	s.write(by, current, next, false)
	return nil
}

// propagate notes for the garbage collector what becomes of the dependents.
func propagate(obj client.Object, policy metav1.DeletionPropagation) {
	if obj.GetDeletionTimestamp() != nil {
		return
	}
	switch policy {
	case metav1.DeletePropagationOrphan:
		obj.SetFinalizers(append(obj.GetFinalizers(), metav1.FinalizerOrphanDependents))
	case metav1.DeletePropagationForeground:
		obj.SetFinalizers(append(obj.GetFinalizers(), metav1.FinalizerDeleteDependents))
	}
}

// gracePeriod is 0 for what no kubelet has to end.
func gracePeriod(obj client.Object, options *client.DeleteOptions) int64 {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return 0
	}
	switch {
	case pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded:
		return 0
	case options.GracePeriodSeconds != nil:
		return *options.GracePeriodSeconds
	}
	return *pod.Spec.TerminationGracePeriodSeconds
}
