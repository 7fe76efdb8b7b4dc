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

package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
)

// Weakness takes one safety mechanism out, to see that a test misses it. It is
// wiring of this package: the operator has no such switch.
type Weakness string

// The mechanisms that can be taken out.
const (
	None              Weakness = ""
	NoUIDPrecondition Weakness = "UID precondition"
	NoFreshnessGate   Weakness = "freshness gate"
	NoDeterministic   Weakness = "deterministic name"
	NoLiveRead        Weakness = "live read before adopting"
	NoBackoff         Weakness = "backoff"
	NoSlowStart       Weakness = "slow start"
	NoFinalizerWait   Weakness = "finalizer wait"
	NoTrust           Weakness = "live read after a restart"
	NoForeignStatus   Weakness = "look at a foreign status"
	NoIsolation       Weakness = "isolation of failures"
	NoMemory          Weakness = "memory of refusals"
	NoRefusalWait     Weakness = "wait after a refusal"
	NoClaimMark       Weakness = "mark on a claim"
	NoFoundMark       Weakness = "mark on a claim that was found"
	NoSizeProof       Weakness = "proof of who resized a pod"
)

// wait weakens how long the operator waits before it looks again. It also forgets
// then what was refused (beforeReconcile): with that memory a look asks for nothing.
func (w Weakness) wait(asked time.Duration) time.Duration {
	if w == NoRefusalWait {
		return min(asked, 100*time.Millisecond)
	}
	return asked
}

// firstBatch is 0 for the operator's own.
func (w Weakness) firstBatch() int {
	if w == NoSlowStart {
		return 1000
	}
	return 0
}

// ownerChanged weakens what wakes the operator.
func (w Weakness) ownerChanged(p predicate.Predicate) predicate.Predicate {
	if w != NoForeignStatus {
		return p
	}
	return predicate.And(p, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.DeepCopyObject().(*appsv1.PodManager), e.ObjectNew.DeepCopyObject().(*appsv1.PodManager)
		before.Status, after.Status = appsv1.PodManagerStatus{}, appsv1.PodManagerStatus{}
		before.ResourceVersion, after.ResourceVersion = "", ""
		return !equality.Semantic.DeepEqual(before, after)
	}})
}

// kind weakens what a PodManager asks for.
func (w Weakness) kind(k desired.Kind) desired.Kind {
	if w == NoBackoff || w == NoFinalizerWait {
		return weakKind{k, w}
	}
	return k
}

type weakKind struct {
	desired.Kind
	weakness Weakness
}

// Fleet implements desired.Kind.
func (k weakKind) Fleet(owner client.Object) desired.Fleet {
	f := k.Kind.Fleet(owner)
	switch k.weakness {
	case NoBackoff:
		f.Desired.FailedPods.Initial, f.Desired.FailedPods.Max = 0, 0
	case NoFinalizerWait:
		f.Desired.Finalizer = plan.FinalizerUnused
	}
	return f
}

// beforeReconcile runs before each reconcile of a process.
func (w Weakness) beforeReconcile(p *process, req reconcile.Request) {
	if w == NoMemory || w == NoRefusalWait {
		p.reconciler = p.newReconciler()
	}
	p.failed.Store(false)
	if w != NoFreshnessGate && w != NoTrust {
		return
	}
	owner, err := p.cache.get(objectKey{"PodManager", req.Namespace, req.Name})
	if err != nil {
		return
	}
	if w == NoFreshnessGate {
		trusted := p.ledger.Trusts(owner.GetUID())
		p.ledger.Forget(owner.GetUID())
		if !trusted {
			return
		}
	}
	p.ledger.Trust(owner.GetUID())
}

// live weakens what is read past the cache.
func (w Weakness) live(live, cache client.Reader) client.Reader {
	if w != NoLiveRead && w != NoSizeProof {
		return live
	}
	return weakReader{live, cache, w}
}

type weakReader struct {
	client.Reader
	cache    client.Reader
	weakness Weakness
}

// Get implements client.Reader.
func (r weakReader) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if _, owner := obj.(*appsv1.PodManager); owner && r.weakness == NoLiveRead {
		return r.cache.Get(ctx, key, obj, opts...)
	}
	err := r.Reader.Get(ctx, key, obj, opts...)
	if r.weakness == NoSizeProof {
		obj.SetManagedFields(nil)
	}
	return err
}

// client weakens the writes.
func (w Weakness) client(c client.Client, p *process) client.Client {
	if w == NoUIDPrecondition || w == NoDeterministic || w == NoIsolation || w == NoClaimMark || w == NoFoundMark {
		return &weakClient{c, w, p}
	}
	return c
}

type weakClient struct {
	client.Client
	weakness Weakness
	process  *process
}

// isolated keeps an error of one write from the next ones, or not: without it
// the first that is refused ends the creates of a pass.
func (c *weakClient) isolated(write func() error) error {
	if c.weakness != NoIsolation {
		return write()
	}
	if c.process.failed.Load() {
		return errLost
	}
	err := write()
	if err != nil {
		c.process.failed.Store(true)
	}
	return err
}

// List implements client.Client: without the mark every claim that carries the
// owner's name seems to be the owner's, and to be condemned; without the other, none
// seems to be found.
func (c *weakClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := c.Client.List(ctx, list, opts...)
	claims, ok := list.(*corev1.PersistentVolumeClaimList)
	if err != nil || !ok || c.weakness != NoClaimMark && c.weakness != NoFoundMark {
		return err
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if c.weakness == NoFoundMark {
			delete(claim.Annotations, appsv1.AnnotationFound)
			continue
		}
		for _, owner := range c.process.world.server.objectsOf("PodManager") {
			metav1.SetMetaDataLabel(&claim.ObjectMeta, appsv1.LabelUID, string(owner.GetUID()))
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, appsv1.AnnotationCondemnedBy, string(owner.GetUID()))
		}
	}
	return nil
}

// Create implements client.Client.
func (c *weakClient) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if _, pod := obj.(*corev1.Pod); pod && c.weakness == NoDeterministic {
		c.process.world.suffix++
		obj.SetName(fmt.Sprintf("%s-x%d", obj.GetName(), c.process.world.suffix))
	}
	return c.isolated(func() error { return c.Client.Create(ctx, obj, opts...) })
}

// Delete implements client.Client.
func (c *weakClient) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if c.weakness == NoUIDPrecondition {
		opts = append(opts, client.Preconditions{})
	}
	err := c.Client.Delete(ctx, obj, opts...)
	if err != nil {
		c.process.failed.Store(true)
	}
	return err
}

// Patch implements client.Client.
func (c *weakClient) Patch(ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if c.weakness == NoUIDPrecondition {
		patch = bare{patch}
	}
	return c.Client.Patch(ctx, obj, patch, opts...)
}

// bare is a patch without preconditions.
type bare struct{ client.Patch }

// Data implements client.Patch.
func (b bare) Data(obj client.Object) ([]byte, error) {
	raw, err := b.Patch.Data(obj)
	if err != nil || b.Type() == types.JSONPatchType {
		return raw, err
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, err
	}
	if meta, ok := body["metadata"].(map[string]any); ok {
		delete(meta, "uid")
		delete(meta, "resourceVersion")
	}
	return json.Marshal(body)
}
