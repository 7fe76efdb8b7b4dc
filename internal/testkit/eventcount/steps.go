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

package eventcount

import (
	"context"
	"fmt"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Step is one change of a Deployment, with what it must do to objects. How often
// objects are modified is left open: that is what is measured.
type Step struct {
	Title string
	// change is how a Collector describes it.
	change string
	// created and deleted are numbers of pods.
	created, deleted int64
	// deployments and sets are numbers of new Deployments and ReplicaSets.
	deployments, sets int64
	// spec: the Deployment's spec changes or is new.
	spec bool
	do   func(ctx context.Context, s *subject) error
}

// subject is a Deployment whose events are counted. Its pods have its name in the
// label "app".
type subject struct {
	client     client.Client
	namespace  string
	name       string
	containers int
	images     [3]string
	shape      func(*corev1.PodSpec)
	steps      []Step
}

// ofFour are the steps of a Deployment that is scaled from 3 to 1, 3, 4 and 0.
func ofFour() []Step {
	steps := []Step{
		{Title: "created with 3 replicas", change: "created, replicas 3", created: 3, deployments: 1, sets: 1, spec: true, do: create(3)},
		{Title: "replicas 3 → 1", change: "replicas 3 -> 1", deleted: 2, spec: true, do: scale(1)},
		{Title: "replicas 1 → 3", change: "replicas 1 -> 3", created: 2, spec: true, do: scale(3)},
		{Title: "one pod deleted", change: "1 pod deleted", created: 1, deleted: 1, do: deletePods(1)},
		{Title: "two pods deleted", change: "2 pods deleted", created: 2, deleted: 2, do: deletePods(2)},
		{Title: "replicas 3 → 4", change: "replicas 3 -> 4", created: 1, spec: true, do: scale(4)},
	}
	steps = append(steps, strategies(4)...)
	return append(steps, Step{Title: "replicas 4 → 0", change: "replicas 4 -> 0", deleted: 4, spec: true, do: scale(0)})
}

// ofTwo are the steps of a Deployment that has 2 replicas all the time.
func ofTwo() []Step {
	return append([]Step{
		{Title: "created with 2 replicas", change: "created, replicas 2", created: 2, deployments: 1, sets: 1, spec: true, do: create(2)},
	}, strategies(2)...)
}

// strategies changes the strategy, and rolls out an image with each of them.
func strategies(replicas int64) []Step {
	title := func(what string) string { return fmt.Sprintf("%s, %d replicas", what, replicas) }
	rollout := func(strategy string, image int) Step {
		return Step{
			Title: title("image with " + strategy), change: fmt.Sprintf("image %d", image),
			created: replicas, deleted: replicas, sets: 1, spec: true, do: setImage(image),
		}
	}
	return []Step{
		{
			Title: title("strategy RollingUpdate → Recreate"), spec: true,
			change: "strategy.type RollingUpdate -> Recreate, strategy.rollingUpdate removed",
			do:     patchSpec(`{"strategy":{"type":"Recreate","rollingUpdate":null}}`),
		},
		rollout("Recreate", 1),
		{
			Title: title("strategy Recreate → RollingUpdate"), spec: true,
			change: "strategy.type Recreate -> RollingUpdate, strategy.rollingUpdate added",
			do:     patchSpec(`{"strategy":{"type":"RollingUpdate"}}`),
		},
		rollout("RollingUpdate", 2),
	}
}

// described is how a Collector describes a step of this Deployment.
func (s *subject) described(step Step) string {
	for i := 1; i < len(s.images); i++ {
		if step.change == fmt.Sprintf("image %d", i) {
			return fmt.Sprintf("template.spec.containers.c0.image %s -> %s", s.images[i-1], s.images[i])
		}
	}
	return step.change
}

func (s *subject) deployment() *kappsv1.Deployment {
	return &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: s.name, Labels: s.labels()}}
}

func (s *subject) labels() map[string]string { return map[string]string{appLabel: s.name} }

const appLabel = "app"

func create(replicas int32) func(context.Context, *subject) error {
	return func(ctx context.Context, s *subject) error {
		d := s.deployment()
		d.Spec = kappsv1.DeploymentSpec{
			Replicas: ptr.To(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: s.labels()},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: s.labels()}},
		}
		spec := &d.Spec.Template.Spec
		for i := range s.containers {
			spec.Containers = append(spec.Containers, corev1.Container{Name: fmt.Sprintf("c%d", i), Image: s.images[0]})
		}
		s.shape(spec)
		return s.client.Create(ctx, d)
	}
}

func patchSpec(spec string) func(context.Context, *subject) error {
	return func(ctx context.Context, s *subject) error {
		return s.client.Patch(ctx, s.deployment(), client.RawPatch(types.StrategicMergePatchType, []byte(`{"spec":`+spec+`}`)))
	}
}

func scale(replicas int) func(context.Context, *subject) error {
	return patchSpec(fmt.Sprintf(`{"replicas":%d}`, replicas))
}

// setImage changes the image of one container, as kubectl set image does.
func setImage(image int) func(context.Context, *subject) error {
	return func(ctx context.Context, s *subject) error {
		return patchSpec(fmt.Sprintf(`{"template":{"spec":{"containers":[{"name":"c0","image":%q}]}}}`, s.images[image]))(ctx, s)
	}
}

func deletePods(n int) func(context.Context, *subject) error {
	return func(ctx context.Context, s *subject) error {
		var pods corev1.PodList
		if err := s.client.List(ctx, &pods, client.InNamespace(s.namespace), client.MatchingLabels(s.labels())); err != nil {
			return err
		}
		if len(pods.Items) < n {
			return fmt.Errorf("%s has %d pods", s.name, len(pods.Items))
		}
		for i := range n {
			if err := s.client.Delete(ctx, &pods.Items[i]); err != nil {
				return err
			}
		}
		return nil
	}
}

func (s *subject) perform(t testing.TB, step Step) {
	t.Helper()
	if err := step.do(t.Context(), s); err != nil {
		t.Fatalf("%s: %s: %v", s.name, step.Title, err)
	}
}
