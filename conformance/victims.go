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

package conformance

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

func victims() []Behaviour {
	return []Behaviour{
		{
			Name: "victims-not-ready", Profile: Core, Title: "a scale-down takes a pod that is not ready first",
			Needs: []Capability{HasRandomNames, CanChangeTemplate},
			steps: []step{
				gated(), create(4), openSlowly(), keep("victim"), closeGate("victim"),
				scale(3), leaves("victim"), settles(), exact(),
			},
		},
		{
			Name: "victims-cost", Profile: Core, Title: "a scale-down takes the pod with the lowest pod-deletion-cost first",
			Needs: []Capability{HasRandomNames},
			steps: []step{
				create(4), settles(), keep("victim"), cost("victim", "-100"), scale(3), leaves("victim"), settles(), exact(),
			},
		},
		{
			Name: "victims-ordinal", Profile: Core, Title: "a scale-down takes the highest ordinals",
			Needs: []Capability{HasOrdinals},
			steps: []step{create(4), settles(), scale(2), settles(), exact(), names("$(NAME)-0", "$(NAME)-1")},
		},
	}
}

// closeGate makes a pod not ready.
func closeGate(as string) step {
	return func(ctx context.Context, w *world) error {
		if err := w.setGate(ctx, w.kept[as], corev1.ConditionFalse); err != nil {
			return err
		}
		return w.eventually(ctx, func(context.Context) error {
			if pod, _ := w.find(w.kept[as].UID); pod == nil || isReady(pod) {
				return errors.New("the pod is still ready: does the node follow readinessGates?")
			}
			return nil
		})
	}
}

func cost(as, value string) step {
	return func(ctx context.Context, w *world) error {
		err := w.editPod(ctx, w.kept[as].Name, func(p *corev1.Pod) {
			if p.Annotations == nil {
				p.Annotations = map[string]string{}
			}
			p.Annotations[corev1.PodDeletionCost] = value
		})
		if err != nil {
			return err
		}
		// The controller has to have seen it before it chooses.
		return rests(settleTime)(ctx, w)
	}
}

// names checks which pods are left.
func names(want ...string) step {
	return func(_ context.Context, w *world) error {
		var got, expected []string
		for _, pod := range w.pods() {
			got = append(got, pod.Name)
		}
		for _, name := range want {
			expected = append(expected, substitute(name, w.name).(string))
		}
		if fmt.Sprint(got) != fmt.Sprint(expected) {
			return fmt.Errorf("the pods %v are left, not %v", got, expected)
		}
		return nil
	}
}
