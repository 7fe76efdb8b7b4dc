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
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// The resize of a pod and its revision label are two writes. A pod that got only
// the first one has the label of one revision and the size of another, which is
// wrong as soon as the template is taken back or changed again.
//
// Others resize pods, too: an autoscaler, a LimitRange, a user. So a size counts
// as left by us only if it is exactly that of a stored revision and if the pod's
// managedFields say that we wrote it. Everything else is left alone.

// A resize that the node puts off or rules out is ours only if we resized the pod and
// it asks for what its revision says. Another's is not reported to the planner: the
// pod serves, and who asked for the size knows what to make of the answer.

// describeSizes finds the pods with the size of another revision than their own, and
// those whose node does not carry out a resize of another client's. At rest every pod
// has its own size, and nothing is decoded or read for that.
func (o *Observer) describeSizes(ctx context.Context, owner types.UID, owned []*corev1.Pod, seen *Seen, templates *revisionTemplates) error {
	before, after := o.proofs.of(owner), map[types.UID]proof{}
	for i, pod := range owned {
		p := &seen.Observed.Pods[i] // those that are owned come first
		if p.Membership != plan.Member || p.Terminating || ended(p.Phase) {
			continue
		}
		suspect, pending := "", p.Resize == plan.ResizeDeferred || p.Resize == plan.ResizeInfeasible
		if len(seen.Observed.Revisions) > 1 {
			suspect = templates.suspect(pod)
		}
		if suspect == "" && !pending {
			continue
		}
		known := before[p.UID]
		if known.version != p.ResourceVersion || known.size != suspect {
			var err error
			if known, err = o.proveSize(ctx, pod, suspect, templates); err != nil {
				return err
			}
		}
		after[p.UID] = known
		if known.ours {
			p.SizeOf = suspect
		}
		if pending && !known.asked {
			p.Resize, p.ResizeSince = plan.ResizeNone, time.Time{}
		}
	}
	o.proofs.keep(owner, after)
	return nil
}

// proveSize looks who wrote a size. The cache does not keep managedFields.
func (o *Observer) proveSize(ctx context.Context, pod *corev1.Pod, suspect string, templates *revisionTemplates) (proof, error) {
	live, nothing := pod, proof{version: pod.ResourceVersion, size: suspect}
	if len(pod.ManagedFields) == 0 {
		live = &corev1.Pod{}
		err := o.live.Get(ctx, client.ObjectKeyFromObject(pod), live)
		if client.IgnoreNotFound(err) != nil {
			return proof{}, fmt.Errorf("look up who resized pod %s: %w", client.ObjectKeyFromObject(pod), err)
		}
		if err != nil || live.UID != pod.UID || live.Labels[appsv1.LabelRevision] != pod.Labels[appsv1.LabelRevision] {
			return nothing, nil // it has changed since, and will be looked at again
		}
	}
	differs := templates.size(pod.Labels[appsv1.LabelRevision]).Differs(&live.Spec)
	known := nothing
	known.ours = suspect != "" && templates.suspect(live) == suspect && resizedByUs(live, differs)
	known.asked = known.ours || len(differs) == 0 && ourResizes(live) != nil
	return known, nil
}

// suspect is the newest stored revision whose size a pod has, if it does not have
// that of its own.
func (t *revisionTemplates) suspect(pod *corev1.Pod) string {
	own := pod.Labels[appsv1.LabelRevision]
	size := t.size(own)
	if len(size.Differs(&pod.Spec)) == 0 {
		return ""
	}
	for i := len(t.seen.Observed.Revisions) - 1; i >= 0; i-- {
		name := t.seen.Observed.Revisions[i].Name
		if name == own {
			continue
		}
		if like, ok := size.Like(t.size(name)); ok && len(like.Differs(&pod.Spec)) == 0 {
			return name
		}
	}
	return ""
}

// size is that of a stored revision. The template's own is not decoded for it. One
// that cannot be decoded names none: no pod is moved for it, and where one would
// have to be, changes says so.
func (t *revisionTemplates) size(name string) podrender.Size {
	if size, ok := t.sizes[name]; ok {
		return size
	}
	template := (*corev1.PodTemplateSpec)(nil)
	for _, r := range t.seen.Observed.Revisions {
		if r.Name == name && r.Equal {
			template = t.template
		}
	}
	if template == nil {
		template, _ = t.find(name)
	}
	var size podrender.Size
	if template != nil {
		size = podrender.SizeOf(template)
	}
	t.sizes[name] = size
	return size
}

// resizedByUs: our resizes wrote all of these amounts, and no one has changed them
// since.
func resizedByUs(pod *corev1.Pod, amounts podrender.Size) bool {
	owned := ourResizes(pod)
	return owned != nil && !slices.ContainsFunc(amounts, func(a podrender.Amount) bool { return !owns(owned, a) })
}

// ourResizes are the fields that are as our resizes left them, or nil.
func ourResizes(pod *corev1.Pod) map[string]any {
	at := slices.IndexFunc(pod.ManagedFields, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == podrender.ManagedBy && e.Subresource == "resize" && e.Operation == metav1.ManagedFieldsOperationUpdate
	})
	var owned map[string]any
	if at < 0 || pod.ManagedFields[at].FieldsV1 == nil || json.Unmarshal(pod.ManagedFields[at].FieldsV1.GetRawBytes(), &owned) != nil {
		return nil
	}
	return owned
}

// owns finds an amount among the fields of a managedFields entry.
func owns(fields map[string]any, a podrender.Amount) bool {
	containers, list := "f:containers", "f:requests"
	if a.Init {
		containers = "f:initContainers"
	}
	if a.Limit {
		list = "f:limits"
	}
	for _, key := range []string{"f:spec", containers, fmt.Sprintf(`k:{"name":%q}`, a.Container), "f:resources", list, "f:" + string(a.Resource)} {
		next, ok := fields[key].(map[string]any)
		if !ok {
			return false
		}
		fields = next
	}
	return true
}

// proof is who wrote the size of one version of a pod.
type proof struct {
	version, size string
	ours          bool
	// asked: we asked for the size that the node does not carry out.
	asked bool
}

// proofs remember, for each owner, whose the sizes of its pods are, so that a pod
// whose size another one chose is looked up once and not at every look.
type proofs struct {
	mu     sync.Mutex
	owners map[types.UID]map[types.UID]proof
}

func (p *proofs) of(owner types.UID) map[types.UID]proof {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.owners[owner]
}

func (p *proofs) keep(owner types.UID, pods map[types.UID]proof) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(pods) == 0 {
		delete(p.owners, owner)
		return
	}
	if p.owners == nil {
		p.owners = map[types.UID]map[types.UID]proof{}
	}
	p.owners[owner] = pods
}
