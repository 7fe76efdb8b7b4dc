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

package playground

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

const (
	sampleTimeout  = time.Minute
	sampleInterval = 100 * time.Millisecond
)

// sample is the PodManager that "up" shows.
type sample struct {
	client client.Client
	// object is as the file has it. Through the Go type it would gain the
	// fields that Kubernetes writes even when they are empty.
	object *unstructured.Unstructured
}

func newSample(config *rest.Config, path string) (*sample, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(data, &object.Object); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(metav1.NamespaceDefault)
	}
	return &sample{client: c, object: object}, nil
}

// create leaves the sample of an earlier run as people made it.
func (s *sample) create(ctx context.Context) error {
	if err := s.client.Create(ctx, s.object.DeepCopy()); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the sample %s: %w", s.object.GetName(), err)
	}
	return nil
}

// view is the sample and its pods at one moment.
type view struct {
	manager appsv1.PodManager
	pods    []corev1.Pod
}

// wait shows the sample until it is ready.
func (s *sample) wait(ctx context.Context, show func(view)) error {
	var last view
	err := wait.PollUntilContextTimeout(ctx, sampleInterval, sampleTimeout, true, func(ctx context.Context) (bool, error) {
		seen, err := s.look(ctx)
		if err != nil {
			return false, client.IgnoreNotFound(err)
		}
		last = seen
		show(seen)
		return seen.ready(), nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("%s is not ready after %s: %s", s.object.GetName(), sampleTimeout, last.why())
	}
	return err
}

func (s *sample) look(ctx context.Context) (view, error) {
	var v view
	if err := s.client.Get(ctx, client.ObjectKeyFromObject(s.object), &v.manager); err != nil {
		return v, err
	}
	var pods corev1.PodList
	if err := s.client.List(ctx, &pods, client.InNamespace(s.object.GetNamespace())); err != nil {
		return v, err
	}
	for _, pod := range pods.Items {
		if metav1.IsControlledBy(&pod, &v.manager) {
			v.pods = append(v.pods, pod)
		}
	}
	slices.SortFunc(v.pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return v, nil
}

func (v view) ready() bool {
	return v.manager.Status.ObservedGeneration == v.manager.Generation &&
		meta.IsStatusConditionTrue(v.manager.Status.Conditions, "Ready")
}

func (v view) desired() int32 {
	if v.manager.Spec.Replicas == nil {
		return 0
	}
	return *v.manager.Spec.Replicas
}

// why is what the operator says about an object that is not ready.
func (v view) why() string {
	condition := meta.FindStatusCondition(v.manager.Status.Conditions, "Ready")
	if condition == nil {
		return "the operator has not looked at it"
	}
	return condition.Message
}

// podWord is the one word for a pod's state.
func podWord(pod *corev1.Pod) string {
	if pod.DeletionTimestamp != nil {
		return "Terminating"
	}
	for _, status := range pod.Status.ContainerStatuses {
		if status.State.Waiting != nil && status.State.Waiting.Reason != "" {
			return status.State.Waiting.Reason
		}
	}
	return string(pod.Status.Phase)
}

func podReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
