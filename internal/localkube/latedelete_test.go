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

package localkube_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	reborn       = 8  // pods that are deleted and created again side by side
	rebornRounds = 15 // how often
)

// testLateDelete creates pods anew the moment they are gone, as a controller
// with fixed names does. Each is touched while it terminates, so that kwok has
// a reason to delete it twice; and deleted while it starts, so that kwok's word
// of the start may come late. A pod that went without having been asked to was
// killed by something meant for an earlier one.
func testLateDelete(t *testing.T, k *kube) {
	record := &departures{asked: map[types.UID]bool{}, gone: map[types.UID]string{}}
	watcher, err := k.pods().Watch(t.Context(), metav1.ListOptions{LabelSelector: "reborn"})
	if err != nil {
		t.Fatal(err)
	}
	var watching sync.WaitGroup
	watching.Go(func() { record.follow(watcher) })

	errs := make(chan error, reborn)
	for i := range reborn {
		go func() { errs <- k.rebirths(t.Context(), fmt.Sprintf("reborn-%d", i), record) }()
	}
	for range reborn {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	watcher.Stop()
	watching.Wait()
	if len(record.asked) != reborn*rebornRounds {
		t.Errorf("%d pods were deleted, want %d", len(record.asked), reborn*rebornRounds)
	}
	for uid, name := range record.gone {
		if !record.asked[uid] {
			t.Errorf("%s (%s) was deleted without a request", name, uid)
		}
	}
}

// rebirths runs in a goroutine, so it returns its error.
func (k *kube) rebirths(ctx context.Context, name string, record *departures) error {
	pods := k.pods()
	for range rebornRounds {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"reborn": ""}},
			Spec: corev1.PodSpec{
				NodeName:   "node-1", // no wait for the scheduler: the delete may be late by a moment only
				Containers: []corev1.Container{{Name: "app", Image: "nginx:1.27"}},
			},
		}
		created, err := pods.Create(ctx, pod, metav1.CreateOptions{})
		for apierrors.IsAlreadyExists(err) {
			created, err = pods.Create(ctx, pod, metav1.CreateOptions{})
		}
		if err != nil {
			return err
		}
		record.ask(created.UID)
		err = pods.Delete(ctx, name, *metav1.NewPreconditionDeleteOptions(string(created.UID)))
		if err != nil {
			return fmt.Errorf("%s was gone before it was asked to go: %w", name, err)
		}
		if err := touch(ctx, pods, created.UID, name); err != nil {
			return err
		}
	}
	return nil
}

// touch changes the pod if it is still there. An update, and not a patch: only
// an update carries the UID to where the API server may delete the pod as well.
func touch(ctx context.Context, pods typedcorev1.PodInterface, uid types.UID, name string) error {
	pod, err := pods.Get(ctx, name, metav1.GetOptions{})
	if err == nil && pod.UID == uid {
		pod.Annotations = map[string]string{"touched": "while terminating"}
		_, err = pods.Update(ctx, pod, metav1.UpdateOptions{})
	}
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// departures note which pods were asked to go and which went.
type departures struct {
	mu    sync.Mutex
	asked map[types.UID]bool
	gone  map[types.UID]string
}

func (d *departures) ask(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked[uid] = true
}

func (d *departures) follow(watcher watch.Interface) {
	for event := range watcher.ResultChan() {
		pod, ok := event.Object.(*corev1.Pod)
		if ok && (event.Type == watch.Deleted || pod.DeletionTimestamp != nil) {
			d.mu.Lock()
			d.gone[pod.UID] = pod.Name
			d.mu.Unlock()
		}
	}
}
