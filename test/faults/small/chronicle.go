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

package small

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/test/faults/oracle"
)

// chronicle is what the judge of the fault tests gets to read of a state and of one
// pass: the objects in the order in which they became what they are, and the
// operator's writes.
type chronicle struct {
	*world
	list []oracle.Revision
	// seen is the version that the operator acts on.
	seen int64
}

func (c *chronicle) add(object client.Object, at time.Time, actor string, gone bool) {
	r := oracle.Revision{Version: int64(len(c.list) + 1), Object: object, Gone: gone, Actor: actor, Time: at}
	if actor == oracle.Operator {
		r.Seen, r.Floor = c.seen, c.seen
	}
	c.list = append(c.list, r)
}

// begin is the history of a state for one more pass. All passes from a state share
// it.
func (w *world) begin(s *state) *chronicle {
	if w.past == nil || w.pastOf != s {
		w.past, w.pastOf = w.history(s, s.Desired.Disruption.SurgeFirst), s
	}
	return &chronicle{world: w, list: slices.Clip(w.past.list), seen: w.past.seen}
}

// history is that of a state, as far as the state tells: when pods were made, became
// ready, and had to leave. revisions: the stored revisions are in it, which take long
// to read, and by which the judge tells a rollout from a drain.
func (w *world) history(s *state, revisions bool) *chronicle {
	c := &chronicle{world: w}
	began := now.Add(-2 * long)
	for _, node := range w.nodesOf(s) {
		c.add(node, began, "", false)
	}
	if !s.Gone {
		c.add(w.owner(s), began, "", false)
	}
	for _, r := range s.Revisions {
		if !revisions {
			break
		}
		c.add(w.revisionOf(s, r), began, oracle.Operator, false)
	}
	for i := range s.Claims {
		c.add(w.claimOf(s, &s.Claims[i]), began, oracle.Operator, false)
	}
	var moments []moment
	for i := range s.Pods {
		moments = append(moments, momentsOf(s.Pods[i])...)
	}
	slices.SortStableFunc(moments, func(a, b moment) int { return a.at.Compare(b.at) })
	for i := range moments {
		c.add(w.podOf(s, &moments[i].pod), moments[i].at, moments[i].actor, false)
	}
	c.seen = int64(len(c.list))
	return c
}

// moment is what a pod was at a time, and who made it so.
type moment struct {
	at    time.Time
	pod   plan.Pod
	actor string
}

// momentsOf is the life of a pod: it is made, becomes ready, gets another size, has to
// leave, and is what it is.
func momentsOf(p plan.Pod) []moment {
	var list []moment
	last := p.Created
	note := func(at time.Time, p plan.Pod, actor string) {
		if at.Before(last) {
			at = last
		}
		last = at
		list = append(list, moment{at, p, actor})
	}
	young := p
	young.Ready, young.Phase, young.EvictionRequested, young.Terminating, young.NodeState = false, corev1.PodPending, time.Time{}, false, plan.NodePresent
	young.SizeOf = ""
	note(p.Created, young, oracle.Operator)
	serving := p
	serving.EvictionRequested, serving.Terminating, serving.SizeOf = time.Time{}, false, ""
	if p.Ready {
		note(p.ReadySince, serving, "")
	}
	if p.SizeOf != "" {
		serving.SizeOf = p.SizeOf
		note(p.ResizeSince, serving, oracle.Operator)
	}
	if asked := p; !p.EvictionRequested.IsZero() {
		asked.Terminating = false
		note(p.EvictionRequested, asked, "")
	}
	note(now, p, "")
	return list
}

// wrote adds a write of the operator to a pod: what it was and what it is now.
func (c *chronicle) wrote(before *plan.Pod, after *state, a plan.Action) {
	if a.Verb.Facts().Object != plan.ObjectPod {
		return
	}
	switch p := after.pod(a.Pod); {
	case p != nil:
		c.add(c.podOf(after, p), now, oracle.Operator, false)
	case before == nil:
	case a.Verb == plan.ReleasePod || a.Verb == plan.OrphanPod:
		released := c.podOf(after, before)
		released.OwnerReferences = nil
		c.add(released, now, oracle.Operator, false)
	default:
		c.add(c.podOf(after, before), now, oracle.Operator, true)
	}
}

// isJudged: the write makes, takes or changes a pod, so the pass is worth a history.
func isJudged(a plan.Action) bool {
	switch a.Verb {
	case plan.CreatePod, plan.DeletePod, plan.EvictPod, plan.ShutGate, plan.UpdatePod, plan.ResizePod:
		return true
	}
	return false
}

// atRest is L1, from the spec: what the judge says of the objects of a state that
// stays as it is.
func (w *world) atRest(s *state) (broken []string) {
	if s.Desired.Paused && s.count(func(p *plan.Pod) bool { return p.SizeOf != "" || p.Created.Before(s.Desired.Restart) }) > 0 {
		return nil // a paused fleet keeps the size, and is not restarted
	}
	for _, v := range oracle.AtRest(w.history(s, true).list, oracle.Rules{}, now) {
		broken = append(broken, v.Rule+": "+v.Message)
	}
	return broken
}

// timeless are the rules of the judge that need no more history than a state tells.
var timeless = []string{"S1", "S2", "S3", "U", "V", "G", "Q", "O"}

// violations are the rules that a pass broke.
func (c *chronicle) violations() (broken []string) {
	for _, v := range oracle.Check(c.list, oracle.Rules{}) {
		if v.Version > c.seen && slices.Contains(timeless, v.Rule) {
			broken = append(broken, v.Rule+": "+v.Message)
		}
	}
	return broken
}
