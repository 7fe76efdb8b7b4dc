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
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// entry is one version of a pod.
type entry struct {
	version uint64
	pod     *corev1.Pod
	gone    bool
	// root is the object at the top of the pod's controllers, or empty.
	root types.UID
}

// log has every version of every pod in a namespace, and of the objects of one kind,
// in the order of their resourceVersions. All of them come from one store, so that
// versions of pods and of the object can be compared: what was true of the pods when
// this status was written?
type log struct {
	client client.WithWatch

	rootsMu sync.Mutex
	// roots remembers the top of each controller, because a controller may be gone
	// before its pods are.
	roots map[types.UID]types.UID

	mu      sync.Mutex
	pods    []entry
	objects []*unstructured.Unstructured
	lost    error
}

// follow starts the watches; they end with the context.
func follow(ctx context.Context, c client.WithWatch, namespace string, list *unstructured.UnstructuredList) (*log, error) {
	l := &log{client: c, roots: map[types.UID]types.UID{}}
	pods, err := l.watch(ctx, namespace, &corev1.PodList{})
	if err != nil {
		return nil, err
	}
	objects, err := l.watch(ctx, namespace, list)
	if err != nil {
		return nil, err
	}
	go l.followPods(ctx, pods)
	go l.followObjects(ctx, namespace, list, objects)
	return l, nil
}

func (l *log) watch(ctx context.Context, namespace string, list client.ObjectList) (*toolswatch.RetryWatcher, error) {
	if err := l.client.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	return toolswatch.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return l.client.Watch(ctx, list.DeepCopyObject().(client.ObjectList), client.InNamespace(namespace), &client.ListOptions{Raw: &o})
		},
	})
}

// followPods needs every version: without one of them, nothing can be judged.
func (l *log) followPods(ctx context.Context, watcher *toolswatch.RetryWatcher) {
	for e := range watcher.ResultChan() {
		if e.Type == watch.Error {
			l.lose(e.Object)
			continue
		}
		l.sawPod(ctx, e.Type, e.Object)
	}
}

// followObjects begins again where the API server has forgotten: it does when a CRD
// changes, and an operator may write to its own CRD when it starts.
func (l *log) followObjects(ctx context.Context, namespace string, list *unstructured.UnstructuredList, watcher *toolswatch.RetryWatcher) {
	for {
		for e := range watcher.ResultChan() {
			l.sawObject(ctx, e.Type, e.Object)
		}
		if ctx.Err() != nil {
			return
		}
		var err error
		if watcher, err = l.watch(ctx, namespace, list); err != nil {
			l.lose(err)
			return
		}
		for i := range list.Items {
			l.sawObject(ctx, watch.Modified, &list.Items[i])
		}
	}
}

func (l *log) lose(why any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = fmt.Errorf("the suite lost its watch: %v", why)
}

func (l *log) sawPod(ctx context.Context, kind watch.EventType, object runtime.Object) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	l.rootsMu.Lock()
	e := entry{version: version(pod), pod: pod, gone: kind == watch.Deleted, root: l.root(ctx, pod)}
	l.rootsMu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pods = append(l.pods, e)
}

// lookAgain asks for the controllers of all pods once more: a ReplicaSet that is adopted
// changes the root of its pods without a new version of them.
func (l *log) lookAgain(ctx context.Context) {
	l.rootsMu.Lock()
	defer l.rootsMu.Unlock()
	clear(l.roots)
	for _, e := range l.now() {
		if root := l.root(ctx, e.pod); root != e.root {
			e.root = root
			l.mu.Lock()
			l.pods = append(l.pods, e)
			l.mu.Unlock()
		}
	}
}

func (l *log) sawObject(_ context.Context, kind watch.EventType, object runtime.Object) {
	if u, ok := object.(*unstructured.Unstructured); ok && kind != watch.Deleted {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.objects = append(l.objects, u)
	}
}

// root follows the controllers of an object to the top. Its caller holds rootsMu.
func (l *log) root(ctx context.Context, object client.Object) types.UID {
	ref := metav1.GetControllerOf(object)
	if ref == nil {
		return ""
	}
	if root, ok := l.roots[ref.UID]; ok {
		return root
	}
	owner := &unstructured.Unstructured{}
	owner.SetAPIVersion(ref.APIVersion)
	owner.SetKind(ref.Kind)
	root := ref.UID
	err := l.client.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: ref.Name}, owner)
	if err == nil && owner.GetUID() == ref.UID {
		if above := l.root(ctx, owner); above != "" {
			root = above
		}
		l.roots[ref.UID] = root
	}
	return root
}

func version(object client.Object) uint64 {
	n, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("resourceVersion %q is no number", object.GetResourceVersion())) // KEP-5504: it is
	}
	return n
}

// state is the newest version of each pod.
type state map[types.UID]entry

func (s state) see(e entry) {
	if e.gone {
		delete(s, e.pod.UID)
		return
	}
	s[e.pod.UID] = e
}

// live are the pods of an owner that neither ended nor were deleted, sorted by name.
func (s state) live(owner types.UID) []entry {
	return s.filter(func(e entry) bool { return e.root == owner && lives(e.pod) })
}

func (s state) filter(keep func(entry) bool) []entry {
	var out []entry
	for _, e := range s {
		if keep(e) {
			out = append(out, e)
		}
	}
	slices.SortFunc(out, func(a, b entry) int { return strings.Compare(a.pod.Name, b.pod.Name) })
	return out
}

func (s state) String() string {
	rows := make([]string, 0, len(s))
	for _, e := range s.filter(func(entry) bool { return true }) {
		row := fmt.Sprintf("%s (%s", e.pod.Name, e.pod.Status.Phase)
		if isReady(e.pod) {
			row += ", ready"
		}
		if e.pod.DeletionTimestamp != nil {
			row += ", terminating"
		}
		if e.root == "" {
			row += ", without a controller"
		}
		rows = append(rows, row+")")
	}
	return strings.Join(rows, ", ")
}

// now is the newest state.
func (l *log) now() state {
	s := state{}
	for _, e := range l.history() {
		s.see(e)
	}
	return s
}

func (l *log) history() []entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.pods)
}

func (l *log) versions(uid types.UID) []*unstructured.Unstructured {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.objects), func(u *unstructured.Unstructured) bool { return u.GetUID() != uid })
}

// replay calls look after each version of a pod, with the state as of it.
func (l *log) replay(look func(e, before entry, s state) error) error {
	s := state{}
	for _, e := range l.history() {
		before := s[e.pod.UID]
		s.see(e)
		if err := look(e, before, s); err != nil {
			return err
		}
	}
	return nil
}

// asOf is the state at a version.
func (l *log) asOf(version uint64) state {
	s := state{}
	for _, e := range l.history() {
		if e.version > version {
			break
		}
		s.see(e)
	}
	return s
}

// tally counts the pods that an owner got and lost.
func (l *log) tally(owner types.UID) (created, deleted int) {
	_ = l.replay(func(e, before entry, _ state) error {
		if before.pod == nil && !e.gone && e.root == owner {
			created++
		}
		if before.pod != nil && before.pod.DeletionTimestamp == nil && before.root == owner && (e.gone || e.pod.DeletionTimestamp != nil) {
			deleted++
		}
		return nil
	})
	return created, deleted
}

func lives(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed && p.Status.Phase != corev1.PodSucceeded
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}
