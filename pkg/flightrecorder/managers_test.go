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

package flightrecorder

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
)

const (
	ownsReplicas = `{"f:spec":{"f:replicas":{}}}`
	ownsImage    = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{},"f:name":{}}}}}}}`
	ownsStatus   = `{"f:status":{"f:phase":{},"f:conditions":{"k:{\"type\":\"Ready\"}":{"f:status":{}}}}}`
)

func managed(manager, subresource string, second int, fields string) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(time.Date(2026, 3, 1, 12, 0, second, 0, time.UTC))
	return metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1", Time: &at,
		FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields), Subresource: subresource,
	}
}

// scaledBy is an entry of the scale subresource of a custom resource: the API server gives it no time.
func scaledBy(manager string) metav1.ManagedFieldsEntry {
	entry := managed(manager, "scale", 0, ownsReplicas)
	entry.Time = nil
	return entry
}

func TestChangesAreGroupedByWhoWroteThem(t *testing.T) {
	type entries = []metav1.ManagedFieldsEntry
	cases := map[string]struct {
		before, after entries
		fields        []string
		want          []Change
		// wantStripped is what is left to say where the cache keeps no managedFields.
		wantStripped []Change
	}{
		"an entry with a new time is the writer": {
			before: entries{managed("kubectl", "", 1, ownsReplicas), managed("kubelet", "status", 1, ownsStatus)},
			after:  entries{managed("kubectl", "", 5, ownsReplicas), managed("kubelet", "status", 1, ownsStatus)},
			fields: []string{"spec.replicas"},
			want:   []Change{{Manager: "kubectl", Operation: "Update", Fields: []string{"spec.replicas"}}},
		},
		"a new entry is the writer, and who lost a field to it is not": {
			before: entries{managed("helm", "", 1, `{"f:spec":{"f:replicas":{},"f:paused":{}}}`)},
			after:  entries{managed("helm", "", 1, `{}`), managed("hpa", "", 2, ownsReplicas)},
			fields: []string{"spec.paused", "spec.replicas"},
			want:   []Change{{Manager: "hpa", Operation: "Update", Fields: []string{"spec.paused", "spec.replicas"}}},
		},
		"two writers are told apart by what they own": {
			before: entries{managed("kubectl", "", 1, ownsReplicas), managed("kubelet", "status", 1, ownsStatus), managed("helm", "", 1, ownsImage)},
			after:  entries{managed("kubectl", "", 2, ownsReplicas), managed("kubelet", "status", 2, ownsStatus), managed("helm", "", 2, ownsImage)},
			fields: []string{"spec.replicas", "spec.template.spec.containers[app].image", "status.conditions[Ready].status", "status.phase"},
			want: []Change{
				{Manager: "kubectl", Operation: "Update", Fields: []string{"spec.replicas"}},
				{Manager: "kubelet", Operation: "Update", Subresource: "status", Fields: []string{"status.conditions[Ready].status", "status.phase"}},
				{Manager: "helm", Operation: "Update", Fields: []string{"spec.template.spec.containers[app].image"}},
			},
			wantStripped: []Change{
				{Manager: "kubectl", Operation: "Update"},
				{Manager: "kubelet", Operation: "Update", Subresource: "status", Fields: []string{"status.conditions[Ready].status", "status.phase"}},
				{Manager: "helm", Operation: "Update"},
				{Fields: []string{"spec.replicas", "spec.template.spec.containers[app].image"}},
			},
		},
		"a second write within the second is known by its larger set": {
			before: entries{managed("kubectl", "", 1, ownsReplicas), managed("kubelet", "status", 1, ownsStatus)},
			after:  entries{managed("kubectl", "", 1, `{"f:spec":{"f:replicas":{},"f:paused":{}}}`), managed("kubelet", "status", 1, ownsStatus)},
			fields: []string{"spec.paused"},
			want:   []Change{{Manager: "kubectl", Operation: "Update", Fields: []string{"spec.paused"}}},
		},
		"a second write of the same fields within the second is a guess": {
			before: entries{managed("old", "", 1, ownsReplicas), managed("kubectl", "", 2, ownsReplicas), managed("kubelet", "status", 2, ownsStatus)},
			after:  entries{managed("old", "", 1, ownsReplicas), managed("kubectl", "", 2, ownsReplicas), managed("kubelet", "status", 2, ownsStatus)},
			fields: []string{"spec.replicas"},
			want:   []Change{{Manager: "kubectl", Operation: "Update", Fields: []string{"spec.replicas"}, Inferred: true}},
		},
		"a second scaling, which leaves no trace, is a guess": {
			before: entries{scaledBy("kubectl"), managed("helm", "", 2, ownsImage), managed("operator", "status", 2, ownsStatus)},
			after:  entries{scaledBy("kubectl"), managed("helm", "", 2, ownsImage), managed("operator", "status", 2, ownsStatus)},
			fields: []string{"spec.replicas"},
			want:   []Change{{Manager: "kubectl", Operation: "Update", Subresource: "scale", Fields: []string{"spec.replicas"}, Inferred: true}},
		},
		"an earlier scaling is no guess for another field": {
			before: entries{scaledBy("kubectl"), managed("helm", "", 2, ownsImage), managed("operator", "status", 2, ownsStatus)},
			after:  entries{scaledBy("kubectl"), managed("helm", "", 2, ownsImage), managed("operator", "status", 2, ownsStatus)},
			fields: []string{"spec.template.spec.containers[app].image"},
			want:   []Change{{Manager: "helm", Operation: "Update", Fields: []string{"spec.template.spec.containers[app].image"}, Inferred: true}},
		},
		"a guess must own the field": {
			before:       entries{managed("kubectl", "", 2, ownsReplicas)},
			after:        entries{managed("kubectl", "", 2, ownsReplicas)},
			fields:       []string{"spec.paused"},
			want:         []Change{{Fields: []string{"spec.paused"}}},
			wantStripped: []Change{{Manager: "kubectl", Operation: "Update", Fields: []string{"spec.paused"}, Inferred: true}},
		},
		"no writer is named for a deletion, which no manager owns": {
			before: entries{managed("kubectl", "", 1, ownsReplicas)},
			after:  entries{managed("kubectl", "", 2, ownsReplicas)},
			fields: []string{"metadata.deletionGracePeriodSeconds", "metadata.deletionTimestamp", "spec.replicas"},
			want: []Change{
				{Manager: "kubectl", Operation: "Update", Fields: []string{"spec.replicas"}},
				{Fields: []string{"metadata.deletionGracePeriodSeconds", "metadata.deletionTimestamp"}},
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			writers, inferred := candidates(writersIn(c.before), writersIn(c.after))
			if diff := cmp.Diff(c.want, groupByManager(c.fields, writers, inferred)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}

			if c.wantStripped == nil {
				c.wantStripped = c.want
			}
			rec := newRecorder(t, Config{})
			strip := rec.StripManagedFields()
			before, after := versioned("1", c.before), versioned("2", c.after)
			for _, obj := range []*corev1.Pod{before, after} {
				if _, err := strip(obj); err != nil || obj.ManagedFields != nil {
					t.Fatalf("strip: %v, left %v", err, obj.ManagedFields)
				}
			}
			writers, inferred = rec.writersOf(before, after)
			if diff := cmp.Diff(c.wantStripped, groupByManager(c.fields, writers, inferred)); diff != "" {
				t.Errorf("stripped, -want +got:\n%s", diff)
			}
		})
	}
}

func versioned(resourceVersion string, entries []metav1.ManagedFieldsEntry) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "p", UID: "uid-p", ResourceVersion: resourceVersion, ManagedFields: entries,
	}}
}

func TestACacheThatStripsEverythingStillGivesTheFields(t *testing.T) {
	rec := newRecorder(t, Config{})
	writers, inferred := rec.writersOf(versioned("1", nil), versioned("2", nil))
	want := []Change{{Fields: []string{"spec.replicas"}}}
	if diff := cmp.Diff(want, groupByManager([]string{"spec.replicas"}, writers, inferred)); diff != "" {
		t.Error(diff)
	}
}

func TestStripLeavesTombstonesAlone(t *testing.T) {
	strip := newRecorder(t, Config{}).StripManagedFields()
	in := toolscache.DeletedFinalStateUnknown{Key: "shop/web"}
	if out, err := strip(in); err != nil || out != any(in) {
		t.Errorf("got %v, %v", out, err)
	}
}

func TestTheTableOfManagersIsBounded(t *testing.T) {
	table := newManagerTable(newInterner(), 64<<10)
	for i := range 10_000 {
		pod := versioned("1", []metav1.ManagedFieldsEntry{managed("m", "", 1, ownsReplicas)})
		pod.UID = types.UID(fmt.Sprintf("uid-%d", i))
		table.note(pod)
	}
	if n := table.objects.Len(); table.bytes() > 64<<10 || n == 0 || n > 1000 {
		t.Errorf("%d objects in %d bytes", n, table.bytes())
	}
}

// managedFields come from a server; whatever they hold, looking must not panic.
func TestBrokenSetsOwnNothing(t *testing.T) {
	for _, raw := range []string{``, `{`, `{"`, `{"f:spec`, `{"f:spec"`, `{"f:spec":`, `{"f:spec":{"f:replicas"`, `[]`, `"x\\`, `{"f:spec":1}`} {
		if got := reaches(decodeSet(metav1.NewFieldsV1(raw)), "spec.replicas"); got != 0 {
			t.Errorf("%s reaches %d", raw, got)
		}
	}
	for raw, want := range map[string]int{ownsReplicas: 2, ownsImage: 0, ownsStatus: 0, `{"f:a":{"f:b":{}},"f:spec":{".":{},"f:x":{},"f:replicas":{}}}`: 2} {
		if got := reaches(decodeSet(metav1.NewFieldsV1(raw)), "spec.replicas"); got != want {
			t.Errorf("%s reaches %d, want %d", raw, got, want)
		}
	}
}

func TestPathSteps(t *testing.T) {
	for path, want := range map[string][]string{
		"spec.replicas":                       {"spec", "replicas"},
		"spec.containers[app].env[A].value":   {"spec", "containers", "app", "env", "A", "value"},
		"metadata.labels[a.b/c]":              {"metadata", "labels", "a.b/c"},
		"status.conditions[Ready].lastUpdate": {"status", "conditions", "Ready", "lastUpdate"},
	} {
		if diff := cmp.Diff(want, pathSteps(path)); diff != "" {
			t.Errorf("%s: %s", path, diff)
		}
	}
}
