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

// Package small explores small worlds whole: fleets of at most three pods in
// which at most two things go wrong. The world is the planner with a small API
// server and small kubelets. From every state every next step is taken: the
// operator looks, a kubelet acts, time passes, or something goes wrong. States
// that were seen before are not explored again, so the exploration ends, and as
// it goes breadth first, a rule that is broken is shown by the shortest list of
// steps that breaks it.
//
// What is random or stale (caches, answers that get lost, two leaders) is the
// simulator's matter, in test/faults/sim. Here every write is seen at once, and in
// return nothing is left to chance.
package small

import (
	"reflect"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// The revisions of the fleet: it is complete on the first, the template means the
// second, and a second edit means the third.
const (
	revisionA = "web-a"
	revisionB = "web-b"
	revisionC = "web-c"
)

// now is the same in every state: when time passes, all that happened before
// moves into the past. So two states that differ only in their clock are one.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// long is a time after which it makes no difference how long ago something was:
// more than every deadline and every backoff of these worlds.
const long = 3 * time.Minute

// state is a world at one moment.
type state struct {
	Desired plan.Desired
	// Template is the revision that the template means.
	Template  string
	Pods      []plan.Pod
	Claims    []plan.Claim
	Revisions []plan.Revision
	Foreign   []string
	Status    appsv1.PodManagerStatus

	// Woken: something happened since the operator looked. Next is when it looks
	// by itself.
	Woken bool
	Next  time.Duration
	// Left is how many things may still go wrong, and Told how many events of the
	// world's story have happened.
	Left, Told int
	// Refused are the writes that the API server refuses from now on.
	Refused []write
	// Broken are the revisions whose pods never get ready.
	Broken []string
	// Slow is the pod whose kubelet does nothing for now.
	Slow string
	// Closed: no node takes new pods. Full: those that do have no room.
	Closed, Full bool
	// Sized are the pods whose size another client chose.
	Sized []string
	// Cascade is the finalizer of the garbage collector on an owner that is being
	// deleted; Gone: the owner is.
	Cascade string
	Gone    bool

	// What only the rules know. Blame: a pod of the wanted revision did not get
	// ready in time. Condemned are the slots that the operator scaled away.
	// Failed is how often in a row, and when last, pods of a revision failed. Stuck
	// is for how long pods of a broken revision could run and did not get ready.
	// Froze are the slots and the revisions of their pods when the fleet was paused.
	Blame bool
	Stuck time.Duration
	Froze []frozen
	// Extra are the pods that were made for a surge or a drain, and Drained the slots
	// whose pods left their nodes and are not back.
	Extra   []string
	Drained []int
	// Elsewhere: a pod that was moved was scheduled to another place than it was made for.
	Elsewhere bool
	// Joined are the pods that were in the fleet's own slots when the operator looked.
	Joined []string
	// Asked are the pods whose eviction waited when the operator looked, and Replaced those
	// of them for which another pod was made.
	Asked     []string
	Replaced  []string
	Condemned []int
	Failed    []failures
	Dead      []death
}

// write is one that the API server refuses; TooLarge: because of its size.
type write struct {
	Verb     plan.Verb
	Slot     int
	TooLarge bool
}

type failures struct {
	Revision string
	Count    int
	Last     time.Time
}

// frozen is the revision of a slot in a rollout that is paused.
type frozen struct {
	Slot     int
	Revision string
}

// death is a pod that failed and has no successor yet. Once the operator has seen it, it says
// when it may have one.
type death struct {
	Slot     int
	Revision string
	At       time.Time
	Seen     bool
	Until    time.Time
}

// copy is a state that can be changed without changing this one.
func (s *state) copy() *state {
	c := *s
	c.Pods, c.Claims, c.Revisions = slices.Clone(s.Pods), slices.Clone(s.Claims), slices.Clone(s.Revisions)
	c.Foreign, c.Refused, c.Broken = slices.Clone(s.Foreign), slices.Clone(s.Refused), slices.Clone(s.Broken)
	c.Sized, c.Froze = slices.Clone(s.Sized), slices.Clone(s.Froze)
	c.Joined = slices.Clone(s.Joined)
	c.Extra, c.Drained, c.Asked = slices.Clone(s.Extra), slices.Clone(s.Drained), slices.Clone(s.Asked)
	c.Replaced = slices.Clone(s.Replaced)
	c.Condemned, c.Failed, c.Dead = slices.Clone(s.Condemned), slices.Clone(s.Failed), slices.Clone(s.Dead)
	return &c
}

// pass lets time pass: everything moves into the past.
func (s *state) pass(d time.Duration) {
	s.Status = *s.Status.DeepCopy()
	age(reflect.ValueOf(s).Elem(), d)
}

var timeType = reflect.TypeFor[time.Time]()

// age moves every time in a value into the past. Pointers are to copies.
func age(v reflect.Value, d time.Duration) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == timeType {
			if t := v.Interface().(time.Time); !t.IsZero() {
				v.Set(reflect.ValueOf(latest(t.Add(-d), now.Add(-long))))
			}
			return
		}
		for i := range v.NumField() {
			age(v.Field(i), d)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			age(v.Elem(), d)
		}
	case reflect.Slice:
		for i := range v.Len() {
			age(v.Index(i), d)
		}
	}
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// pod finds a pod by its name.
func (s *state) pod(name string) *plan.Pod {
	for i := range s.Pods {
		if s.Pods[i].Name == name {
			return &s.Pods[i]
		}
	}
	return nil
}

func (s *state) remove(name string) {
	s.Extra = slices.DeleteFunc(s.Extra, func(other string) bool { return other == name })
	s.Sized = slices.DeleteFunc(s.Sized, func(other string) bool { return other == name })
	s.Asked = slices.DeleteFunc(s.Asked, func(other string) bool { return other == name })
	s.Replaced = slices.DeleteFunc(s.Replaced, func(other string) bool { return other == name })
	s.Joined = slices.DeleteFunc(s.Joined, func(other string) bool { return other == name })
	s.Pods = slices.DeleteFunc(s.Pods, func(p plan.Pod) bool { return p.Name == name })
	s.freeClaims()
}

// freeClaims ends the claims whose deletion was asked for and that no pod uses: one
// that a running pod uses stays until then.
func (s *state) freeClaims() {
	s.Claims = slices.DeleteFunc(s.Claims, func(c plan.Claim) bool {
		return c.Terminating && s.count(func(p *plan.Pod) bool {
			return p.Phase == corev1.PodRunning && plan.ClaimName("data", p.Name) == c.Name
		}) == 0
	})
}

func (s *state) claim(name string) *plan.Claim {
	for i := range s.Claims {
		if s.Claims[i].Name == name {
			return &s.Claims[i]
		}
	}
	return nil
}

func live(p *plan.Pod) bool {
	return !p.Terminating && p.NodeState == plan.NodePresent && p.Phase != corev1.PodFailed && p.Phase != corev1.PodSucceeded
}

// serves is the truth about a pod: it takes traffic, and nothing that was asked
// of it will stop it.
func serves(p *plan.Pod) bool { return live(p) && p.Ready && !p.Changing && p.Gate != plan.GateShut }

func (s *state) available(p *plan.Pod) bool {
	return serves(p) && !p.ReadySince.Add(s.Desired.MinReady).After(now)
}

// count counts pods.
func (s *state) count(which func(*plan.Pod) bool) int {
	n := 0
	for i := range s.Pods {
		if which(&s.Pods[i]) {
			n++
		}
	}
	return n
}

// wanted is the revision that the user wants: the template's, unless one is pinned,
// for good or while the template stays as it is.
func (s *state) wanted() string {
	var newest, template int64
	for _, r := range s.Revisions {
		newest = max(newest, r.Number)
		if r.Name == s.Template {
			template = r.Number
		}
	}
	if template < newest || template == 0 {
		template = newest + 1
	}
	for _, r := range s.Revisions {
		if s.Desired.Pin != "" && (r.Name == s.Desired.Pin || number(r) == s.Desired.Pin) && (s.Desired.PinWhile == 0 || template <= s.Desired.PinWhile) {
			return r.Name
		}
	}
	return s.Template
}

// stored is a status as the API server has it, without what the planner does not
// read back: the history, what conditions say and since when, and times that only
// people read. So states that differ only in these are one.
func stored(status appsv1.PodManagerStatus) appsv1.PodManagerStatus {
	status.History = nil
	for i := range status.Conditions {
		status.Conditions[i].LastTransitionTime, status.Conditions[i].Message = metav1.Time{}, ""
	}
	if status.Rollout != nil {
		rollout := *status.Rollout
		rollout.ProgressTime = metav1.NewTime(now.Add(-long)) // read only where a restart is asked for
		status.Rollout = &rollout
	}
	if status.Rollback != nil {
		rollback := *status.Rollback
		rollback.Time, rollback.Message = metav1.Time{}, ""
		status.Rollback = &rollback
	}
	return status
}

// base are the slots that the fleet has whatever a rollout does.
func (s *state) base() []int {
	var slots []int
	for slot := 0; len(slots) < s.Desired.Replicas; slot++ {
		if !slices.Contains(s.Desired.Reserved, slot) {
			slots = append(slots, slot)
		}
	}
	return slots
}

// isExtra: the pod was made for a surge or a drain.
func (s *state) isExtra(name string) bool { return slices.Contains(s.Extra, name) }

// stuck: a pod of a broken revision that is wanted could run and is not ready.
func (s *state) stuck() bool {
	wanted := s.wanted()
	return slices.Contains(s.Broken, wanted) && !s.Desired.Paused && s.Desired.Replicas > 0 && s.Status.Rollback == nil &&
		s.count(func(p *plan.Pod) bool {
			return live(p) && p.Revision == wanted && p.Phase == corev1.PodRunning && !p.NodeDown
		}) > 0
}

// table shows the pods, for a failure.
func (s *state) table() string {
	var b strings.Builder
	for i := range s.Pods {
		p := &s.Pods[i]
		b.WriteString("\n    " + p.Name + " of " + p.Revision + " at " + p.Node + " " + string(p.Phase))
		for _, word := range []struct {
			holds bool
			text  string
		}{
			{p.Ready, "ready"},
			{s.available(p), "available"},
			{p.Changing, "changing"},
			{p.Terminating, "terminating"},
			{p.KeptBy != "", "kept"},
			{p.HoldDelete != nil || p.HoldUpdate != nil, "held"},
			{p.Membership != plan.Member, string(p.Membership)},
			{!p.EvictionRequested.IsZero(), "eviction requested"},
			{p.NodeLeaving != "", "node leaves"},
			{p.NodeDown, "node down"},
			{p.Waiting != "", p.Waiting},
			{p.Resize != "", "resize " + string(p.Resize)},
			{p.NodeState != "", "node gone"},
			{p.Surge, "surge"},
		} {
			if word.holds {
				b.WriteString(" " + word.text)
			}
		}
	}
	for i := range s.Claims {
		b.WriteString("\n    claim " + s.Claims[i].Name + " condemned by " + string(s.Claims[i].CondemnedBy))
	}
	return b.String()
}
