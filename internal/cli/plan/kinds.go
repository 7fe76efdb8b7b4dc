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
	"slices"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	appsv1alpha1 "github.com/mycompany/pod-operator/api/apps/v1alpha1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/forecast"
	"github.com/mycompany/pod-operator/internal/podrender"
	"github.com/mycompany/pod-operator/internal/view"
)

// kind is how the objects of one kind and version are planned.
type kind struct {
	// replicas is the field of the spec that --replicas sets.
	replicas string
	// setImage does what --set-image asks for; nil where there is no image.
	setImage func(spec map[string]any, container, image string) error
	// foresee plans a change. live is nil where the object is new.
	foresee func(ctx context.Context, c client.Client, live, changed *unstructured.Unstructured) (view.Preview, error)
}

// kinds are the kinds that have plans.
var kinds = map[schema.GroupVersionKind]kind{
	desired.PodManagerGVK:                            {replicas: "replicas", setImage: setImage, foresee: foreseePodManager},
	appsv1alpha1.GroupVersion.WithKind("PodManager"): {replicas: "size", setImage: setOnlyImage, foresee: foreseePodManager},
	desired.ImoocPodGVK:                              {replicas: "replicas", foresee: foreseeImoocPod},
	desired.HelloWorldGVK:                            {replicas: "size", foresee: foreseeHelloWorld},
}

// current are the versions in which live objects are read.
var current = map[schema.GroupKind]schema.GroupVersionKind{
	kube.PodManagers.Kind: desired.PodManagerGVK,
	kube.ImoocPods.Kind:   desired.ImoocPodGVK,
	kube.HelloWorlds.Kind: desired.HelloWorldGVK,
}

func foreseePodManager(ctx context.Context, c client.Client, live, changed *unstructured.Unstructured) (view.Preview, error) {
	pm, err := podManager(changed)
	if err != nil {
		return view.Preview{}, err
	}
	if live == nil {
		return foresee(ctx, c, desired.PodManager(pm), appsv1.LabelName)
	}
	before, err := podManager(live)
	if err != nil {
		return view.Preview{}, err
	}
	// A dry run's answer has the status of now, which is what the planner
	// remembers.
	pm.Status = before.Status
	fleet := desired.PodManager(pm)
	preview, err := foresee(ctx, c, fleet, appsv1.LabelName)
	if err != nil {
		return preview, err
	}
	preview.TemplateDiff, err = view.TemplateDiff(desired.PodManager(before).Template, fleet.Template)
	return preview, err
}

// podManager reads an object of either version.
func podManager(object *unstructured.Unstructured) (*appsv1.PodManager, error) {
	content := object.Object
	if object.GroupVersionKind().GroupVersion() == appsv1alpha1.GroupVersion {
		var err error
		if content, err = appsv1alpha1.ToHub(content); err != nil {
			return nil, fmt.Errorf("convert PodManager %s/%s: %w", object.GetNamespace(), object.GetName(), err)
		}
	}
	pm := &appsv1.PodManager{}
	return pm, decode(content, pm)
}

func decode(content map[string]any, into client.Object) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, into); err != nil {
		return fmt.Errorf("decode the API server's answer: %w", err)
	}
	return nil
}

func foreseeImoocPod(ctx context.Context, c client.Client, live, changed *unstructured.Unstructured) (view.Preview, error) {
	ip := &batchv1alpha1.ImoocPod{}
	if err := decode(changed.Object, ip); err != nil {
		return view.Preview{}, err
	}
	if live != nil {
		before := &batchv1alpha1.ImoocPod{}
		if err := decode(live.Object, before); err != nil {
			return view.Preview{}, err
		}
		ip.Status = before.Status
	}
	fleet := desired.ImoocPodKind{}.Fleet(ip)
	fleet.Status = desired.ImoocPodKind{}.Status(ip)
	return foresee(ctx, c, fleet, batchv1alpha1.LabelName)
}

func foresee(ctx context.Context, c client.Client, fleet desired.Fleet, orphans string) (view.Preview, error) {
	seen, err := kube.ObserveFleet(ctx, c, fleet, orphans)
	if err != nil {
		return view.Preview{}, err
	}
	preview := view.NewPreview(forecast.Play(fleet.Desired, seen.Observed, time.Now()))
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(fleet.Ref.Namespace), client.MatchingLabelsSelector{Selector: fleet.Selector}); err != nil {
		return preview, fmt.Errorf("list the pods of %s/%s: %w", fleet.Ref.Namespace, fleet.Ref.Name, err)
	}
	own := slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, fleet.Owner) })
	grace := time.Duration(ptr.Deref(fleet.Template.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)) * time.Second
	preview.Estimate = view.NewEstimate(preview, forecast.PaceOf(own, podrender.ManagedBy), fleet.Desired.MinReady, grace)
	return preview, nil
}

// foreseeHelloWorld: its pods are those of a Deployment, which chooses them.
func foreseeHelloWorld(ctx context.Context, c client.Client, _, changed *unstructured.Unstructured) (view.Preview, error) {
	hw := &testv1alpha1.HelloWorld{}
	if err := decode(changed.Object, hw); err != nil {
		return view.Preview{}, err
	}
	size := int(desired.HelloWorldSize(hw))
	deployment := &kappsv1.Deployment{}
	err := c.Get(ctx, client.ObjectKeyFromObject(hw), deployment)
	switch {
	case apierrors.IsNotFound(err):
		return view.Resized("Deployment "+hw.Name, 0, size), nil
	case err != nil:
		return view.Preview{}, fmt.Errorf("read Deployment %s: %w", client.ObjectKeyFromObject(hw), err)
	case !metav1.IsControlledBy(deployment, hw):
		return view.HeldBack(size, testv1alpha1.ReasonNameTaken, fmt.Sprintf("a Deployment %s exists that is not the HelloWorld's", hw.Name)), nil
	}
	return view.Resized("Deployment "+hw.Name, int(ptr.Deref(deployment.Spec.Replicas, 1)), size), nil
}
