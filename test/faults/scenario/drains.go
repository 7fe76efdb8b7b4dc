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

package scenario

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// drains are scenarios of pods that have to leave their nodes: the eviction of each
// waits, as the webhook for evictions notes it on the pod.
func drains() []Scenario {
	return []Scenario{
		{Name: "a pod is drained", Uncounted: true, Steps: []Step{create(fleet(1, surgeFirst)), evict(Name + "-0")}},
		{Name: "two pods are drained", Uncounted: true, Steps: []Step{create(fleet(3, surgeFirst)), evict(Name+"-0", Name+"-2")}},
		{
			Name: "a pod with a random name is drained", Anonymous: true, Uncounted: true,
			Steps: []Step{create(fleet(2, random, surgeFirst)), evictAny()},
		},
		{Name: "a pod is drained during a rollout", Uncounted: true, Steps: []Step{
			create(fleet(2, recreate, surge(1), unavailable(0), surgeFirst)),
			both("set image "+New+" and drain a pod", image(New), evict(Name+"-0")),
		}},
		{Name: "a pod is drained while the fleet shrinks", Uncounted: true, Steps: []Step{
			create(fleet(3, surgeFirst)), both("scale to 2 and drain a pod", scale(2), evict(Name+"-1")),
		}},
	}
}

func surgeFirst(pm *appsv1.PodManager) { pm.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst }

// evict notes on pods that their eviction waits.
func evict(names ...string) Step {
	return Step{Name: fmt.Sprintf("drain %v", names), Do: func(ctx context.Context, w World) error {
		body := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, appsv1.AnnotationEvictionRequested, w.Now.UTC().Format(time.RFC3339))
		for _, name := range names {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
			if err := w.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(body))); err != nil {
				return err
			}
		}
		return nil
	}}
}

// evictAny drains the first pod that lives.
func evictAny() Step {
	return Step{Name: "drain a pod", Do: func(ctx context.Context, w World) error {
		name, err := firstLive(ctx, w)
		if err != nil {
			return err
		}
		return evict(name).Do(ctx, w)
	}}
}

// both takes two steps at once.
func both(name string, one, other Step) Step {
	return Step{Name: name, Do: func(ctx context.Context, w World) error {
		if err := one.Do(ctx, w); err != nil {
			return err
		}
		return other.Do(ctx, w)
	}}
}
