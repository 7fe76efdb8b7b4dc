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

package grade

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	kscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Namespace is where everything in a world is.
const Namespace = "default"

// Scheme knows the kinds of the exercises.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		kscheme.AddToScheme, labv1.AddToScheme, appsv1.AddToScheme, batchv1alpha1.AddToScheme, collectorv1.AddToScheme, testv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err) // two kinds of the same name: a mistake in this file
		}
	}
	return scheme
}

// Web is a Web in a namespace.
func Web(namespace, name string, replicas int32) *labv1.Web {
	return &labv1.Web{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       labv1.WebSpec{Replicas: replicas, Image: "nginx:1.27"},
	}
}

// Worlds is the world of most exercises: one Web, a reconciler, and what it watches.
func Worlds(n New, web *labv1.Web) sim.World {
	return sim.World{Scheme: Scheme(), Objects: []client.Object{web}, New: n}
}

// Edit is a user who reads the newest state of an object and changes it.
func Edit[T client.Object](name string, obj T, change func(T)) sim.Action {
	return sim.Action{Name: name, Do: func(ctx context.Context, c client.Client) error {
		current := obj.DeepCopyObject().(T)
		if err := c.Get(ctx, client.ObjectKeyFromObject(obj), current); err != nil {
			return err
		}
		change(current)
		return c.Update(ctx, current)
	}}
}

// Delete is a user who deletes an object.
func Delete(name string, obj client.Object) sim.Action {
	return sim.Action{Name: name, Do: func(ctx context.Context, c client.Client) error {
		return client.IgnoreNotFound(c.Delete(ctx, obj))
	}}
}

// Touch is a user who changes what has no effect on the pods. It only wakes the
// reconciler.
func Touch(obj client.Object) sim.Action {
	return Edit(Touched, obj, func(obj client.Object) { obj.SetLabels(map[string]string{"team": "a"}) })
}

// Touched is the name of the action that Touch makes.
const Touched = "touch"

// TouchedText explains it.
func TouchedText() trace.Text {
	return trace.Text{
		EN: "The user puts a label on the object, which wakes the controller.",
		ZH: "用户给对象加了一个标签，唤醒控制器。",
	}
}

// Live are the pods that are not being deleted and have a label.
func Live(s *sim.State, label, value string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range sim.All[*corev1.Pod](s) {
		if pod.DeletionTimestamp == nil && pod.Labels[label] == value {
			pods = append(pods, pod)
		}
	}
	return pods
}

// Eventually polls until a check passes.
func Eventually(ctx context.Context, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil && last != nil {
		return last
	}
	return err
}

// PodCount waits until a Web has a number of pods.
func PodCount(ctx context.Context, c client.Client, namespace, label, value string, want int) error {
	return Eventually(ctx, func(ctx context.Context) error {
		var pods corev1.PodList
		if err := c.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{label: value}); err != nil {
			return err
		}
		if len(pods.Items) != want {
			return fmt.Errorf("found %s with the label %s=%s, want %d", trace.Counted(len(pods.Items), "pod"), label, value, want)
		}
		return nil
	})
}
