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
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// A tenant decides how large a template is, and how many there are. So the cache keeps
// those of a usual size, and of a larger one that it is there: it is read from the API
// server when the fleet is looked at. Of a stored revision that is left out, a hash is
// kept, so that a fleet at rest reads none.

// Large is how much of an object the cache keeps: what users wrote into its template,
// its claim templates, labels and annotations.
const Large = 16 << 10

// leftOut is the annotation of a cached object without its large parts. Its value begins with
// what only this process knows: a user who writes the annotation does not get a large
// object into the cache by it.
const leftOut = "cache.mycompany.com/left-out"

var secret = rand.Text()

// SlimOwner is the transform of PodManagers: it leaves large parts out of the cache.
func SlimOwner(raw any) (any, error) {
	pm, ok := raw.(*appsv1.PodManager)
	if !ok || Partial(pm) {
		return raw, nil
	}
	delete(pm.Annotations, corev1.LastAppliedConfigAnnotation)
	delete(pm.Annotations, leftOut)
	size := TemplateSize(pm) + bytesOfMeta(pm)
	if size <= Large {
		return raw, nil
	}
	pm.Spec.Template, pm.Spec.VolumeClaimTemplates = nil, nil
	if all := strings.Join(pm.Finalizers, ","); len(all) > 1024 {
		pm.Finalizers = append(ourFinalizers(pm.Finalizers), hashOf([]byte(all))) // a change of them wakes it
	}
	pm.OwnerReferences = controllers(pm.OwnerReferences)
	maps.DeleteFunc(pm.Labels, func(key, _ string) bool { return key != appsv1.LabelShard })
	pm.Annotations = Asking(pm.Annotations)
	leaveOut(pm, fmt.Sprint(size))
	return pm, nil
}

// Asking are the annotations of an owner that the planner reads. A change of them wakes it, so the
// cache has them in any case; a long one shows only that it changed.
func Asking(all map[string]string) map[string]string {
	kept := map[string]string{}
	for _, key := range []string{appsv1.AnnotationPin, appsv1.AnnotationRestart, appsv1.AnnotationRebalance, appsv1.AnnotationTakeOver} {
		if value, ok := all[key]; ok {
			kept[key] = short(value)
		}
	}
	return kept
}

// short is a value or, where it is long, its hash.
func short(value string) string {
	if len(value) > 256 {
		return hashOf([]byte(value))
	}
	return value
}

// TemplateSize is how large the pod template and the claim templates are together, as JSON.
func TemplateSize(pm *appsv1.PodManager) int {
	raw, _ := json.Marshal([]any{pm.Spec.Template, pm.Spec.VolumeClaimTemplates}) // they were decoded from JSON a moment ago
	return len(raw)
}

func bytesOf(texts map[string]string) (n int) {
	for key, value := range texts {
		n += len(key) + len(value)
	}
	return n
}

// SlimRevision is the transform of ControllerRevisions.
func SlimRevision(raw any) (any, error) {
	r, ok := raw.(*kappsv1.ControllerRevision)
	if !ok || Partial(r) {
		return raw, nil
	}
	delete(r.Annotations, leftOut)
	if len(r.Data.Raw)+bytesOfMeta(r) <= Large {
		return raw, nil
	}
	hash := hashOf(r.Data.Raw)
	r.Data, r.Annotations, r.Labels, r.Finalizers = runtime.RawExtension{}, nil, ourLabels(r.Labels), nil
	r.OwnerReferences = controllers(r.OwnerReferences)
	leaveOut(r, hash)
	return r, nil
}

// SlimClaim is the transform of PersistentVolumeClaims: of the annotations it keeps those that
// describeClaim reads.
func SlimClaim(raw any) (any, error) {
	claim, ok := raw.(*corev1.PersistentVolumeClaim)
	if !ok {
		return raw, nil
	}
	kept := map[string]string{}
	for _, key := range []string{appsv1.AnnotationCondemnedBy, appsv1.AnnotationSurge, appsv1.AnnotationFound} {
		if value, ok := claim.Annotations[key]; ok {
			kept[key] = short(value)
		}
	}
	claim.Annotations, claim.Spec.Selector = nil, nil
	_, _ = SlimMeta(claim)
	claim.Annotations = kept
	return claim, nil
}

// SlimMeta is the transform of kinds with a small spec: it leaves out what is large in the metadata.
func SlimMeta(raw any) (any, error) {
	obj, ok := raw.(client.Object)
	if !ok || bytesOfMeta(obj) <= Large {
		return raw, nil
	}
	obj.SetLabels(ourLabels(obj.GetLabels()))
	obj.SetAnnotations(nil)
	obj.SetFinalizers(ourFinalizers(obj.GetFinalizers()))
	obj.SetOwnerReferences(controllers(obj.GetOwnerReferences()))
	return raw, nil
}

// bytesOfMeta is how much users wrote into an object's metadata.
func bytesOfMeta(obj client.Object) int {
	return bytesOf(obj.GetLabels()) + bytesOf(obj.GetAnnotations()) + bytesOfList(obj.GetFinalizers()) + bytesOfOwners(obj.GetOwnerReferences())
}

func bytesOfList(texts []string) (n int) {
	for _, text := range texts {
		n += len(text)
	}
	return n
}

func bytesOfOwners(owners []metav1.OwnerReference) (n int) {
	for i := range owners {
		o := &owners[i]
		n += len(o.APIVersion) + len(o.Kind) + len(o.Name) + len(o.UID)
	}
	return n
}

// ourLabels are those labels of any object that the operator reads.
func ourLabels(all map[string]string) map[string]string {
	kept := map[string]string{}
	for _, key := range []string{
		appsv1.LabelName, appsv1.LabelUID, appsv1.LabelRevision, appsv1.LabelSlot, appsv1.LabelDelete, appsv1.LabelHoldDelete, appsv1.LabelHoldUpdate,
		appsv1.LabelWanted, appsv1.LabelShard, appsv1.LabelApp, batchv1alpha1.LabelName, batchv1alpha1.LabelUID, testv1alpha1.LabelName,
		kappsv1.DefaultDeploymentUniqueLabelKey, podrender.LabelManagedBy,
	} {
		if value, ok := all[key]; ok {
			kept[key] = value
		}
	}
	return kept
}

// ourFinalizers are those finalizers of an owner that the operator reads.
func ourFinalizers(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(f string) bool {
		return f != appsv1.Finalizer && f != metav1.FinalizerOrphanDependents && f != metav1.FinalizerDeleteDependents
	})
}

// controllers are those owners that the operator reads. An object has one controller at most; the API
// server takes a name of any length for it.
func controllers(all []metav1.OwnerReference) (kept []metav1.OwnerReference) {
	for _, o := range all {
		if o.Controller != nil && *o.Controller {
			o.APIVersion, o.Kind, o.Name, o.UID = short(o.APIVersion), short(o.Kind), short(o.Name), types.UID(short(string(o.UID)))
			kept = append(kept, o)
		}
	}
	return kept
}

func leaveOut(obj client.Object, what string) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[leftOut] = secret + what
	obj.SetAnnotations(annotations)
}

// Partial reports whether the cache has only a part of the object.
func Partial(obj client.Object) bool { return strings.HasPrefix(obj.GetAnnotations()[leftOut], secret) }

func hashOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return base64.RawStdEncoding.EncodeToString(sum[:])
}

// means is podrender.Means for a revision that may be in the cache without its data. What is
// left out is compared by its hash, and where that differs by its meaning, once: the
// data of a revision never changes.
func (o *Observer) means(ctx context.Context, r *kappsv1.ControllerRevision, f desired.Fleet, encoded []byte) (bool, error) {
	if !Partial(r) {
		return podrender.Means(r, f.Template, encoded)
	}
	stored, hash := strings.TrimPrefix(r.Annotations[leftOut], secret), hashOf(encoded)
	if stored == hash {
		return true, nil
	}
	pair := comparison{r.UID, stored, hash}
	if equal, known := o.compared.find(pair); known {
		return equal, nil
	}
	whole, err := o.whole(ctx, r)
	if err != nil {
		return false, err
	}
	equal, err := podrender.Means(whole, f.Template, encoded)
	if err == nil {
		o.compared.keep(pair, equal)
	}
	return equal, err
}

// whole is a stored revision with its data.
func (o *Observer) whole(ctx context.Context, r *kappsv1.ControllerRevision) (*kappsv1.ControllerRevision, error) {
	if !Partial(r) {
		return r, nil
	}
	whole := &kappsv1.ControllerRevision{}
	if err := o.live.Get(ctx, client.ObjectKeyFromObject(r), whole); err != nil {
		return nil, fmt.Errorf("read revision %s: %w", client.ObjectKeyFromObject(r), err)
	}
	if whole.UID != r.UID {
		return nil, fmt.Errorf("revision %s is another one than a moment ago", client.ObjectKeyFromObject(r))
	}
	return whole, nil
}

// comparison is of a stored revision with a template.
type comparison struct {
	revision       types.UID
	stored, wanted string
}

// comparisons remember how large revisions compare with large templates.
type comparisons struct {
	mu    sync.Mutex
	equal map[comparison]bool
}

// maxComparisons bounds them. Beyond it all are forgotten, and made again when they are needed.
const maxComparisons = 4096

func (c *comparisons) find(of comparison) (equal, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	equal, known = c.equal[of]
	return equal, known
}

func (c *comparisons) keep(of comparison, equal bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.equal == nil || len(c.equal) >= maxComparisons {
		c.equal = map[comparison]bool{}
	}
	c.equal[of] = equal
}
