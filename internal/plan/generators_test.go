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
	"cmp"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// The generators draw every field that the planner reads, also in states that
// should not occur. TestEveryFieldIsDrawn says which field they forget.

// oneIn is true once in n times, and never in what a failure shrinks to.
func oneIn(t *rapid.T, n int, label string) bool {
	return rapid.IntRange(0, n-1).Draw(t, label) == n-1
}

func drawSeconds(t *rapid.T, most int, label string) time.Duration {
	return time.Duration(rapid.IntRange(0, most).Draw(t, label)) * time.Second
}

// oneOf draws one of the values, and the first where a failure shrinks to it.
func oneOf[V any](t *rapid.T, label string, values ...V) V {
	return rapid.SampledFrom(values).Draw(t, label)
}

// anyFleet draws a fleet with anything in it, also one whose owner goes or whose
// pods are being taken over.
func anyFleet() *rapid.Generator[fleet] {
	return rapid.Custom(func(t *rapid.T) fleet {
		f := fleetGenerator().Draw(t, "fleet")
		f.desired.Deletion = oneOf(t, "deletion",
			DeletionNone, DeletionNone, DeletionNone, DeletionDelete, DeletionOrphan, DeletionCascadeOrphan)
		f.desired.TakeOver = oneOf(t, "taken over from", "", "", "", otherWorkload)
		return f
	})
}

// fleetGenerator draws a fleet with anything in it, whose owner stays.
func fleetGenerator() *rapid.Generator[fleet] {
	return rapid.Custom(func(t *rapid.T) fleet {
		f := aFleet(rapid.IntRange(0, 10).Draw(t, "replicas"))
		d := &f.desired
		drawOwner(t, d)
		d.Paused = oneIn(t, 5, "paused")
		d.MinReady = drawSeconds(t, 60, "minReady")
		d.RevisionHistoryLimit = rapid.IntRange(0, 2).Draw(t, "revisions kept")
		d.Finalizer = oneOf(t, "finalizer", FinalizerPresent, FinalizerMissing, FinalizerUnused)
		drawFailedPods(t, d)
		drawUpdate(t, d)
		drawPlaces(t, d)
		f.observed.NewRevision = oneOf(t, "name of a new revision", "web-next", "web-after")
		f.observed.Revisions = drawRevisions(t)
		f.observed.Changes = drawChanges(t, f.observed.NewRevision)
		f.observed.Pods, f.observed.HeldNames = drawPods(t, d)
		drawDisruption(t, &f)
		f.observed.Claims = drawClaims(t, d)
		drawPin(t, &f)
		drawMemory(t, &f)
		return f
	})
}

func drawOwner(t *rapid.T, d *Desired) {
	d.Namespace = oneOf(t, "namespace", "default", "prod")
	d.Name = oneOf(t, "name", "web", "api")
	d.NamePrefix = d.Name + oneOf(t, "prefix", "", "-pod")
	d.UID = oneOf[types.UID](t, "uid of the owner", "owner-1", "owner-2")
	d.Selector = "podmanager=" + d.Name
	d.Generation = rapid.Int64Range(1, 2).Draw(t, "generation")
	d.Identity = oneOf(t, "identity", appsv1.IdentityOrdinal, appsv1.IdentityRandom)
}

func drawFailedPods(t *rapid.T, d *Desired) {
	d.FailedPods = FailedPods{
		Limit:   rapid.IntRange(0, 3).Draw(t, "failed pods kept"),
		Initial: oneOf(t, "first backoff", 10*time.Second, time.Second, 0),
		Max:     oneOf(t, "longest backoff", 5*time.Minute, 10*time.Second),
	}
}

func drawUpdate(t *rapid.T, d *Desired) {
	d.Update = Update{
		Strategy: oneOf(t, "strategy",
			appsv1.UpdateInPlace, appsv1.UpdateInPlace, appsv1.UpdateRecreate, appsv1.UpdateOnDelete),
		MaxUnavailable:   rapid.IntRange(0, 3).Draw(t, "maxUnavailable"),
		MaxSurge:         rapid.IntRange(0, 3).Draw(t, "maxSurge"),
		UseEviction:      rapid.Bool().Draw(t, "eviction"),
		Fixed:            rapid.Bool().Draw(t, "fixed"),
		ProgressDeadline: oneOf(t, "progress deadline", 10*time.Minute, 2*time.Minute, 2*time.Hour, 0),
		ResizeDeadline:   oneOf(t, "resize deadline", time.Minute, 0, 10*time.Minute),
		OnFailure:        oneOf(t, "onFailure", appsv1.FailurePause, appsv1.FailureRollback),
	}
	d.Update.NoneUnavailable = d.Update.MaxUnavailable == 0 && rapid.Bool().Draw(t, "none unavailable as written")
	if oneIn(t, 4, "partitioned") {
		d.Update.Partition = rapid.IntRange(0, 10).Draw(t, "partition")
	}
	if oneIn(t, 6, "restarted") {
		d.Restart = ago(drawSeconds(t, 900, "restart"))
	}
	d.Terminating = Terminating{
		Timeout: oneOf(t, "terminating timeout", 30*time.Second, 0, 5*time.Minute),
		Policy: oneOf(t, "terminating policy", appsv1.TerminatingReplaceAtOnce, appsv1.TerminatingReplaceAtOnce,
			appsv1.TerminatingWait, appsv1.TerminatingAfterTimeout),
	}
}

// drawDisruption draws how pods leave their nodes, and where they could go.
func drawDisruption(t *rapid.T, f *fleet) {
	if oneIn(t, 3, "surge first") {
		f.desired.Disruption = Disruption{
			SurgeFirst: true, Deadline: oneOf(t, "deadline of evictions", 10*time.Minute, time.Minute),
			MaxSurge: rapid.IntRange(0, 3).Draw(t, "surge of evictions"),
		}
		if oneIn(t, 2, "spread") {
			f.desired.Disruption.Spread = oneOf(t, "constraints", []Spread{{Key: "zone", MaxSkew: 1}}, []Spread{{Key: "rack", MaxSkew: 2}, {Key: "zone", MaxSkew: 1}})
			f.desired.Disruption.AutoRebalance = rapid.Bool().Draw(t, "rebalance by itself")
			f.desired.Disruption.Rebalance = ago(oneOf(t, "rebalance asked", time.Minute, 2*time.Hour, -time.Minute))
		}
	}
	if oneIn(t, 3, "nodes are known") {
		f.observed.Nodes = &Nodes{Open: rapid.IntRange(0, 2).Draw(t, "open nodes")}
		f.observed.Nodes.All = f.observed.Nodes.Open + rapid.IntRange(0, 2).Draw(t, "closed nodes")
		for range f.desired.Disruption.Spread {
			f.observed.Nodes.Domains = append(f.observed.Nodes.Domains, oneOf(t, "domains", nil, []string{"a"}, []string{"a", "b", "c"}))
		}
	}
	for i := range f.observed.Pods {
		for range f.desired.Disruption.Spread {
			f.observed.Pods[i].Domains = append(f.observed.Pods[i].Domains, oneOf(t, "domain", "a", "a", "b", ""))
		}
	}
}

// drawPlaces draws what only ordinals have.
func drawPlaces(t *rapid.T, d *Desired) {
	if oneIn(t, 5, "reserved ordinals") {
		drawReserved(t, d)
	}
	d.Ordered = d.Identity == appsv1.IdentityOrdinal && oneIn(t, 4, "in order")
	if d.Identity == appsv1.IdentityOrdinal && oneIn(t, 4, "claims") {
		policies := []appsv1.ClaimPolicy{appsv1.ClaimRetain, appsv1.ClaimDelete}
		d.Claims = Claims{
			Templates:   oneOf(t, "claim templates", []string{"data"}, []string{"data", "logs"}),
			WhenScaled:  oneOf(t, "claims of pods that are scaled away", policies...),
			WhenDeleted: oneOf(t, "claims of an owner that goes", policies...),
		}
	}
}

func drawReserved(t *rapid.T, d *Desired) {
	if d.Identity == appsv1.IdentityOrdinal {
		d.Reserved = rapid.SliceOfNDistinct(rapid.IntRange(0, 12), 0, 3, rapid.ID[int]).Draw(t, "reserved")
		slices.Sort(d.Reserved)
	}
}

// drawPin pins a revision by its name or its number, stored or not, for good or
// while the template is the one it was.
func drawPin(t *rapid.T, f *fleet) {
	if !oneIn(t, 6, "pinned") {
		return
	}
	pins := []string{"web-gone", "77"}
	for _, r := range f.observed.Revisions {
		pins = append(pins, r.Name, strconv.FormatInt(r.Number, 10))
	}
	f.desired.Pin = oneOf(t, "pin", pins...)
	f.desired.PinWhile = oneOf(t, "pinned while", int64(0), 1, 2, 9, 10)
}

func drawRevisions(t *rapid.T) []Revision {
	numbers := rapid.Permutation([]int64{1, 2, 9}).Draw(t, "numbers of the revisions")
	revisions := []Revision{
		{Name: newRev, UID: "uid-new", Number: numbers[0], Equal: true},
		{Name: oldRev, UID: "uid-old", Number: numbers[1]},
		{Name: "web-older", UID: "uid-older", Number: numbers[2]},
	}
	return oneOf(t, "revisions", revisions[:1], revisions[:2], revisions, revisions[1:], nil)
}

// drawChanges draws how pods get from one revision to another, if that is known.
func drawChanges(t *rapid.T, next string) []Change {
	kinds := []Change{
		{Recreate: "the command differs"},
		{Metadata: true},
		{Images: []string{"app"}, Restarts: true},
		{Images: []string{"app", "proxy"}, Restarts: true},
		{Resize: []string{"app"}},
		{Resize: []string{"proxy"}, Restarts: true},
		{Resize: []string{"app"}, Images: []string{"app"}, Metadata: true, Restarts: true},
	}
	names := []string{newRev, oldRev, "web-older", next}
	var changes []Change
	for _, from := range names {
		for _, to := range names {
			if from == to || oneIn(t, 20, "no way is known") {
				continue
			}
			c := rapid.SampledFrom(kinds).Draw(t, "change")
			c.From, c.To = from, to
			changes = append(changes, c)
		}
	}
	return append(changes, drawSizedChanges(t, changes, names)...)
}

// drawSizedChanges draws what is different for a pod with the size of another
// revision: only its resize, and what that needs.
func drawSizedChanges(t *rapid.T, changes []Change, names []string) []Change {
	bases := slices.Clone(changes)
	for _, name := range names {
		bases = append(bases, Change{From: name, To: name})
	}
	var sized []Change
	for _, c := range bases {
		how := oneOf(t, "resize of another size", Change{Resize: []string{"app"}}, Change{Resize: []string{"app"}},
			Change{Resize: []string{"proxy"}, Restarts: true}, Change{Recreate: "the QoS class would change"})
		if oneIn(t, 10, "no way is known with another size") {
			continue
		}
		for _, size := range names {
			if size == c.From {
				continue
			}
			with := c
			if with.SizeOf, with.Resize = size, nil; size != c.To {
				with.Resize, with.Restarts, with.Recreate = how.Resize, c.Restarts || how.Restarts, cmp.Or(c.Recreate, how.Recreate)
			}
			sized = append(sized, with)
		}
	}
	return sized
}

// drawClaims draws claims of any slot, also of one that the fleet does not have,
// and one whose name is none of the fleet's.
func drawClaims(t *rapid.T, d *Desired) []Claim {
	if len(d.Claims.Templates) == 0 {
		return nil
	}
	var claims []Claim
	for _, slot := range rapid.SliceOfNDistinct(rapid.IntRange(-1, 12), 0, 8, rapid.ID[int]).Draw(t, "slots with claims") {
		for _, template := range d.Claims.Templates {
			name := ClaimName(template, SlotName(d, slot))
			claims = append(claims, Claim{
				Name: name, UID: types.UID("uid-" + name), Slot: max(slot, NoSlot), Terminating: oneIn(t, 6, "claim terminates"),
				ResourceVersion: oneOf(t, "claim's version", "1", "2"), Surge: oneIn(t, 5, "claim was made for a surge"), Found: oneIn(t, 5, "claim was found"),
				Owner:       oneOf(t, "claim's owner", d.UID, d.UID, "owner-0", ""),
				CondemnedBy: oneOf(t, "claim condemned by", "", "", d.UID, "owner-0"),
			})
		}
	}
	return claims
}
