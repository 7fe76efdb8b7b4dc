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

package change

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
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/forecast"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
	"github.com/mycompany/pod-operator/internal/view"
)

// Kind is how the objects of one kind and version are changed and planned.
type Kind struct {
	// replicas is the field of the spec that has the number of pods.
	replicas string
	// setImage sets an image; nil where there is none to set.
	setImage func(spec map[string]any, container, image string) error
	// restart asks for a restart of the pods; nil where none can be asked for.
	restart func(object *unstructured.Unstructured, at time.Time) error
	// setContent sets keys to values; nil where there are none.
	setContent func(object *unstructured.Unstructured, content map[string][]byte) error
	// typed is the type by which kubectl apply merges lists; nil where it replaces them.
	typed any
	// foresee plans a change. live is nil where the object is new.
	foresee func(ctx context.Context, look Look, live, changed *unstructured.Unstructured) (view.Preview, error)
}

// kinds are the kinds that have plans.
var kinds = map[schema.GroupVersionKind]Kind{
	desired.PodManagerGVK:                            {replicas: "replicas", setImage: setImage, restart: restartManager, foresee: foreseePodManager},
	appsv1alpha1.GroupVersion.WithKind("PodManager"): {replicas: "size", setImage: setOnlyImage, restart: restartManager, foresee: foreseePodManager},
	desired.ImoocPodGVK:                              {replicas: "replicas", foresee: foreseeImoocPod},
	desired.HelloWorldGVK:                            {replicas: "size", foresee: foreseeHelloWorld},
}

// KindOf is the kind of a version that has plans.
func KindOf(version schema.GroupVersionKind) (Kind, bool) {
	k, ok := kinds[version]
	return k, ok
}

// Plannable reports whether some version of the kind has plans.
func Plannable(kind schema.GroupKind) bool {
	for known := range kinds {
		if known.GroupKind() == kind {
			return true
		}
	}
	return false
}

// Look is how the world is looked at for a forecast.
type Look struct {
	// Reader reads with the rights of the person.
	Reader client.Reader
	// Observer reads the pods.
	Observer Observer
	Now      time.Time
	// Passes bounds a forecast of so many pods; nil lets it play to its end.
	Passes func(pods int) int
}

// Observer reads the pods of a fleet.
type Observer interface {
	// Observe sees the fleet as the controller does. The label is the one by which
	// it finds its orphans.
	Observe(ctx context.Context, fleet desired.Fleet, orphans string) (observe.Seen, error)
	// Pods are the pods that the fleet's selector finds; they show how long pods
	// take to be ready.
	Pods(ctx context.Context, fleet desired.Fleet) ([]corev1.Pod, error)
}

// Foresee is what a change would do. live is nil where the object is new.
func (k Kind) Foresee(ctx context.Context, look Look, live, changed *unstructured.Unstructured) (view.Preview, error) {
	return k.foresee(ctx, look, live, changed)
}

func foreseePodManager(ctx context.Context, look Look, live, changed *unstructured.Unstructured) (view.Preview, error) {
	pm, err := podManager(changed)
	if err != nil {
		return view.Preview{}, err
	}
	if live == nil {
		return look.play(ctx, desired.PodManager(pm), appsv1.LabelName)
	}
	before, err := podManager(live)
	if err != nil {
		return view.Preview{}, err
	}
	// A dry run's answer has the status of now, which is what the planner
	// remembers.
	pm.Status = before.Status
	fleet := desired.PodManager(pm)
	preview, err := look.play(ctx, fleet, appsv1.LabelName)
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

func foreseeImoocPod(ctx context.Context, look Look, live, changed *unstructured.Unstructured) (view.Preview, error) {
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
	return look.play(ctx, fleet, batchv1alpha1.LabelName)
}

// Outlook is what is still to come for a fleet, after what is under way now.
func (l Look) Outlook(ctx context.Context, fleet desired.Fleet) (view.Preview, error) {
	seen, err := l.Observer.Observe(ctx, fleet, appsv1.LabelName)
	if err != nil {
		return view.Preview{}, err
	}
	settled, left := forecast.Settled(fleet.Desired, seen.Observed, l.Now)
	preview, err := l.estimated(ctx, fleet, settled)
	if e := preview.Estimate; e != nil && e.Seconds != nil {
		all := *e.Seconds + int64(left.Round(time.Second)/time.Second)
		e.Seconds = &all
	}
	return preview, err
}

// play plays the fleet forward as it is seen now.
func (l Look) play(ctx context.Context, fleet desired.Fleet, orphans string) (view.Preview, error) {
	seen, err := l.Observer.Observe(ctx, fleet, orphans)
	if err != nil {
		return view.Preview{}, err
	}
	return l.estimated(ctx, fleet, seen.Observed)
}

// estimated plays the fleet forward, and says how long it takes.
func (l Look) estimated(ctx context.Context, fleet desired.Fleet, observed plan.Observed) (view.Preview, error) {
	var run forecast.Run
	if l.Passes == nil {
		run = forecast.Play(fleet.Desired, observed, l.Now)
	} else {
		run = forecast.Within(l.Passes(len(observed.Pods)+fleet.Desired.Replicas), fleet.Desired, observed, l.Now)
	}
	preview := view.NewPreview(run)
	pods, err := l.Observer.Pods(ctx, fleet)
	if err != nil {
		return preview, err
	}
	own := slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, fleet.Owner) })
	grace := time.Duration(ptr.Deref(fleet.Template.Spec.TerminationGracePeriodSeconds, corev1.DefaultTerminationGracePeriodSeconds)) * time.Second
	unknown := preview.Doubt(observed.Pods, fleet.Desired.MinReady, l.Now)
	preview.Estimate = view.NewEstimate(preview, forecast.PaceOf(own, podrender.ManagedBy), unknown, fleet.Desired.MinReady, grace)
	return preview, nil
}

// foreseeHelloWorld: its pods are those of a Deployment, which chooses them.
func foreseeHelloWorld(ctx context.Context, look Look, _, changed *unstructured.Unstructured) (view.Preview, error) {
	hw := &testv1alpha1.HelloWorld{}
	if err := decode(changed.Object, hw); err != nil {
		return view.Preview{}, err
	}
	size := int(desired.HelloWorldSize(hw))
	deployment := &kappsv1.Deployment{}
	err := look.Reader.Get(ctx, client.ObjectKeyFromObject(hw), deployment)
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
