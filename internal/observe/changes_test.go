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

package observe

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
)

// seenOf is what was seen of a fleet: pods on some revisions, and the stored
// revisions one, two and three with these images. One of the template that is not
// stored yet would be named new.
func seenOf(t *testing.T, f desired.Fleet, images, pods []string) Seen {
	t.Helper()
	var seen Seen
	for _, name := range pods {
		seen.Observed.Pods = append(seen.Observed.Pods, plan.Pod{Revision: name})
	}
	names := []string{"one", "two", "three"}
	for i, image := range images {
		seen.Revisions = append(seen.Revisions, stored(t, f, names[i], int64(i+1), template(image)))
	}
	observer := &Observer{}
	seen.Whole = observer.whole
	if err := observer.compareRevisions(t.Context(), &seen, f); err != nil {
		t.Fatal(err)
	}
	seen.Observed.NewRevision = "new"
	return seen
}

// TestChanges: every revision that a pod is on is compared with every one that the
// planner may choose, and with no other. The template has the image app:3.
func TestChanges(t *testing.T) {
	all := []string{"app:1", "app:2", "app:3"}
	status := func(current, update string) func(*desired.Fleet) {
		return func(f *desired.Fleet) { f.Status.CurrentRevision, f.Status.UpdateRevision = current, update }
	}
	for name, test := range map[string]struct {
		images, pods []string
		given        func(*desired.Fleet)
		want         []string
	}{
		"at rest nothing is compared":                     {images: all, pods: []string{"three", "three"}, given: status("three", "three")},
		"a fleet without pods":                            {images: all, given: status("two", "three")},
		"a template whose revision is not stored yet":     {images: all[:2], pods: []string{"two", "two"}, want: []string{"two new"}},
		"a template whose revision is stored":             {images: all, pods: []string{"two"}, want: []string{"two three"}},
		"a template that is that of an older revision":    {images: []string{"app:3", "app:2"}, pods: []string{"two"}, want: []string{"two one"}},
		"a rollout that may be taken back":                {images: all, pods: []string{"two", "three", "two"}, given: status("two", "three"), want: []string{"two three", "three two"}},
		"a rollout to another revision than the template": {images: all, pods: []string{"three"}, given: status("three", "two"), want: []string{"three two"}},
		"pods on several revisions":                       {images: all, pods: []string{"two", "one"}, want: []string{"two three", "one three"}},
		"pods of a revision that is not stored any more":  {images: all, pods: []string{"zero", ""}},
		"a current revision that is not stored any more":  {images: all, pods: []string{"three"}, given: status("zero", "three")},
		"a pin by name":                                   {images: all, pods: []string{"three"}, given: func(f *desired.Fleet) { f.Desired.Pin = "two" }, want: []string{"three two"}},
		"a pin by number":                                 {images: all, pods: []string{"three"}, given: func(f *desired.Fleet) { f.Desired.Pin = "1" }, want: []string{"three one"}},
		"a pin that names no revision":                    {images: all, pods: []string{"three"}, given: func(f *desired.Fleet) { f.Desired.Pin = "9" }},
		"a rollback while the template asks for the other": {
			images: all, pods: []string{"three"},
			given: func(f *desired.Fleet) { f.Status.Rollback = &appsv1.RollbackRecord{From: "three", To: "one"} },
			want:  []string{"three one"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := fleetOf(2, template("app:3"))
			if test.given != nil {
				test.given(&f)
			}
			seen := seenOf(t, f, test.images, test.pods)
			got, err := changes(&seen, f, newRevisionTemplates(t.Context(), &seen, f.Template))
			if err != nil {
				t.Fatal(err)
			}
			var want []plan.Change
			for _, pair := range test.want {
				from, to, _ := strings.Cut(pair, " ")
				want = append(want, plan.Change{From: from, To: to, Images: []string{"app"}, Restarts: true})
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestARevisionThatCannotBeComparedIsAnError, whichever side of the change it is:
// without the change the planner would replace the pods.
func TestARevisionThatCannotBeComparedIsAnError(t *testing.T) {
	for name, pod := range map[string]string{"pods are on it": "two", "pods have to move to it": "one"} {
		t.Run(name, func(t *testing.T) {
			f := fleetOf(1, template("app:1"))
			f.Status.UpdateRevision = "two"
			seen := seenOf(t, f, []string{"app:1", "app:2"}, []string{pod})
			seen.Revisions[1].Data = runtime.RawExtension{Raw: []byte("{")}
			if got, err := changes(&seen, f, newRevisionTemplates(t.Context(), &seen, f.Template)); err == nil || !strings.Contains(err.Error(), "decode revision ns/two") {
				t.Errorf("the changes are %v, the error is %v", got, err)
			}
		})
	}
}
