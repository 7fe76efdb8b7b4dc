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
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Anything may happen between two passes, for as long as it likes. At each of
// them the rules hold, and when it ends the fleet comes to rest.
func TestWhateverHappensTheFleetComesToRest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(fleetGenerator().Draw(t, "fleet"))
		m.gated = rapid.Bool().Draw(t, "gated")
		for range rapid.IntRange(1, 25).Draw(t, "events") {
			m.mishap(t)
			if rapid.Bool().Draw(t, "the kubelet works") {
				m.kubelets()
			}
			m.now = m.now.Add(drawSeconds(t, 20, "pause"))
			m.checked(t)
		}
		m.relent()
		m.total[CreatePod] = 0
		for name, p := range m.pods {
			p.UID = "old-" + p.UID
			m.pods[name] = p
		}
		settle(t, m)
	})
}

// relent ends what keeps the fleet from its goal.
func (m *model) relent() {
	m.crashing, m.keeping, m.nowhere = false, false, false
	m.desired.TakeOver = ""
	clear(m.failing)
	clear(m.refused)
}

// mishaps are what can happen between two passes: to the spec, to the cluster
// and to a pod.
func (m *model) mishap(t *rapid.T) {
	what := oneOf(t, "mishap",
		"nothing", "scale", "scale", "change", "restart", "pin", "unpin", "pause", "reserve", "take over", "end the take-over",
		"stranger", "crash", "break a revision", "refuse", "refuse", "relent", "away", "no such node", "lose claims",
		"delete", "fail", "fail", "lose", "drift", "abandon", "ask", "hold", "let go", "finalizer")
	if !m.edit(t, what) && !m.disturb(t, what) {
		m.hurt(t, what)
	}
}

// edit is a change of the spec.
func (m *model) edit(t *rapid.T, what string) bool {
	switch what {
	case "change":
		for i := range m.revisions {
			m.revisions[i].Equal = false
		}
		if n := len(m.revisions); n > 0 {
			m.revisions[rapid.IntRange(0, n-1).Draw(t, "revision")].Equal = true
		}
	case "restart":
		m.desired.Restart = m.now
	case "scale":
		m.desired.Replicas = rapid.IntRange(0, 10).Draw(t, "replicas")
	case "pin":
		m.desired.Pin, m.desired.PinWhile = "77", oneOf(t, "pinned while", int64(0), 1, 9) // is not stored
		if n := len(m.revisions); n > 0 {
			r := m.revisions[rapid.IntRange(0, n-1).Draw(t, "pinned revision")]
			m.desired.Pin = oneOf(t, "pinned by", r.Name, strconv.FormatInt(r.Number, 10))
		}
		return true // an annotation changes no generation
	case "take over":
		m.desired.TakeOver = otherWorkload
		for i := range rapid.IntRange(0, 3).Draw(t, "pods that their controller leaves") {
			m.leave(i)
		}
		return true
	case "end the take-over":
		m.desired.TakeOver = ""
		return true
	case "unpin":
		m.desired.Pin, m.desired.PinWhile = "", 0
		return true
	case "pause":
		m.desired.Paused = !m.desired.Paused
	case "reserve":
		drawReserved(t, &m.desired)
	default:
		return false
	}
	m.desired.Generation++
	return true
}

// leave puts a pod there that another controller has just orphaned: under one of
// our names with ordinals, otherwise under a name of its own.
func (m *model) leave(n int) {
	p := aPod("other-" + strconv.Itoa(n)).orphan().p
	if m.desired.Identity == appsv1.IdentityOrdinal {
		p.Name, p.Slot = SlotName(&m.desired, n), n
	}
	if _, taken := m.pods[p.Name]; taken || m.foreign[p.Name] {
		return
	}
	p.UID, p.Created = types.UID("left-"+p.Name), m.now
	m.pods[p.Name] = p
}

// disturb happens to the cluster.
func (m *model) disturb(t *rapid.T, what string) bool {
	switch what {
	case "stranger":
		name := SlotName(&m.desired, rapid.IntRange(0, 12).Draw(t, "slot"))
		if _, taken := m.pods[name]; !taken {
			m.foreign[name] = true
		}
	case "crash":
		m.crashing = !m.crashing
	case "break a revision":
		m.failing[oneOf(t, "revision that fails", newRev, oldRev, m.next)] = true
	case "refuse":
		verb := oneOf(t, "refused", CreatePod, CreateClaim, DeletePod, EvictPod, UpdatePod, ResizePod, TellHolder, AdoptPod, ReleasePod, DeleteClaim, CondemnClaim, AdoptClaim)
		m.refused[refusal{verb, rapid.IntRange(0, 12).Draw(t, "slot")}] = true
	case "relent":
		m.relent()
		m.keeping = true
	case "away":
		for range rapid.IntRange(1, 3).Draw(t, "what the kubelets do meanwhile") {
			m.kubelets()
		}
		m.now = m.now.Add(drawSeconds(t, 4*3600, "away"))
	case "no such node":
		m.nowhere = !m.nowhere
	case "lose claims":
		for _, name := range slices.Sorted(maps.Keys(m.claims)) {
			if rapid.Bool().Draw(t, "lose a claim") {
				delete(m.claims, name)
			}
		}
	default:
		return false
	}
	return true
}

// hurt happens to one pod.
func (m *model) hurt(t *rapid.T, what string) {
	if len(m.pods) == 0 {
		return
	}
	p := m.pods[rapid.SampledFrom(slices.Sorted(maps.Keys(m.pods))).Draw(t, "whose")]
	holder := "migration"
	switch what {
	case "delete":
		p.Terminating, p.DeletedAt = true, m.now
	case "finalizer":
		p.KeptBy = "example.com/backup"
	case "fail":
		p.Phase, p.Ready, p.FailedAt = corev1.PodFailed, false, m.now.Truncate(time.Second)
	case "lose":
		p.NodeState = oneOf(t, "how the node went", NodeGone, NodeOutOfService)
	case "drift":
		if p.Membership == Member {
			p.Membership = Drifted
		}
	case "abandon":
		if p.Membership == Member {
			p.Membership = Orphan
		}
	case "ask":
		p.DeleteRequested = true
	case "hold":
		p.HoldDelete, p.HoldUpdate = &holder, &holder
	case "let go":
		p.HoldDelete, p.HoldUpdate = nil, nil
	}
	m.pods[p.Name] = p
}
