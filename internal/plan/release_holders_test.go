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

package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func (b podBuilder) holdDelete() podBuilder { b.p.HoldDelete = new("backup"); return b }

func (b podBuilder) holdUpdate() podBuilder { b.p.HoldUpdate = new("drain"); return b }

func (b podBuilder) told(wanted string) podBuilder { b.p.Wanted = wanted; return b }

func TestHeldPods(t *testing.T) {
	old := ordinal(0).revision(oldRev)
	for name, test := range map[string]struct {
		given   fleet
		want    []string
		blocked []string
		held    []appsv1.HeldPod
	}{
		"a pod that nothing is to be done to is not marked": {
			given: aFleet(1, ordinal(0).holdDelete().holdUpdate()),
		},
		"one that should go is kept, its holder told, the status says since when": {
			given:   aFleet(0, ordinal(0).holdDelete()),
			want:    []string{"TellHolder web-0 Held"},
			blocked: []string{"DeletePod web-0 Hold"},
			held:    []appsv1.HeldPod{{Pod: "web-0", From: "delete", By: "backup", Since: metav1.NewTime(noon())}},
		},
		"it is told once, and the time is kept": {
			given: func() fleet {
				f := aFleet(0, ordinal(0).holdDelete().told("delete"))
				f.observed.Status.Held = []appsv1.HeldPod{{Pod: "web-0", From: "delete", By: "backup", Since: metav1.NewTime(ago(time.Hour))}}
				return f
			}(),
			blocked: []string{"DeletePod web-0 Hold"},
			held:    []appsv1.HeldPod{{Pod: "web-0", From: "delete", By: "backup", Since: metav1.NewTime(ago(time.Hour))}},
		},
		"another wish begins anew": {
			given: func() fleet {
				f := aFleet(1, old.holdUpdate().told("delete")).changing(images())
				f.observed.Status.Held = []appsv1.HeldPod{{Pod: "web-0", From: "delete", Since: metav1.NewTime(ago(time.Hour))}}
				return f
			}(),
			want:    []string{"TellHolder web-0 Held"},
			blocked: []string{"UpdatePod web-0 Hold"},
			held:    []appsv1.HeldPod{{Pod: "web-0", From: "update", By: "drain", Since: metav1.NewTime(noon())}},
		},
		"a hold on deletion does not hold a change in place": {
			given: aFleet(1, old.holdDelete()).changing(images()),
			want:  []string{"UpdatePod web-0 RolloutInPlace"},
		},
		"but it holds a recreate": {
			given:   aFleet(1, old.holdDelete()).changing(Change{Recreate: "x"}),
			want:    []string{"TellHolder web-0 Held"},
			blocked: []string{"DeletePod web-0 Hold"},
			held:    []appsv1.HeldPod{{Pod: "web-0", From: "delete", By: "backup", Since: metav1.NewTime(noon())}},
		},
		"the budget goes to the next": {
			given:   aFleet(2, old, ordinal(1).revision(oldRev).holdUpdate().told("update")).changing(images()),
			want:    []string{"UpdatePod web-0 RolloutInPlace"},
			blocked: []string{"UpdatePod web-1 Hold"},
			held:    []appsv1.HeldPod{{Pod: "web-1", From: "update", By: "drain", Since: metav1.NewTime(noon())}},
		},
		"a holder who was told stays told while the budget goes to another": {
			given: func() fleet {
				f := aFleet(2, old.holdUpdate().told("update"), ordinal(1).unready()).changing(images())
				f.observed.Status.Held = []appsv1.HeldPod{{Pod: "web-0", From: "update", By: "drain", Since: metav1.NewTime(ago(time.Hour))}}
				return f
			}(),
			blocked: []string{"UpdatePod web-0 Hold", "UpdatePod web-0 Budget"},
			held:    []appsv1.HeldPod{{Pod: "web-0", From: "update", By: "drain", Since: metav1.NewTime(ago(time.Hour))}},
		},
		"a pod that may stay after all: the holder is told that, too": {
			given: aFleet(1, ordinal(0).holdDelete().told("delete")),
			want:  []string{"TellHolder web-0 Held"},
		},
		"a pod that failed is held, too, and its name with it": {
			given:   aFleet(1, ordinal(0).failed(time.Second).holdDelete()),
			want:    []string{"TellHolder web-0 Held"},
			blocked: []string{"DeletePod web-0 Hold", "CreatePod web-0 Terminating"},
			held:    []appsv1.HeldPod{{Pod: "web-0", From: "delete", By: "backup", Since: metav1.NewTime(noon())}},
		},
		"with random names its successor does not wait": {
			given:   aFleet(1, random(0).failed(time.Second).holdDelete()).random().keeping(0),
			want:    []string{"TellHolder " + randomName(0) + " Held", "CreatePod " + randomName(1) + " Missing"},
			blocked: []string{"DeletePod " + randomName(0) + " Hold"},
			held:    []appsv1.HeldPod{{Pod: randomName(0), From: "delete", By: "backup", Since: metav1.NewTime(noon())}},
		},
		"so is one whose node is gone": {
			given:   aFleet(1, ordinal(0).nodeGone().holdDelete()),
			want:    []string{"TellHolder web-0 Held"},
			blocked: []string{"DeletePod web-0 Hold", "CreatePod web-0 Terminating"},
			held:    []appsv1.HeldPod{{Pod: "web-0", From: "delete", By: "backup", Since: metav1.NewTime(noon())}},
		},
		"and one that ended, of an owner that goes": {
			given:   aFleet(1, ordinal(0).failed(time.Second).holdDelete()).deleting(DeletionDelete),
			want:    []string{"TellHolder web-0 Held"},
			blocked: []string{"DeletePod web-0 Hold", "RemoveFinalizer Terminating"},
			held:    []appsv1.HeldPod{{Pod: "web-0", From: "delete", By: "backup", Since: metav1.NewTime(noon())}},
		},
		"one that a foreign finalizer keeps from its end is listed since it was asked to go": {
			given: func() fleet {
				kept := ordinal(0).terminating()
				kept.p.KeptBy, kept.p.DeletedAt = "example.com/backup", ago(time.Hour)
				return aFleet(1, kept)
			}(),
			blocked: []string{"CreatePod web-0 Terminating"},
			held:    []appsv1.HeldPod{{Pod: "web-0", From: "delete", By: "example.com/backup", Since: metav1.NewTime(ago(time.Hour))}},
		},
		"a user's label is a wish like any other": {
			given:   aFleet(1, ordinal(0).requested().holdDelete()),
			want:    []string{"TellHolder web-0 Held"},
			blocked: []string{"DeletePod web-0 Hold"},
			held:    []appsv1.HeldPod{{Pod: "web-0", From: "delete", By: "backup", Since: metav1.NewTime(noon())}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.given.plan()
			if diff := cmp.Diff(test.want, saidOf(got)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.blocked, heldBackOf(got)); diff != "" {
				t.Errorf("blockers (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.held, got.Held); diff != "" {
				t.Errorf("held (-want +got):\n%s", diff)
			}
		})
	}
}

// The status stays small, however many pods are held.
func TestHeldPodsAreListedUpToAHundred(t *testing.T) {
	f := aFleet(0, podsOf(appsv1.MaxStatusPods+1, func(slot int) podBuilder { return ordinal(slot).holdDelete() })...)
	got := f.plan()
	if len(got.Held) != appsv1.MaxStatusPods || len(got.Blocked) != appsv1.MaxStatusPods+1 {
		t.Errorf("%d of %d held pods are listed, want %d of %d",
			len(got.Held), len(got.Blocked), appsv1.MaxStatusPods, appsv1.MaxStatusPods+1)
	}
}
