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

// Package apply carries out a Decision: it turns actions into API writes and
// returns what became of each. It decides nothing, and nothing else in the
// operator writes pods.
//
// Actions run in the order of their verbs. What was not done holds back only
// what depends on it (plan.Undone); the rest of the pass goes on. The actions of a
// verb start slowly, in batches of 1, 2, 4 and so on, each twice the last as long
// as all went well: a template that the API server refuses, or a missing right,
// costs a few requests and not a thousand. What the last pass was refused, or
// failed at, comes after the rest (Memory), so that it starves nothing and stays
// rare; and a verb that was refused a few times in a row rests.
//
// Every delete, eviction and patch carries the UID and the resourceVersion, so
// that it never reaches a pod that got a hold or was asked to go meanwhile. One
// that comes too late is tried again at the next look. Before the
// first adoption the owner is read live, because the cache may not know yet that
// it is being deleted.
package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// Ledger notes every write, so that the next look at the cache knows what it
// has to show.
type Ledger interface {
	Wrote(owner types.UID, obj client.Object)
	TookAway(owner types.UID, obj client.Object)
	WroteOwner(owner client.Object)
	// Taken notes that a pod of another owner has a name that was to be given.
	Taken(owner types.UID, pod string)
	// Trusts reports whether the owner, as the cache has it, was confirmed by
	// the API server; Trust notes that it was.
	Trusts(owner types.UID) bool
	Trust(owner types.UID)
}

// Target is the owner whose actions are carried out, and how its objects look.
type Target struct {
	// Owner is the object as it was observed.
	Owner client.Object
	Ref   podrender.Owner
	// Finalizer is what the owner's finalizer actions add and remove.
	Finalizer string
	// Encoded is the template in its stored form, for a new revision.
	Encoded []byte
	// Template finds the template of a revision.
	Template func(revision string) (*corev1.PodTemplateSpec, error)
	// Finish changes a rendered pod: its readiness gate, its claims.
	Finish func(pod *corev1.Pod)
	// Claim renders a volume claim.
	Claim func(template, name string) (*corev1.PersistentVolumeClaim, error)
	// Pods are those that were observed. New: there are none, none was ever reported,
	// and their names keep any from being made twice, so the API server is not asked
	// whether there are others.
	Pods []plan.Pod
	New  bool
	// Deletion is how the owner, where it is being deleted, leaves its pods.
	Deletion plan.Deletion
	// ReservedLabels are removed from a pod that is released for good.
	ReservedLabels []string
	// Memory is what the owner's last passes were refused; nil where there were
	// none.
	Memory *Memory
	// Outdated reports that the owner asks for something else by now: the
	// applier then starts no more actions. Nil means that it is not checked.
	Outdated func() bool
}

// Applier writes.
type Applier struct {
	writer client.Client
	live   client.Reader
	ledger Ledger
	clock  clock.PassiveClock
	// firstBatch is how many writes of a verb are sent before the first answer.
	firstBatch int
}

// StartWith changes how many writes of a verb are sent before the first answer.
func (a *Applier) StartWith(firstBatch int) *Applier {
	a.firstBatch = max(1, firstBatch)
	return a
}

// New makes an Applier. live reads past the cache.
func New(writer client.Client, live client.Reader, ledger Ledger, clock clock.PassiveClock) *Applier {
	return &Applier{writer: writer, live: live, ledger: ledger, clock: clock, firstBatch: 1}
}

// Apply carries out the actions. The error says what did not work this time
// and is worth trying again; what was refused for good is in the outcomes
// only.
func (a *Applier) Apply(ctx context.Context, target Target, actions []plan.Action) ([]plan.Outcome, error) {
	if target.Memory == nil {
		target.Memory = &Memory{}
	}
	run := a.run(target)
	target.Memory.begin(target.Owner)
	if len(actions) > 0 && !provesItself(actions) {
		if err := run.trustOwner(ctx); err != nil {
			return skip(actions), err
		}
	}
	outcomes := skip(actions)
	for i, same := range byVerb(actions) {
		done := run.phase(ctx, same.of(actions), i == 0)
		for k, at := range same {
			if outcomes[at] = done[k]; done[k].Result != plan.Done {
				run.undone.Add(&done[k].Action)
			}
		}
	}
	target.Memory.note(outcomes, a.clock.Now())
	return outcomes, run.err
}

// Confirm fails where a process that has just started reads an older owner than its
// predecessor left. A status of that one would undo what the predecessor remembered.
func (a *Applier) Confirm(ctx context.Context, target Target) error {
	return a.run(target).trustOwner(ctx)
}

func (a *Applier) run(target Target) *run {
	return &run{Applier: a, target: target, versions: map[types.UID]string{}, ownerVersion: target.Owner.GetResourceVersion()}
}

// places are the places of some actions in their list.
type places []int

func (p places) of(actions []plan.Action) []plan.Action {
	some := make([]plan.Action, len(p))
	for i, at := range p {
		some[i] = actions[at]
	}
	return some
}

// byVerb groups actions by verb, in the order of plan's table.
func byVerb(actions []plan.Action) []places {
	all := make([]places, len(plan.Verbs)+1)
	for i := range actions {
		at := actions[i].Verb.Order()
		all[at] = append(all[at], i)
	}
	return slices.DeleteFunc(all, func(p places) bool { return len(p) == 0 })
}

func skip(actions []plan.Action) []plan.Outcome {
	outcomes := make([]plan.Outcome, len(actions))
	for i, action := range actions {
		outcomes[i] = plan.Outcome{Action: action, Result: plan.Skipped}
	}
	return outcomes
}

// run is one Apply.
type run struct {
	*Applier
	target Target
	undone plan.Undone
	// err is the first failure that is worth trying again.
	err error
	// versions are those of the pods that this run has changed.
	mu       sync.Mutex
	versions map[types.UID]string
	// ownerChecked: the owner was read live and may adopt.
	ownerChecked bool
	// behind: the owner was read live and has changed. What was planned may not be
	// what it asks for any more.
	behind bool
	// ownerVersion is the owner's resourceVersion that was read, or that this run left.
	ownerVersion string
}

// phase runs the actions of one verb: first those that nothing is known
// against, then those that did not work before. An owner that asks for something
// else ends the pass, but not before its first action: an owner that changes all
// the time is served, too.
func (r *run) phase(ctx context.Context, actions []plan.Action, first bool) []plan.Outcome {
	outcomes := skip(actions)
	if !first && r.outdated() {
		return outcomes
	}
	fresh, again := r.sortOut(actions, outcomes)
	restsFresh, restsAgain := r.target.Memory.rests(actions[0].Verb, r.clock.Now())
	if restsFresh {
		fresh = nil
	}
	if restsAgain {
		again = nil
	}
	if len(fresh) == 0 && len(again) == 0 {
		return outcomes
	}
	if err := r.permit(ctx, actions[0].Verb); err != nil {
		r.behind = r.behind || errors.As(err, new(*BehindError))
		r.fail(err)
		return outcomes
	}
	if !r.slowly(ctx, fresh, r.firstBatch) {
		r.slowly(ctx, again, 1)
	}
	return outcomes
}

// permit asks the API server first where the cache's word is not enough.
func (r *run) permit(ctx context.Context, verb plan.Verb) error {
	switch verb {
	case plan.AdoptPod:
		return r.checkOwner(ctx)
	case plan.DeleteClaim:
		return r.confirmOwner(ctx)
	default:
		return nil
	}
}

// sortOut separates what is tried for the first time from what did not work in
// an earlier pass. What has to wait for another action stays skipped, and what
// was refused a moment ago is answered from memory.
func (r *run) sortOut(actions []plan.Action, outcomes []plan.Outcome) (fresh, again []*plan.Outcome) {
	now := r.clock.Now()
	for i := range actions {
		o := &outcomes[i]
		if r.undone.HoldsBack(&actions[i]) {
			continue
		}
		switch past := r.target.Memory.recall(&actions[i]); {
		case past == nil:
			fresh = append(fresh, o)
		case past.Result == plan.Refused:
			o.Result, o.Cause, o.Message, o.Node, o.Recalled = past.Result, past.Cause, past.Message, past.Node, true
			if !r.target.Memory.young(past, now) {
				again = append(again, o)
			}
		default:
			again = append(again, o)
		}
	}
	r.target.Memory.oldestFirst(again)
	return fresh, again
}

func (r *run) one(ctx context.Context, action plan.Action) (types.UID, error) {
	switch action.Verb {
	case plan.AddFinalizer, plan.RemoveFinalizer:
		return "", r.setFinalizer(ctx, action)
	case plan.CreateRevision:
		return "", r.createRevision(ctx, action)
	case plan.RenumberRevision:
		return "", r.renumberRevision(ctx, action)
	case plan.DeleteRevision:
		return "", r.deleteRevision(ctx, action)
	case plan.AdoptPod:
		return "", r.adoptPod(ctx, action)
	case plan.ReleasePod:
		return "", r.releasePod(ctx, action, nil)
	case plan.OrphanPod:
		return "", r.releasePod(ctx, action, r.target.ReservedLabels)
	case plan.OpenGate, plan.ShutGate:
		return "", r.setGate(ctx, action)
	case plan.ResizePod:
		return "", r.resizePod(ctx, action)
	case plan.UpdatePod:
		return "", r.updatePod(ctx, action)
	case plan.KeepPod:
		return "", r.keepPod(ctx, action)
	case plan.TellHolder:
		return "", r.tellHolder(ctx, action)
	case plan.EvictPod:
		return "", r.evictPod(ctx, action)
	case plan.DeletePod:
		return "", r.deletePod(ctx, action)
	case plan.CreateClaim:
		return "", r.createClaim(ctx, action)
	case plan.CondemnClaim:
		return "", r.condemnClaim(ctx, action)
	case plan.AdoptClaim:
		return "", r.adoptClaim(ctx, action)
	case plan.DeleteClaim:
		return "", r.deleteClaim(ctx, action)
	case plan.CreatePod:
		return r.createPod(ctx, action)
	}
	return "", fmt.Errorf("unknown verb %q", action.Verb)
}

// trustOwner asks the API server, once in the life of a process, whether the
// owner is what the cache says, before it acts on the cache. A process that just
// started may have read an older state than its predecessor acted on, and would
// delete what that one made.
func (r *run) trustOwner(ctx context.Context) error {
	uid := r.target.Ref.UID
	if r.ledger.Trusts(uid) {
		return nil
	}
	if err := r.confirmOwner(ctx); err != nil {
		return err
	}
	if err := r.confirmPods(ctx); err != nil {
		return err
	}
	r.ledger.Trust(uid)
	return nil
}

// BehindError says that the cache shows less than the API server has. What was planned on
// it is not carried out, and not reported either.
type BehindError struct{ message string }

func (e *BehindError) Error() string { return e.message }

// confirmOwner asks the API server whether the owner is what the cache says. The
// whole of it counts and not only its generation: a pin, a restart and a take-over
// are annotations, and the memory of a rollout is in the status. A claim is deleted
// for good, so it is asked before each deletion of claims: the cache may not know
// yet that a slot is wanted again.
func (r *run) confirmOwner(ctx context.Context) error {
	fresh, err := r.readOwner(ctx)
	if err != nil {
		return err
	}
	if have := r.ownerVersion; fresh.GetResourceVersion() != have {
		return &BehindError{fmt.Sprintf("%s: the cache is behind with version %s, the API server has %s",
			client.ObjectKeyFromObject(fresh), have, fresh.GetResourceVersion())}
	}
	return nil
}

// provesItself: the finalizer is added under the resourceVersion that was read,
// and everything after it waits for that.
func provesItself(actions []plan.Action) bool {
	var undone plan.Undone
	undone.Add(&actions[0])
	return actions[0].Verb == plan.AddFinalizer &&
		!slices.ContainsFunc(actions[1:], func(a plan.Action) bool { return !undone.HoldsBack(&a) })
}

// readOwner reads the owner live.
func (r *run) readOwner(ctx context.Context) (client.Object, error) {
	fresh := r.target.Owner.DeepCopyObject().(client.Object)
	key := client.ObjectKeyFromObject(r.target.Owner)
	if err := r.live.Get(ctx, key, fresh); err != nil {
		return nil, fmt.Errorf("read %s live: %w", key, err)
	}
	if fresh.GetUID() != r.target.Ref.UID {
		return nil, fmt.Errorf("%s was deleted and made again: uid is %s, not %s", key, fresh.GetUID(), r.target.Ref.UID)
	}
	return fresh, nil
}

// checkOwner asks the API server whether the owner still exists under this UID
// and is not being deleted. The cache may be behind, and a pod adopted by an
// owner that is gone would be garbage collected.
func (r *run) checkOwner(ctx context.Context) error {
	if r.ownerChecked {
		return nil
	}
	fresh, err := r.readOwner(ctx)
	if err != nil {
		return err
	}
	if fresh.GetDeletionTimestamp() != nil {
		return fmt.Errorf("%s is being deleted and adopts no more pods", client.ObjectKeyFromObject(fresh))
	}
	r.ownerChecked = true
	return nil
}

// setFinalizer patches the whole list of finalizers under the resourceVersion
// that was read, so that no finalizer of another controller is lost.
func (r *run) setFinalizer(ctx context.Context, action plan.Action) error {
	owner := r.target.Owner.DeepCopyObject().(client.Object)
	before := owner.DeepCopyObject().(client.Object)
	if action.Verb == plan.RemoveFinalizer {
		if err := r.clear(ctx); err != nil {
			return err
		}
	}
	if action.Verb == plan.AddFinalizer {
		owner.SetFinalizers(append(owner.GetFinalizers(), r.target.Finalizer))
	} else {
		owner.SetFinalizers(slices.DeleteFunc(owner.GetFinalizers(), func(f string) bool { return f == r.target.Finalizer }))
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := r.writer.Patch(ctx, owner, patch)
	if apierrors.IsNotFound(err) && action.Verb == plan.RemoveFinalizer {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s of %s: %w", action.Verb, client.ObjectKeyFromObject(owner), err)
	}
	r.ownerVersion = owner.GetResourceVersion()
	r.ledger.WroteOwner(owner)
	r.ledger.Trust(owner.GetUID())
	return nil
}

func podOf(r *run, action plan.Action) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.target.Ref.Namespace, Name: action.Pod, UID: action.UID,
	}}
}
