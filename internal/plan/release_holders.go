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
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// What a holder can be told that we want.
const (
	wantDelete = "delete"
	wantUpdate = "update"
)

// releaseHolders tells the holders of pods that may stay after all.
func releaseHolders(s *scene) bool {
	for _, b := range s.staying() {
		if b.notified && !s.wanted[b.pod] && b.pod.Membership == Member {
			s.tellHolder(b.pod, "", "nothing is wanted of the pod any more")
		}
	}
	return false
}

// held reports whether an outside controller, by a label or a finalizer, keeps us
// from doing something to a pod. If so the holder is told, by a label on the pod, that it is time, and
// the status lists the pod with how long it has been held.
func (s *scene) held(p *Pod, want string) bool {
	holder := p.HoldDelete
	if want == wantUpdate {
		holder = p.HoldUpdate
	}
	if holder == nil {
		return false
	}
	if s.wanted[p] {
		return true
	}
	mark(&s.wanted, p)
	if p.Wanted != want {
		s.tellHolder(p, want, "the pod is held, and its holder is told what is wanted")
	}
	since := s.moment()
	for _, h := range s.observed.Status.Held {
		if h.Pod == p.Name && h.From == want {
			since = h.Since
		}
	}
	s.list(appsv1.HeldPod{Pod: p.Name, From: want, By: *holder, Since: since})
	verb := DeletePod
	if want == wantUpdate {
		verb = UpdatePod
	}
	s.block(Blocked{
		Verb: verb, Pod: p.Name, Slot: p.Slot, By: appsv1.BlockedByHold, Count: 1,
		Message: "the pod is held back by its label or finalizer hold.apps.mycompany.com/" + want,
	})
	return true
}

func (s *scene) tellHolder(p *Pod, want, message string) {
	s.act(Action{
		Verb: TellHolder, Pod: p.Name, UID: p.UID, ResourceVersion: p.ResourceVersion, Slot: p.Slot, Revision: p.Revision, Wanted: want,
	}, appsv1.WhyHeld, message, nil)
}

func (s *scene) list(h appsv1.HeldPod) {
	if len(s.decision.Held) < appsv1.MaxStatusPods {
		s.decision.Held = append(s.decision.Held, h)
	}
}

// listKept lists the terminating pods that a finalizer keeps: with ordinals
// their successors wait until the finalizer is removed.
func (s *scene) listKept() {
	for _, p := range s.terminating {
		if p.KeptBy != "" {
			s.list(appsv1.HeldPod{Pod: p.Name, From: wantDelete, By: p.KeptBy, Since: metav1.NewTime(p.DeletedAt)})
		}
	}
	slices.SortFunc(s.decision.Held, func(a, b appsv1.HeldPod) int { return strings.Compare(a.Pod, b.Pod) })
}
