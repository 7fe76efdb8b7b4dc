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

package eviction

import (
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

const maxHold = time.Hour

// drain is a client that asks every 30 seconds, and a tenant who may edit the
// PodManager and the pod, and not the pod's status.
type drain struct {
	*testing.T
	world *world
	now   time.Time
	first time.Time
}

func aDrain(t *testing.T, deadline int32) *drain {
	d := &drain{T: t, world: aWorld(1, pod("web-0")), now: now, first: now}
	d.world.pm.Spec.Disruption.DeadlineSeconds = ptr.To(deadline)
	return d
}

func (d *drain) pod() *corev1.Pod { return d.world.objects[len(d.world.objects)-1].(*corev1.Pod) }

// ask asks once, and reports whether the eviction is let through.
func (d *drain) ask() bool {
	d.Helper()
	response := d.world.evictAt(d.T, d.now, "web-0", nil)
	if err := d.world.client.Get(d.Context(), client.ObjectKeyFromObject(d.pod()), d.pod()); err != nil {
		d.Fatal(err)
	}
	d.pod().ResourceVersion = ""
	return code(response) == http.StatusOK
}

// holds asks for so long, and fails if the eviction is let through.
func (d *drain) holds(long time.Duration) {
	d.Helper()
	for end := d.now.Add(long); d.now.Before(end); d.now = d.now.Add(30 * time.Second) {
		if d.ask() {
			d.Fatalf("let through after %s", d.now.Sub(d.first))
		}
	}
}

func (d *drain) ends() {
	d.Helper()
	if !d.ask() {
		d.Errorf("it waits after %s", d.now.Sub(d.first))
	}
}

func (d *drain) deadline(seconds int32) { d.world.pm.Spec.Disruption.DeadlineSeconds = &seconds }

func (d *drain) takeOff() { delete(d.pod().Annotations, appsv1.AnnotationEvictionRequested) }

// TestTheClockOfADrainIsNotSetBack by a tenant, who writes all but the pod's status.
func TestTheClockOfADrainIsNotSetBack(t *testing.T) {
	for name, reset := range map[string]func(*drain){
		"a deadline of a second for one attempt": func(d *drain) { d.deadline(1); d.ask(); d.deadline(86400) },
		"a deadline of a second for a moment":    func(d *drain) { d.deadline(1); d.deadline(86400) },
		"the annotation is taken off":            (*drain).takeOff,
		"the annotation gets a later time": func(d *drain) {
			annotated(appsv1.AnnotationEvictionRequested, at(d.now))(d.pod())
		},
		"the annotation gets nonsense": func(d *drain) { annotated(appsv1.AnnotationEvictionRequested, "x")(d.pod()) },
	} {
		t.Run(name, func(t *testing.T) {
			d := aDrain(t, 86400)
			for range 3 {
				d.holds(19 * time.Minute)
				reset(d)
			}
			d.now = d.first.Add(maxHold)
			d.ends()
			d.takeOff()
			d.now = d.now.Add(5 * time.Minute)
			d.ends()
		})
	}
}

// TestAShortDeadlineDoesNotMakeItAnotherDrain: the client pauses for longer than LetThrough, as an
// autoscaler does that tries another node first, and meets a deadline of a second when it asks again.
func TestAShortDeadlineDoesNotMakeItAnotherDrain(t *testing.T) {
	for name, first := range map[string]int32{"a long deadline that is cut short for an attempt": 86400, "a short one that is made long after it": 1} {
		t.Run(name, func(t *testing.T) {
			d := aDrain(t, first)
			for d.now.Before(d.first.Add(maxHold)) {
				d.ask()
				d.deadline(86400)
				d.now = d.now.Add(10 * time.Second)
				d.ask()
				d.now = d.now.Add(11 * time.Minute)
				d.deadline(1)
			}
			d.deadline(86400)
			d.ends()
		})
	}
}

// TestADrainIsHeldNoLongerThanTheMaximum, and a shorter deadline holds as it is.
func TestADrainIsHeldNoLongerThanTheMaximum(t *testing.T) {
	long := aDrain(t, 86400)
	long.holds(maxHold)
	long.ends()
	short := aDrain(t, 600)
	short.holds(10 * time.Minute)
	short.ends()
	// A PodDisruptionBudget refuses: the client goes on, and is never held again.
	for range 100 {
		short.now = short.now.Add(30 * time.Second)
		short.ends()
	}
	if since, err := time.Parse(time.RFC3339, short.pod().Annotations[appsv1.AnnotationEvictionRequested]); err != nil ||
		short.now.Sub(since) > 21*time.Minute {
		t.Errorf("the planner has forgotten the request of %s at %s (%v)", since, short.now, err)
	}
}

// TestADrainThatGaveUpIsForgotten: the next one gets a replacement again.
func TestADrainThatGaveUpIsForgotten(t *testing.T) {
	d := aDrain(t, 600)
	d.holds(2 * time.Minute)
	d.now = d.now.Add(25 * time.Minute)
	d.first = d.now
	d.holds(10 * time.Minute)
	d.ends()
}
