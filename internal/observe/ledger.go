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
	"maps"
	"sync"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// ledgerPatience is how long a write may stay unseen before the API server
// itself is asked. A watch that was cut and resumed by a list never shows a pod
// that came and went in between, and nothing may wait for a missed event.
const ledgerPatience = 5 * time.Second

// StaleError says that the cache has not seen one of our own writes yet.
type StaleError struct {
	What string
	// overdue are writes that the cache should have shown by now.
	overdue []overdue
}

type overdue struct {
	owner, uid types.UID
	gone       bool
	obj        client.Object
}

// obsolete reports whether an overdue write will never show in the cache, given
// what the API server says of its target: what was created is gone again or is
// no longer the owner's, or what was taken away is back.
func (o overdue) obsolete(found bool) bool {
	there := found && o.obj.GetUID() == o.uid
	if o.gone {
		return there && o.obj.GetDeletionTimestamp() == nil
	}
	if _, claim := o.obj.(*corev1.PersistentVolumeClaim); claim {
		// A claim that lost the label by which the cache finds it, or that of its
		// owner, is no longer looked for.
		labels := o.obj.GetLabels()
		return !there || labels[podrender.LabelManagedBy] != podrender.ManagedBy || labels[appsv1.LabelUID] != string(o.owner)
	}
	if _, revision := o.obj.(*kappsv1.ControllerRevision); revision && o.obj.GetLabels()[podrender.LabelManagedBy] != podrender.ManagedBy {
		return true // the cache finds it by that label
	}
	controller := metav1.GetControllerOfNoCopy(o.obj)
	return !there || controller == nil || controller.UID != o.owner
}

func (e *StaleError) Error() string {
	return "the cache has not seen our last write of " + e.What + " yet"
}

// Ledger remembers, for each owner, what this process wrote and the cache has
// not shown yet.
type Ledger struct {
	clock clock.PassiveClock

	mu     sync.Mutex
	owners map[types.UID]*page
}

// page is one owner's part of the ledger.
type page struct {
	// owner is the resourceVersion of our last write of the owner itself.
	owner  string
	writes map[types.UID]write
	// trusted: the API server confirmed the owner as the cache has it.
	trusted bool
	// taken are names of pods of other owners, and when the API server said so.
	taken map[string]time.Time
}

// write is one object that we wrote.
type write struct {
	key client.ObjectKey
	// revision and claim are its kind; it is a pod if it is neither.
	revision, claim bool
	// version is the resourceVersion the write gave the object; empty if the
	// answer had none.
	version string
	// gone: the write took the object away from the owner.
	gone bool
	at   time.Time
}

// NewLedger makes an empty ledger.
func NewLedger(clock clock.PassiveClock) *Ledger {
	return &Ledger{clock: clock, owners: map[types.UID]*page{}}
}

// Wrote notes that obj was created for, or changed on behalf of, an owner.
func (l *Ledger) Wrote(owner types.UID, obj client.Object) {
	l.note(owner, obj, write{version: obj.GetResourceVersion()})
}

// TookAway notes that obj was deleted, or is no longer the owner's.
func (l *Ledger) TookAway(owner types.UID, obj client.Object) {
	l.note(owner, obj, write{gone: true, version: obj.GetResourceVersion()})
}

func (l *Ledger) note(owner types.UID, obj client.Object, w write) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.at = l.clock.Now()
	w.key = client.ObjectKeyFromObject(obj)
	_, w.revision = obj.(*kappsv1.ControllerRevision)
	_, w.claim = obj.(*corev1.PersistentVolumeClaim)
	l.page(owner).writes[obj.GetUID()] = w
}

// WroteOwner notes a write of the owner itself.
func (l *Ledger) WroteOwner(owner client.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.page(owner.GetUID()).owner = owner.GetResourceVersion()
}

// Taken notes that a pod of another owner has a name that was to be given. The
// cache may not show that pod: with shards it holds only one shard's.
func (l *Ledger) Taken(owner types.UID, pod string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.page(owner)
	if p.taken == nil {
		p.taken = map[string]time.Time{}
	}
	p.taken[pod] = l.clock.Now()
}

// free notes that a name that was taken is free again.
func (l *Ledger) free(owner types.UID, pod string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.owners[owner]; p != nil {
		delete(p.taken, pod)
	}
}

// takes reports whether a pod of another owner had a name, and whether that is so
// long ago that the API server has to be asked again.
func (l *Ledger) takes(owner types.UID, pod string) (taken, ask bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.owners[owner]
	if p == nil {
		return false, false
	}
	at, taken := p.taken[pod]
	age := l.clock.Since(at) // negative where the clock was set back
	return taken, taken && (age < 0 || age >= ledgerPatience)
}

// Trusts reports whether the cache's view of the owner is at least as new as this
// process. The first list of a process may come from an API server that is
// behind, and what a predecessor did on a newer state must not be undone.
func (l *Ledger) Trusts(owner types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.owners[owner]
	return p != nil && p.trusted
}

// Trust notes that the API server confirmed the owner as the cache has it. The
// cache only gets newer, so once is enough.
func (l *Ledger) Trust(owner types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.page(owner).trusted = true
}

// Saw notes that the cache showed an object's deletion, so the owner no longer
// waits for its creation to show. A list that still has it was read before, and is
// not to be acted on.
func (l *Ledger) Saw(owner, gone types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.owners[owner]; p != nil {
		if w, written := p.writes[gone]; written {
			w.gone, w.version = true, ""
			p.writes[gone] = w
		}
	}
}

// Awaits reports whether an object is what one of the owner's own writes made of it, and
// no list has shown that write yet.
func (l *Ledger) Awaits(owner types.UID, obj client.Object) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.owners[owner]
	if p == nil {
		return false
	}
	w, written := p.writes[obj.GetUID()]
	return written && (w.gone || w.version == obj.GetResourceVersion())
}

// drop forgets a write that will never show.
func (l *Ledger) drop(owner, obj types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.owners[owner]; p != nil {
		delete(p.writes, obj)
	}
}

// Forget drops an owner that is gone.
func (l *Ledger) Forget(owner types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.owners, owner)
}

func (l *Ledger) page(owner types.UID) *page {
	p := l.owners[owner]
	if p == nil {
		p = &page{writes: map[types.UID]write{}}
		l.owners[owner] = p
	}
	return p
}

// check returns a StaleError unless the cache shows every write of the owner's
// page. What it shows is crossed out, so each write is looked up until it is
// seen and then never again.
func (l *Ledger) check(owner client.Object, pods []*corev1.Pod, revisions []*kappsv1.ControllerRevision,
	claims []*corev1.PersistentVolumeClaim,
) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.owners[owner.GetUID()]
	if p == nil {
		return nil
	}
	if p.owner != "" && older(owner.GetResourceVersion(), p.owner) {
		return &StaleError{What: client.ObjectKeyFromObject(owner).String()}
	}
	p.owner = ""
	if claims == nil { // no templates, and none is looked for
		maps.DeleteFunc(p.writes, func(_ types.UID, w write) bool { return w.claim })
	}
	if len(p.writes) == 0 {
		return nil
	}
	cached := make(map[types.UID]client.Object, len(p.writes))
	for _, pod := range pods {
		p.find(cached, pod)
	}
	for _, revision := range revisions {
		p.find(cached, revision)
	}
	for _, claim := range claims {
		p.find(cached, claim)
	}
	return p.crossOut(owner.GetUID(), cached, l.clock.Now())
}

// find keeps an object that was written: most of a fleet's were not.
func (p *page) find(cached map[types.UID]client.Object, obj client.Object) {
	if _, written := p.writes[obj.GetUID()]; written {
		cached[obj.GetUID()] = obj
	}
}

// crossOut drops the writes that the cache shows. It stops at the first that
// is missing, unless some are overdue.
func (p *page) crossOut(owner types.UID, cached map[types.UID]client.Object, now time.Time) error {
	var stale *StaleError
	for uid, w := range p.writes {
		if w.shown(cached[uid]) {
			delete(p.writes, uid)
			continue
		}
		if stale == nil {
			stale = &StaleError{What: w.key.String()}
		}
		if now.Sub(w.at) < ledgerPatience {
			return stale
		}
		w.at = now // asked once, then again after the same patience
		p.writes[uid] = w
		stale.overdue = append(stale.overdue, overdue{owner: owner, uid: uid, gone: w.gone, obj: w.object()})
	}
	if stale == nil {
		return nil
	}
	return stale
}

// object is an empty object to read the write's target into.
func (w write) object() client.Object {
	meta := metav1.ObjectMeta{Namespace: w.key.Namespace, Name: w.key.Name}
	switch {
	case w.revision:
		return &kappsv1.ControllerRevision{ObjectMeta: meta}
	case w.claim:
		return &corev1.PersistentVolumeClaim{ObjectMeta: meta}
	}
	return &corev1.Pod{ObjectMeta: meta}
}

// shown reports whether the cache's view of the owner's objects includes the
// write. A UID names one life of a name, so a successor is never taken for it.
func (w write) shown(cached client.Object) bool {
	switch {
	case cached == nil:
		return w.gone
	case w.gone && cached.GetDeletionTimestamp() != nil:
		return true
	case w.gone && w.version == "":
		return false
	}
	// A pod that was released and is the owner's again in a later version was
	// given back by another client.
	return !older(cached.GetResourceVersion(), w.version)
}

// older compares resourceVersions. A version that cannot be compared is no
// reason to wait.
func older(have, want string) bool {
	order, err := resourceversion.CompareResourceVersion(have, want)
	return err == nil && order < 0
}
