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
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// brokenImage is one that cannot be pulled, on simulated and on real nodes.
const brokenImage = "broken.invalid/app:1"

func rollouts() []Behaviour {
	template := []Capability{CanChangeTemplate}
	return []Behaviour{
		{
			Name: "rollout-completes", Profile: Rollout, Title: "a new image reaches every pod, and no pod is left over", Needs: template,
			steps: []step{create(4), settles(), setImage(""), rolledOut(), statusAgrees(), rests(settleTime), settles()},
		},
		{
			Name: "rollout-max-unavailable", Profile: Rollout, Title: "maxUnavailable: 1 and maxSurge: 0 hold at every moment",
			Needs: []Capability{HasUnavailable},
			steps: []step{budget(1, 0), gated(), create(4), openSlowly(), watchBudget(), setImage(""), openSlowly(), budgetHeld(3, 4)},
		},
		{
			Name: "rollout-max-surge", Profile: Rollout, Title: "maxUnavailable: 0 and maxSurge: 1 hold at every moment",
			Needs: []Capability{HasUnavailable, HasSurge},
			steps: []step{budget(0, 1), gated(), create(4), openSlowly(), watchBudget(), setImage(""), openSlowly(), budgetHeld(4, 5)},
		},
		{
			Name: "rollout-honest", Profile: Rollout, Title: "kstatus does not say Current before the rollout is done", Needs: template,
			steps: []step{gated(), create(3), openSlowly(), current(), setImage(""), openSlowly(), current(), currentWasTrue()},
		},
		{
			Name: "rollout-broken-serves", Profile: Rollout, Title: "a revision that never gets ready leaves the others serving", Needs: template,
			steps: []step{
				create(4), settles(), setImage(brokenImage), seesImage(brokenImage), rests(settleTime), stillReady(3), notCurrent(),
			},
		},
		{
			Name: "rollout-broken-fixed", Profile: Rollout, Title: "a broken revision does not block its fix", Needs: template,
			steps: []step{
				create(4), settles(), setImage(brokenImage), seesImage(brokenImage), rests(settleTime), setImage(""), rolledOut(), current(),
			},
		},
		{
			Name: "rollout-back", Profile: Rollout, Title: "going back in the middle of a rollout ends on the old template", Needs: template,
			steps: []step{gated(), create(4), openSlowly(), setImage(""), seesImage(""), setImage("nginx:1.27"), openSlowly(), current(), currentWasTrue()},
		},
		{
			Name: "rollout-not-for-metadata", Profile: Rollout, Title: "labels and annotations of the object itself replace no pod",
			steps: []step{create(3), settles(), keepAll(), annotateObject(), rests(settleTime), settles(), samePods(), exact()},
		},
		{
			Name: "rollout-while-scaling", Profile: Rollout, Title: "scaling mid-rollout ends at the new size and the new revision", Needs: template,
			steps: []step{create(3), settles(), setImage(""), scale(6), rolledOut(), scale(2), rolledOut(), statusAgrees(), current()},
		},
	}
}

// budget sets the limits of a rollout.
func budget(unavailable, surge int64) step {
	return func(_ context.Context, w *world) error {
		w.prepare = append(w.prepare, func(o *unstructured.Unstructured) error {
			for path, value := range w.Budget.Set {
				if err := set(o, path, substitute(value, w.name)); err != nil {
					return err
				}
			}
			if err := set(o, w.Budget.MaxUnavailable, unavailable); err != nil || w.Budget.MaxSurge == "" {
				return err
			}
			return set(o, w.Budget.MaxSurge, surge)
		})
		return nil
	}
}

// watchBudget begins the time in which the budget has to hold: after the last version
// of a pod that the suite has seen.
func watchBudget() step {
	return func(ctx context.Context, w *world) error {
		if err := rests(slowly)(ctx, w); err != nil {
			return err
		}
		history := w.history()
		w.spans = append(w.spans, span{from: history[len(history)-1].version + 1})
		return nil
	}
}

// budgetHeld checks each moment since watchBudget: so many ready at least, so many at most.
func budgetHeld(ready, most int) step {
	return func(ctx context.Context, w *world) error {
		if err := w.catchUp(ctx); err != nil {
			return err
		}
		from := w.spans[len(w.spans)-1].from
		return w.replay(func(e, _ entry, s state) error {
			live, up := s.live(w.uid), 0
			for _, e := range live {
				if isReady(e.pod) {
					up++
				}
			}
			if e.version >= from && (up < ready || len(live) > most) {
				return fmt.Errorf("%d pods were ready and %d there; at least %d and at most %d were allowed: %s", up, len(live), ready, most, s)
			}
			return nil
		})
	}
}

// rolledOut waits until all pods are ready and as the template says.
func rolledOut() step {
	return func(ctx context.Context, w *world) error { return w.eventually(ctx, w.rolledOut) }
}

// seesImage waits until a pod has an image.
func seesImage(image string) step {
	return func(ctx context.Context, w *world) error {
		if image == "" {
			image = w.NewImage
		}
		return w.eventually(ctx, func(context.Context) error {
			for _, pod := range w.pods() {
				if pod.Spec.Containers[0].Image == image {
					return nil
				}
			}
			return fmt.Errorf("no pod has the image %s: %s", image, w.now())
		})
	}
}

// stillReady checks that so many pods are ready now.
func stillReady(n int) step {
	return func(_ context.Context, w *world) error {
		ready := 0
		for _, pod := range w.pods() {
			if isReady(pod) {
				ready++
			}
		}
		if ready < n {
			return fmt.Errorf("%d pods are ready, and %d should be: %s", ready, n, w.now())
		}
		return nil
	}
}

func annotateObject() step {
	return change("the object's metadata", func(_ *world, o *unstructured.Unstructured) error {
		o.SetAnnotations(with(o.GetAnnotations(), "conformance.mycompany.com/note", "changed"))
		o.SetLabels(with(o.GetLabels(), "conformance.mycompany.com/note", "changed"))
		return nil
	})
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

func inPlace() []Behaviour {
	needs := []Capability{CanUpdateInPlace}
	return []Behaviour{
		{
			Name: "in-place-image", Profile: InPlace, Title: "a new image keeps the pods", Needs: needs,
			steps: []step{create(3), settles(), keepAll(), setImage(""), rolledOut(), rests(settleTime), settles(), samePods()},
		},
		{
			Name: "in-place-labels", Profile: InPlace, Title: "new labels and annotations keep the pods", Needs: needs,
			steps: []step{
				create(3), settles(), keepAll(), inTemplate("metadata.labels.tier", "front"), inTemplate("metadata.annotations.note", "changed"),
				allPods("the label and the annotation", func(p *corev1.Pod) bool { return p.Labels["tier"] == "front" && p.Annotations["note"] == "changed" }),
				settles(), samePods(),
			},
		},
		{
			Name: "in-place-resize", Profile: InPlace, Title: "new cpu requests keep the pods", Needs: needs,
			steps: []step{
				resources("100m"), create(3), settles(), keepAll(), inTemplate("spec.containers[0].resources.requests.cpu", "200m"),
				allPods("200m of cpu", func(p *corev1.Pod) bool { return p.Spec.Containers[0].Resources.Requests.Cpu().String() == "200m" }),
				settles(), samePods(),
			},
		},
		{
			Name: "in-place-restarts", Profile: InPlace, Title: "a change that needs a new pod makes one", Needs: needs,
			steps: []step{
				create(3), settles(), keepAll(), inTemplate("spec.containers[0].env", []any{map[string]any{"name": "NEW", "value": "1"}}),
				allPods("the variable", func(p *corev1.Pod) bool { return len(p.Spec.Containers[0].Env) == 1 }), settles(), newPods(),
			},
		},
	}
}

// inTemplate changes a field of the pod template.
func inTemplate(path string, value any) step {
	return change("the template's "+path, func(w *world, o *unstructured.Unstructured) error {
		return set(o, w.Template+"."+path, substitute(value, w.name))
	})
}

func resources(cpu string) step {
	return func(_ context.Context, w *world) error {
		w.prepare = append(w.prepare, func(o *unstructured.Unstructured) error {
			return set(o, w.Template+".spec.containers[0].resources", map[string]any{"requests": map[string]any{"cpu": cpu}})
		})
		return nil
	}
}

// allPods waits until all pods have something.
func allPods(what string, has func(*corev1.Pod) bool) step {
	return func(ctx context.Context, w *world) error {
		return w.eventually(ctx, func(context.Context) error {
			pods := w.pods()
			for _, pod := range pods {
				if !has(pod) {
					return fmt.Errorf("pod %s does not have %s", pod.Name, what)
				}
			}
			if len(pods) != w.desired {
				return fmt.Errorf("%d pods are wanted, and there are %d", w.desired, len(pods))
			}
			return nil
		})
	}
}
