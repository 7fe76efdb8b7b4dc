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

// Package shardlabels keeps the label that says in which shard an object is.
//
// A PodManager gets it when it is admitted, and everything the operator makes
// for it inherits it. An object with none, or a wrong one, was made before there
// were shards, while the webhook was down, or was edited by hand. This package
// corrects it, in an order that matters: the holder of a shard sees only objects
// with its label, and would miss the pods of an owner that got the label before
// they did, and make new ones. So an owner comes last.
//
// The holder of a wrong shard sees the objects in it. The holder of shard 0
// watches for objects in none, as metadata and filtered by the API server, so
// that this costs nothing when there are none.
package shardlabels

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/podrender"
	"github.com/mycompany/pod-operator/internal/shard"
)

// +kubebuilder:rbac:groups=apps.mycompany.com,resources=podmanagers,verbs=list;watch;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch;patch
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=list;watch;patch

// The kinds that carry the label.
var (
	owners   = appsv1.GroupVersion.WithKind("PodManager")
	children = []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Pod"),
		kappsv1.SchemeGroupVersion.WithKind("ControllerRevision"),
		corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"),
	}
)

// Request is an object to correct.
type Request struct {
	types.NamespacedName
	Kind schema.GroupVersionKind
}

// Keeper corrects labels.
type Keeper struct {
	writer client.Writer
	live   client.Reader
	shards int
}

// New makes a Keeper. live reads past the cache.
func New(writer client.Writer, live client.Reader, shards int) *Keeper {
	return &Keeper{writer: writer, live: live, shards: shards}
}

// In selects what is in a shard.
func In(n int) labels.Selector {
	return labels.SelectorFromSet(labels.Set{appsv1.LabelShard: strconv.Itoa(n)})
}

// Want is the label that an object should carry; false if it is not for us to
// decide.
func Want(obj client.Object, kind schema.GroupVersionKind, shards int) (string, bool) {
	name := obj.GetLabels()[appsv1.LabelName]
	if kind == owners {
		name = obj.GetName()
	} else if ref := metav1.GetControllerOfNoCopy(obj); ref != nil {
		if gv, err := schema.ParseGroupVersion(ref.APIVersion); err != nil || gv.Group != owners.Group || ref.Kind != owners.Kind {
			return "", false
		}
		name = ref.Name
	}
	if name == "" {
		return "", false
	}
	return strconv.Itoa(shard.Of(obj.GetNamespace(), name, shards)), true
}

// Mine reports whether an owner is in the shard that its label says.
func (k *Keeper) Mine(owner client.Object) bool {
	want, ok := Want(owner, owners, k.shards)
	return ok && owner.GetLabels()[appsv1.LabelShard] == want
}

// SetupWithManager watches what the manager's cache holds, which is one shard,
// and what is in none of them where strays is not nil.
func (k *Keeper) SetupWithManager(mgr ctrl.Manager, strays cache.Cache) error {
	b := builder.TypedControllerManagedBy[Request](mgr).Named("shardlabels")
	for kind, obj := range map[schema.GroupVersionKind]client.Object{
		owners: &appsv1.PodManager{}, children[0]: &corev1.Pod{},
		children[1]: &kappsv1.ControllerRevision{}, children[2]: &corev1.PersistentVolumeClaim{},
	} {
		b = b.WatchesRawSource(source.TypedKind(mgr.GetCache(), obj, k.enqueue(kind), k.wrong(kind)))
		if strays != nil {
			b = b.WatchesRawSource(source.TypedKind(strays, client.Object(Metadata(kind)), k.enqueue(kind), k.wrong(kind)))
		}
	}
	return b.WithOptions(controller.TypedOptions[Request]{MaxConcurrentReconciles: 4, NeedLeaderElection: ptr.To(false)}).Complete(k)
}

// Metadata is an object of a kind as far as this package reads it.
func Metadata(kind schema.GroupVersionKind) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(kind)
	return m
}

// Strays selects, for each kind, what is in none of the shards.
func Strays(shards int) (map[client.Object]cache.ByObject, error) {
	var all []string
	for n := range shards {
		all = append(all, strconv.Itoa(n))
	}
	nowhere, err := labels.NewRequirement(appsv1.LabelShard, selection.NotIn, all)
	if err != nil {
		return nil, fmt.Errorf("select what is in no shard: %w", err)
	}
	named, err := labels.NewRequirement(appsv1.LabelName, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("select what belongs to a PodManager: %w", err)
	}
	ours, err := labels.NewRequirement(podrender.LabelManagedBy, selection.Equals, []string{podrender.ManagedBy})
	if err != nil {
		return nil, fmt.Errorf("select what is ours: %w", err)
	}
	return map[client.Object]cache.ByObject{
		Metadata(owners):      {Label: labels.NewSelector().Add(*nowhere)},
		Metadata(children[0]): {Label: labels.NewSelector().Add(*named, *nowhere)},
		Metadata(children[1]): {Label: labels.NewSelector().Add(*named, *ours, *nowhere)},
		Metadata(children[2]): {Label: labels.NewSelector().Add(*named, *ours, *nowhere)},
	}, nil
}

func (k *Keeper) enqueue(kind schema.GroupVersionKind) handler.TypedEventHandler[client.Object, Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, obj client.Object) []Request {
		return []Request{{NamespacedName: client.ObjectKeyFromObject(obj), Kind: kind}}
	})
}

func (k *Keeper) wrong(kind schema.GroupVersionKind) predicate.TypedPredicate[client.Object] {
	return predicate.NewTypedPredicateFuncs(func(obj client.Object) bool {
		want, ok := Want(obj, kind, k.shards)
		return ok && obj.GetLabels()[appsv1.LabelShard] != want
	})
}

// Reconcile corrects one object, and before an owner all of its objects.
func (k *Keeper) Reconcile(ctx context.Context, req Request) (reconcile.Result, error) {
	if req.Kind == owners {
		for _, kind := range children {
			if err := k.fixChildren(ctx, req, kind); err != nil {
				return reconcile.Result{}, err
			}
		}
	}
	obj := Metadata(req.Kind)
	if err := k.live.Get(ctx, req.NamespacedName, obj); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	return reconcile.Result{}, k.fix(ctx, obj, req.Kind)
}

func (k *Keeper) fixChildren(ctx context.Context, owner Request, kind schema.GroupVersionKind) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err := k.live.List(ctx, list, client.InNamespace(owner.Namespace), client.MatchingLabels{appsv1.LabelName: owner.Name})
	if err != nil {
		return fmt.Errorf("list what belongs to %s: %w", owner, err)
	}
	for i := range list.Items {
		if err := k.fix(ctx, &list.Items[i], kind); err != nil {
			return err
		}
	}
	return nil
}

// fix patches one object. A pod that is about to be gone is left alone: there
// is nothing left to see of it.
func (k *Keeper) fix(ctx context.Context, obj *metav1.PartialObjectMetadata, kind schema.GroupVersionKind) error {
	want, ok := Want(obj, kind, k.shards)
	if !ok || obj.Labels[appsv1.LabelShard] == want || going(obj) {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": obj.UID, "labels": map[string]string{appsv1.LabelShard: want},
	}})
	if err != nil {
		return fmt.Errorf("encode the label of %s %s: %w", kind.Kind, client.ObjectKeyFromObject(obj), err)
	}
	obj.SetGroupVersionKind(kind)
	err = k.writer.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("label %s %s: %w", kind.Kind, client.ObjectKeyFromObject(obj), err)
	}
	return nil
}

func going(obj client.Object) bool {
	grace := obj.GetDeletionGracePeriodSeconds()
	return obj.GetDeletionTimestamp() != nil && grace != nil && *grace == 0 && !slices.ContainsFunc(obj.GetFinalizers(), func(f string) bool { return f != "" })
}
