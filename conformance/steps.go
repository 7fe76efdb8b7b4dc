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
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// step is one thing that a behaviour does or expects. Its error is the sentence in
// the report.
type step func(context.Context, *world) error

// create makes the object with so many pods.
func create(n int) step {
	return func(ctx context.Context, w *world) error {
		object, err := w.New(w.namespace, w.name, n)
		if err != nil {
			return err
		}
		for _, prepare := range w.prepare {
			if err := prepare(object); err != nil {
				return err
			}
		}
		if err := w.client.Create(ctx, object); err != nil {
			return fmt.Errorf("create the %s: %w", w.GVK().Kind, err)
		}
		w.uid, w.desired = object.GetUID(), n
		w.created += n
		w.spans = append(w.spans, span{version(object), n})
		return nil
	}
}

// scale changes the number of pods. Until it is reached, the object may have as many as
// before or as are wanted now, whichever is more.
func scale(n int) step {
	return func(ctx context.Context, w *world) error {
		object, err := w.edit(ctx, func(o *unstructured.Unstructured) error { return set(o, w.Replicas, int64(n)) })
		if err != nil {
			return fmt.Errorf("scale to %d: %w", n, err)
		}
		w.spans = append(w.spans, span{version(object), max(n, w.desired)})
		w.created += max(0, n-w.desired)
		w.deleted += max(0, w.desired-n)
		w.desired = n
		return nil
	}
}

// setImage starts a rollout.
func setImage(image string) step {
	return change("the image", func(w *world, o *unstructured.Unstructured) error {
		if image == "" {
			return set(o, w.image(), w.NewImage)
		}
		return set(o, w.image(), image)
	})
}

// change edits the object.
func change(what string, edit func(*world, *unstructured.Unstructured) error) step {
	return func(ctx context.Context, w *world) error {
		if _, err := w.edit(ctx, func(o *unstructured.Unstructured) error { return edit(w, o) }); err != nil {
			return fmt.Errorf("change %s: %w", what, err)
		}
		return nil
	}
}

// settles waits until the object has exactly the pods that it asks for, all ready, and
// none that is on its way out.
func settles() step {
	return func(ctx context.Context, w *world) error {
		return w.eventually(ctx, func(context.Context) error { return w.settled(w.desired, w.desired) })
	}
}

// settled checks that the object has n live pods, so many of them ready.
func (w *world) settled(n, ready int) error { return w.settledIn(w.now(), n, ready) }

func (w *world) settledIn(now state, n, ready int) error {
	live := now.live(w.uid)
	got := len(slices.DeleteFunc(slices.Clone(live), func(e entry) bool { return !isReady(e.pod) }))
	leaving := now.filter(func(e entry) bool { return e.root == w.uid && e.pod.DeletionTimestamp != nil })
	if len(live) != n || got != ready || len(leaving) > 0 {
		return fmt.Errorf("%d pods are wanted, %d of them ready; there are %d, %d ready, and %d terminating: %s",
			n, ready, len(live), got, len(leaving), now)
	}
	return nil
}

// hasLive waits until the object has n live pods, ready or not.
func hasLive(n int) step {
	return func(ctx context.Context, w *world) error {
		return w.eventually(ctx, func(context.Context) error {
			if live := w.now().live(w.uid); len(live) != n {
				return fmt.Errorf("%d pods are wanted, and there are %d: %s", n, len(live), w.now())
			}
			return nil
		})
	}
}

// exact checks that no pod was created or deleted beyond what the steps so far asked
// for, and that there were never more at a time than allowed.
func exact() step {
	return func(ctx context.Context, w *world) error {
		if err := rests(settleTime)(ctx, w); err != nil {
			return err
		}
		created, deleted := w.tally(w.uid)
		if created != w.created || deleted != w.deleted {
			return fmt.Errorf("%d pods were created and %d deleted; %d and %d were needed", created, deleted, w.created, w.deleted)
		}
		return w.replay(func(e, _ entry, s state) error {
			most := 0
			for _, span := range w.spans {
				if e.version >= span.from {
					most = span.most
				}
			}
			if n := len(s.live(w.uid)); n > most {
				return fmt.Errorf("there were %d pods at once where %d were allowed: %s", n, most, s)
			}
			return nil
		})
	}
}

// rests waits until the pods have not changed for a while.
func rests(quiet time.Duration) step {
	return func(ctx context.Context, w *world) error {
		last, since := -1, time.Now()
		err := w.eventually(ctx, func(context.Context) error {
			if n := len(w.history()); n != last {
				last, since = n, time.Now()
			}
			if time.Since(since) < quiet {
				return errors.New("the pods keep changing")
			}
			return nil
		})
		return errors.Join(err, w.catchUp(ctx))
	}
}

// statusAgrees waits until the status has the numbers of the pods, for this generation.
func statusAgrees() step {
	return func(ctx context.Context, w *world) error {
		return w.eventually(ctx, func(ctx context.Context) error {
			object, err := w.object(ctx)
			if err != nil {
				return err
			}
			return w.agrees(object)
		})
	}
}

func (w *world) agrees(object *unstructured.Unstructured) error {
	if path := w.Status.ObservedGeneration; path != "" {
		if seen, _ := number(object, path); int64(seen) != object.GetGeneration() {
			return fmt.Errorf("%s is %d at generation %d", path, seen, object.GetGeneration())
		}
	}
	for _, path := range []string{w.Status.Replicas, w.Status.Ready, w.Status.Available} {
		if path == "" {
			continue
		}
		// A number that is 0 may be left out.
		if n, _ := number(object, path); n != w.desired {
			return fmt.Errorf("%s is %d, and there are %d pods", path, n, w.desired)
		}
	}
	return nil
}

// keep remembers one of the pods, the first by name.
func keep(as string) step {
	return func(_ context.Context, w *world) error {
		pods := w.pods()
		if len(pods) == 0 {
			return errors.New("it has no pods")
		}
		w.kept[as] = pods[0]
		return nil
	}
}

// keepAll remembers all pods.
func keepAll() step {
	return func(_ context.Context, w *world) error {
		for _, pod := range w.pods() {
			w.kept[string(pod.UID)] = pod
		}
		return nil
	}
}

// samePods checks that the pods are the very pods they were.
func samePods() step {
	return func(_ context.Context, w *world) error {
		for _, pod := range w.pods() {
			if w.kept[string(pod.UID)] == nil {
				return fmt.Errorf("pod %s is a new one: it was replaced", pod.Name)
			}
		}
		return nil
	}
}

// newPods checks that none of the pods is one of those that were remembered.
func newPods() step {
	return func(_ context.Context, w *world) error {
		for _, pod := range w.pods() {
			if w.kept[string(pod.UID)] != nil {
				return fmt.Errorf("pod %s was not replaced", pod.Name)
			}
		}
		return nil
	}
}

// deletePod deletes a pod that was remembered, as a user does; it is to be replaced.
func deletePod(as string) step {
	return func(ctx context.Context, w *world) error {
		w.created++
		w.deleted++
		return w.client.Delete(ctx, w.kept[as].DeepCopy(), client.Preconditions{UID: &w.kept[as].UID})
	}
}

// holdFinalizer keeps a terminating pod from going.
const holdFinalizer = "conformance.mycompany.com/hold"

// hold puts a finalizer on a pod that was remembered, until unhold.
func hold(as string) step {
	return func(ctx context.Context, w *world) error {
		pod := w.kept[as]
		w.later(func(ctx context.Context) error { return w.unhold(ctx, pod) })
		return w.editPod(ctx, pod.Name, func(p *corev1.Pod) { p.Finalizers = append(p.Finalizers, holdFinalizer) })
	}
}

func unhold(as string) step {
	return func(ctx context.Context, w *world) error { return w.unhold(ctx, w.kept[as]) }
}

func (w *world) unhold(ctx context.Context, pod *corev1.Pod) error {
	err := w.editPod(ctx, pod.Name, func(p *corev1.Pod) {
		if p.UID == pod.UID {
			p.Finalizers = slices.DeleteFunc(p.Finalizers, func(f string) bool { return f == holdFinalizer })
		}
	})
	return client.IgnoreNotFound(err)
}

// bare makes a pod of the suite's own; it is no part of what the object created.
func bare(as, name string, labels func(*world) map[string]string, owner func(*world, *corev1.Pod)) step {
	return func(ctx context.Context, w *world) error {
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name = w.namespace, strings.ReplaceAll(name, "$(NAME)", w.name)
		if labels != nil {
			pod.Labels = labels(w)
		}
		pod.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx:1.27"}}
		if owner != nil {
			owner(w, pod)
		}
		if err := w.client.Create(ctx, pod); err != nil {
			return fmt.Errorf("create the pod %s: %w", pod.Name, err)
		}
		w.kept[as] = pod
		return nil
	}
}

// untouched checks that a pod of the suite's own is as it was.
func untouched(as string) step {
	return func(ctx context.Context, w *world) error {
		was, is := w.kept[as], &corev1.Pod{}
		err := w.client.Get(ctx, client.ObjectKeyFromObject(was), is)
		switch {
		case apierrors.IsNotFound(err) || err == nil && (is.UID != was.UID || is.DeletionTimestamp != nil):
			return fmt.Errorf("the pod %s is not its own, and was deleted", was.Name)
		case err != nil:
			return err
		case !sameOwners(was, is) || !sameLabels(was, is):
			return fmt.Errorf("the pod %s is not its own, and was changed: owners %v, labels %v", was.Name, is.OwnerReferences, is.Labels)
		}
		return nil
	}
}

func sameOwners(a, b *corev1.Pod) bool {
	uids := func(p *corev1.Pod) (out []types.UID) {
		for _, ref := range p.OwnerReferences {
			out = append(out, ref.UID)
		}
		return out
	}
	return slices.Equal(uids(a), uids(b))
}

// sameLabels: admission adds labels of the node, so only those that were there count.
func sameLabels(was, is *corev1.Pod) bool {
	for key, value := range was.Labels {
		if is.Labels[key] != value {
			return false
		}
	}
	return true
}

// isGone waits until the object is gone.
func isGone() step {
	return func(ctx context.Context, w *world) error {
		return w.eventually(ctx, func(ctx context.Context) error {
			object, err := w.object(ctx)
			if apierrors.IsNotFound(err) {
				return nil
			}
			if err != nil {
				return err
			}
			return fmt.Errorf("the %s is still there, with finalizers %v", w.GVK().Kind, object.GetFinalizers())
		})
	}
}
