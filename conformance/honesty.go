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
	"slices"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func honesty() []Behaviour {
	return []Behaviour{
		{
			Name: "status-counts", Profile: Core, Title: "the status counts its pods and names the generation that it has seen",
			steps: []step{
				create(3), settles(), statusAgrees(), scale(5), settles(), statusAgrees(), scale(0), settles(), statusAgrees(),
				generationNeverAhead(),
			},
		},
		{
			Name: "kstatus-reached", Profile: Core, Title: "kstatus says Current when all pods are ready",
			steps: []step{create(3), settles(), current(), scale(1), settles(), current()},
		},
		{
			Name: "kstatus-honest", Profile: Core, Title: "kstatus never says Current before it is true",
			steps: []step{
				gated(), create(3), openSlowly(), current(), scale(5), openSlowly(), current(), scale(2), settles(), current(),
				currentWasTrue(),
			},
		},
	}
}

// kstatus asks what Flux and Helm take the object for.
func (w *world) kstatus(ctx context.Context) (*status.Result, error) {
	object, err := w.object(ctx)
	if err != nil {
		return nil, err
	}
	return status.Compute(object)
}

// current waits until kstatus says Current.
func current() step {
	return func(ctx context.Context, w *world) error {
		return w.eventually(ctx, func(ctx context.Context) error {
			result, err := w.kstatus(ctx)
			if err != nil {
				return err
			}
			if result.Status != status.CurrentStatus {
				return fmt.Errorf("all pods are ready, and kstatus says %s: %s; pods: %s", result.Status, result.Message, w.now())
			}
			return nil
		})
	}
}

// notCurrent checks that kstatus does not say Current now. What the controller does to
// pods is judged apart from that: the behaviour goes on, and fails at its end.
func notCurrent() step {
	return func(ctx context.Context, w *world) error {
		result, err := w.kstatus(ctx)
		if err != nil {
			return err
		}
		if result.Status == status.CurrentStatus && w.early == nil {
			w.early = fmt.Errorf("kstatus said Current (%s), and %d of %d pods were there: %s",
				result.Message, len(w.now().live(w.uid)), w.desired, w.now())
		}
		return nil
	}
}

// currentWasTrue holds every version of the object of which kstatus said Current against
// the pods as of that version.
func currentWasTrue() step {
	return func(ctx context.Context, w *world) error {
		if err := w.catchUp(ctx); err != nil {
			return err
		}
		for _, object := range w.versions(w.uid) {
			result, err := status.Compute(object)
			if err != nil {
				return err
			}
			if result.Status != status.CurrentStatus {
				continue
			}
			if err := w.isTrue(object); err != nil {
				return fmt.Errorf("kstatus said Current (%s) at generation %d: %w", result.Message, object.GetGeneration(), err)
			}
		}
		return nil
	}
}

// isTrue checks that a version of the object had all that it asked for when it was written.
func (w *world) isTrue(object *unstructured.Unstructured) error {
	want, _ := number(object, w.Replicas)
	image, hasImage := get(object, w.image())
	s := w.asOf(version(object))
	ready := 0
	for _, e := range s.live(w.uid) {
		if isReady(e.pod) && (w.Template == "" || !hasImage || e.pod.Spec.Containers[0].Image == image) {
			ready++
		}
	}
	switch live := len(s.live(w.uid)); {
	case live == 0 && want > 0:
		return fmt.Errorf("%d pods were wanted, and there was none", want)
	case live != want || ready != want:
		return fmt.Errorf("%d pods were wanted; there were %d, %d of them ready and as the template says: %s", want, live, ready, s)
	}
	return nil
}

// generationNeverAhead checks that no status named a generation that was not there yet.
func generationNeverAhead() step {
	return func(_ context.Context, w *world) error {
		for _, object := range w.versions(w.uid) {
			if seen, ok := number(object, w.Status.ObservedGeneration); ok && int64(seen) > object.GetGeneration() {
				return fmt.Errorf("%s was %d at generation %d", w.Status.ObservedGeneration, seen, object.GetGeneration())
			}
		}
		return nil
	}
}

// quietTime is long enough for a resync that some operators do every few seconds.
const quietTime = 5 * time.Second

// unchangedFor checks that neither the object nor a pod of its changes for a while.
func unchangedFor(d time.Duration) step {
	return func(ctx context.Context, w *world) error {
		objects, pods := len(w.versions(w.uid)), len(w.history())
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		if n := len(w.versions(w.uid)) - objects; n > 0 {
			return fmt.Errorf("the %s was written %d times in %s in which nothing changed", w.GVK().Kind, n, d)
		}
		if n := len(w.history()) - pods; n > 0 {
			return fmt.Errorf("its pods were written %d times in %s in which nothing changed", n, d)
		}
		return nil
	}
}

// gate is a condition that the suite sets: a pod that names it in its readinessGates is
// ready when the suite says so, on any node.
const gate = "conformance.mycompany.com/open"

// gated has the pods of the object wait for the suite. A kind without a template has
// pods that are ready at once.
func gated() step {
	return func(_ context.Context, w *world) error {
		if w.Template == "" {
			return nil
		}
		w.prepare = append(w.prepare, func(o *unstructured.Unstructured) error {
			return set(o, w.Template+".spec.readinessGates", []any{map[string]any{"conditionType": gate}})
		})
		return nil
	}
}

// slowly is how long a pod waits for its gate after its last change. A simulated node may
// still send a status that it made up before; one that comes after the gate is opened
// would take the pod's readiness back.
const slowly = 700 * time.Millisecond

// openSlowly makes pods ready, one after the other, until the object has settled and its
// pods are as the template says.
func openSlowly() step {
	return func(ctx context.Context, w *world) error {
		waiting, since := "", time.Now()
		return w.eventually(ctx, func(ctx context.Context) error {
			pod := w.nextGate()
			if pod == nil {
				return w.rolledOut(ctx)
			}
			if pod.ResourceVersion != waiting {
				waiting, since = pod.ResourceVersion, time.Now()
			}
			if time.Since(since) > slowly {
				if err := w.setGate(ctx, pod, corev1.ConditionTrue); client.IgnoreNotFound(err) != nil {
					return err
				}
				w.opened[pod.UID] = true
			}
			return fmt.Errorf("pod %s is not ready yet", pod.Name)
		})
	}
}

// nextGate is a live pod that waits for the suite and for nothing else: its node is done
// with it, so that no older word of the node comes after ours.
func (w *world) nextGate() *corev1.Pod {
	for _, pod := range w.pods() {
		started := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.ContainersReady && c.Status == corev1.ConditionTrue
		})
		if len(pod.Spec.ReadinessGates) > 0 && started && !w.opened[pod.UID] {
			return pod
		}
	}
	return nil
}

// rolledOut checks that the object has settled and that its pods have the template's
// image: both of one state, because a pod that leaves between two looks is in neither.
func (w *world) rolledOut(ctx context.Context) error {
	object, err := w.object(ctx)
	if err != nil {
		return err
	}
	image, _ := get(object, w.image())
	now := w.now()
	if err := w.settledIn(now, w.desired, w.desired); err != nil || w.Template == "" {
		return err
	}
	for _, e := range now.live(w.uid) {
		if e.pod.Spec.Containers[0].Image != image {
			return fmt.Errorf("pod %s has the image %s, not %s", e.pod.Name, e.pod.Spec.Containers[0].Image, image)
		}
	}
	return nil
}

func (w *world) setGate(ctx context.Context, pod *corev1.Pod, value corev1.ConditionStatus) error {
	if w.Template == "" {
		return nil
	}
	return w.setCondition(ctx, pod, gate, value)
}
