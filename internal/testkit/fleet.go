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

package testkit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
)

// Fleet is a PodManager in a test: what the test does to it and, in its Expect
// methods, what has to come of that. Each of them ends the test when it cannot
// do its part.
type Fleet struct {
	testing.TB
	// Namespace is where the fleet is.
	Namespace string

	name  string
	suite *Suite
	// since is where the audit log ended before the fleet was made.
	since localkube.AuditMark
}

// Fleet names a PodManager, which need not exist yet.
func (s *Suite) Fleet(t testing.TB, namespace, name string) *Fleet {
	t.Helper()
	return &Fleet{TB: t, Namespace: namespace, name: name, suite: s, since: s.AuditMark(t)}
}

// NewFleet names a PodManager in a namespace of its own.
func (s *Suite) NewFleet(t testing.TB, name string) *Fleet {
	t.Helper()
	return s.Fleet(t, s.Namespace(t), name)
}

// Build begins the PodManager.
func (f *Fleet) Build() *PodManagerBuilder { return MakePodManager(f.Namespace, f.name) }

// Create makes the PodManager.
func (f *Fleet) Create(b *PodManagerBuilder) {
	f.Helper()
	f.suite.Create(f, b.Obj())
}

// Kubectl runs kubectl in the fleet's namespace.
func (f *Fleet) Kubectl(args ...string) string {
	f.Helper()
	return f.suite.Kubectl(f, append([]string{"-n", f.Namespace}, args...)...)
}

// Apply applies the PodManager with a spec in YAML.
func (f *Fleet) Apply(replicas int, spec string) {
	f.Helper()
	f.ApplyYAML(fmt.Sprintf("apiVersion: apps.mycompany.com/v1\nkind: PodManager\nmetadata: {name: %s}\nspec:\n  replicas: %d\n  %s",
		f.name, replicas, strings.ReplaceAll(strings.TrimSpace(spec), "\n", "\n  ")))
}

// ApplyYAML applies a manifest in the fleet's namespace.
func (f *Fleet) ApplyYAML(manifest string) {
	f.Helper()
	f.Kubectl("apply", "-f", File(f, manifest))
}

// File writes a manifest to a file that goes with the test.
func File(t testing.TB, manifest string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Patch sends a merge patch of the spec.
func (f *Fleet) Patch(spec string, options ...client.PatchOption) {
	f.Helper()
	f.suite.Patch(f, f.object(), `{"spec":`+spec+`}`, options...)
}

// Edit changes the PodManager as a user does, who tries again when another
// writer was faster.
func (f *Fleet) Edit(change func(*appsv1.PodManager)) {
	f.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		pm := f.Get()
		change(pm)
		return f.suite.Client.Update(f.Context(), pm)
	})
	if err != nil {
		f.Fatalf("edit PodManager %s: %v", f.name, err)
	}
}

// Scale sets spec.replicas.
func (f *Fleet) Scale(replicas int) {
	f.Helper()
	f.Patch(fmt.Sprintf(`{"replicas":%d}`, replicas))
}

// Delete deletes the PodManager and does not wait until it is gone.
func (f *Fleet) Delete() {
	f.Helper()
	f.suite.Delete(f, f.object())
}

func (f *Fleet) object() *appsv1.PodManager {
	return &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: f.name}}
}

// Get reads the PodManager.
func (f *Fleet) Get() *appsv1.PodManager {
	f.Helper()
	return Read(f, f.suite, f.object())
}

// Pods are those that carry the fleet's name, sorted by their own.
func (f *Fleet) Pods() []corev1.Pod {
	f.Helper()
	return f.suite.Pods(f, f.Namespace, map[string]string{appsv1.LabelName: f.name})
}

// Live are the pods that neither ended nor were deleted.
func (f *Fleet) Live() []corev1.Pod {
	f.Helper()
	return Live(f.Pods())
}

// Pod reads a pod of the namespace.
func (f *Fleet) Pod(name string) *corev1.Pod {
	f.Helper()
	return Read(f, f.suite, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: name}})
}

// Names are the names of the live pods.
func (f *Fleet) Names() []string {
	f.Helper()
	return Names(f.Live())
}

// UIDs show whether the live pods are the very pods they were.
func (f *Fleet) UIDs() map[string]types.UID {
	f.Helper()
	return UIDs(f.Live())
}

// Table lists all pods, for an error.
func (f *Fleet) Table() string {
	var rows []string
	for _, p := range f.Pods() {
		rows = append(rows, fmt.Sprintf("%s %s %s ready=%t deleted=%t", p.Name, p.Labels[appsv1.LabelRevision], p.Status.Phase,
			IsReady(&p), p.DeletionTimestamp != nil))
	}
	return strings.Join(rows, "; ")
}

// Revisions lists the stored revisions, oldest first.
func (f *Fleet) Revisions() []kappsv1.ControllerRevision {
	f.Helper()
	var list kappsv1.ControllerRevisionList
	err := f.suite.Client.List(f.Context(), &list, client.InNamespace(f.Namespace), client.MatchingLabels{appsv1.LabelName: f.name})
	if err != nil {
		f.Fatalf("list revisions: %v", err)
	}
	slices.SortFunc(list.Items, func(a, b kappsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	return list.Items
}

// Warnings are the warnings about the PodManager.
func (f *Fleet) Warnings() []eventsv1.Event {
	f.Helper()
	return slices.DeleteFunc(f.suite.Events(f, f.object()), func(e eventsv1.Event) bool { return e.Type != corev1.EventTypeWarning })
}

// CountWarnings counts the warnings, in one event or in many.
func (f *Fleet) CountWarnings() (n int) {
	f.Helper()
	for _, e := range f.Warnings() {
		if n++; e.Series != nil {
			n += int(e.Series.Count) - 1
		}
	}
	return n
}

// Requests are the operator's requests in the fleet's namespace after a mark,
// of which keep says which to keep.
func (f *Fleet) Requests(after localkube.AuditMark, keep func(*localkube.AuditEvent) bool) []localkube.AuditEvent {
	f.Helper()
	return f.suite.Requests(f, after, func(e *localkube.AuditEvent) bool {
		return e.ObjectRef.Namespace == f.Namespace && keep(e)
	})
}

// Count counts the operator's requests of one kind in the fleet's namespace
// since the fleet was named.
func (f *Fleet) Count(verb, resource, subresource string) int {
	f.Helper()
	return len(f.Requests(f.since, func(e *localkube.AuditEvent) bool {
		return e.Verb == verb && e.ObjectRef.Resource == resource && e.ObjectRef.Subresource == subresource
	}))
}

// Creates counts the pods that the operator asked for in the fleet's namespace
// since the fleet was named, by the answer.
func (f *Fleet) Creates() (made, refused int) {
	f.Helper()
	for _, e := range f.Requests(f.since, func(e *localkube.AuditEvent) bool {
		return e.Verb == "create" && e.ObjectRef.Resource == "pods" && e.ObjectRef.Subresource == ""
	}) {
		if e.ResponseStatus.Code < 300 {
			made++
		} else {
			refused++
		}
	}
	return made, refused
}
