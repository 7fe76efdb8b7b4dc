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

// Package evictionscope keeps the webhook for evictions away from where it has
// nothing to say. Which pod an eviction is for, and whose that is, can be told only
// by asking the operator. So the API server asks in the namespaces that have a
// PodManager with disruption.policy SurgeFirst, and in no others: this controller
// writes them into the webhook's namespaceSelector. The API server filters the
// PodManagers for it and sends their metadata only, so it costs nothing where there
// are none, and it sees those of all shards.
//
// A namespace joins at once, because its evictions have to be asked about, and leaves
// late: a user who switches a policy on and off has the API servers read the
// configuration anew once and not each time. Being asked in vain costs little.
//
// What is written follows from what is there, so that another client's change is
// undone, and at rest nothing is written.
package evictionscope

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/controller/crdgate"
)

// Name is the controller's.
const Name = "evictionscope"

// MaxNamespaces is how many namespaces are named. Where there are more, the webhook
// is asked about the evictions of all.
const MaxNamespaces = 200

const (
	// leavesAfter is for how long a namespace stays that has no such PodManager
	// any more.
	leavesAfter = time.Minute
	// writesEvery is the least time between two writes.
	writesEvery = time.Second
)

// policyField is a selectable field of the CRD.
const policyField = "spec.disruption.policy"

// Keeper writes the namespaceSelector of the webhook for evictions.
type Keeper struct {
	cache                  cache.Cache
	live                   client.Reader
	writer                 client.Writer
	configuration, webhook string
	gate                   *crdgate.Gate
	clock                  clock.PassiveClock

	// left is since when a namespace is named for nothing, and written is when
	// the configuration was. Only Reconcile, of which one runs at a time, uses them.
	left    map[string]time.Time
	written time.Time
}

// New makes a Keeper. The cache is one of Cached, which is its own because a cache
// knows a kind by one selector. live reads past it. configuration is the name of the
// ValidatingWebhookConfiguration, and webhook is that of the webhook in it.
func New(cached cache.Cache, live client.Reader, writer client.Writer, configuration, webhook string, gate *crdgate.Gate, clock clock.PassiveClock) *Keeper {
	return &Keeper{
		cache: cached, live: live, writer: writer, configuration: configuration, webhook: webhook, gate: gate, clock: clock, left: map[string]time.Time{},
	}
}

// Cached are the objects in its cache.
func Cached(configuration string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		fleets(): {
			Field:     fields.OneTermEqualSelector(policyField, string(appsv1.DisruptionSurgeFirst)),
			Transform: slim,
		},
		configurations(): {Field: fields.OneTermEqualSelector(metav1.ObjectNameField, configuration), Transform: slim},
	}
}

func fleets() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(appsv1.GroupVersion.WithKind("PodManager"))
	return m
}

func configurations() *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"))
	return m
}

// slim drops what is not read, which is everything but the names.
func slim(raw any) (any, error) {
	if obj, ok := raw.(client.Object); ok {
		obj.SetAnnotations(nil)
		obj.SetManagedFields(nil)
		obj.SetLabels(nil)
		obj.SetFinalizers(nil)
	}
	return raw, nil
}

// SetupWithManager watches the PodManagers that come and go, and the configuration.
func (k *Keeper) SetupWithManager(mgr ctrl.Manager) error {
	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: k.configuration}}}
	})
	comesOrGoes := predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
	return builder.ControllerManagedBy(mgr).
		Named(Name).
		WatchesRawSource(k.gate.Form(k.cache, fleets(), all, comesOrGoes)).
		WatchesRawSource(source.Kind(k.cache, client.Object(configurations()), all)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1}).
		Complete(k)
}

// Reconcile compares the namespaceSelector with the namespaces and corrects it.
func (k *Keeper) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	if err := k.live.Get(ctx, req.NamespacedName, &configuration); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	n := slices.IndexFunc(configuration.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == k.webhook })
	if n < 0 {
		return reconcile.Result{}, nil // an older installation
	}
	needed, err := k.namespaces(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	now := k.clock.Now()
	namespaces, wait := k.lasting(needed, named(configuration.Webhooks[n].NamespaceSelector), now)
	want := Selector(namespaces)
	if equality.Semantic.DeepEqual(configuration.Webhooks[n].NamespaceSelector, want) {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if early := k.written.Add(writesEvery).Sub(now); early > 0 {
		return reconcile.Result{RequeueAfter: early}, nil
	}
	patch, err := json.Marshal([]map[string]any{
		// The position holds for the version that was read.
		{"op": "add", "path": "/metadata/resourceVersion", "value": configuration.ResourceVersion},
		{"op": "add", "path": "/webhooks/" + strconv.Itoa(n) + "/namespaceSelector", "value": want},
	})
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("encode the namespaces of the webhook for evictions: %w", err)
	}
	k.written = now
	err = k.writer.Patch(ctx, &configuration, client.RawPatch(types.JSONPatchType, patch))
	if apierrors.IsConflict(err) {
		return reconcile.Result{}, nil // the watch shows what was written meanwhile
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("tell the API server where to ask about evictions: %w", err)
	}
	ctrl.LoggerFrom(ctx).Info("Told the API server where to ask about evictions", "namespaces", len(namespaces), "everywhere", len(namespaces) > MaxNamespaces)
	return reconcile.Result{RequeueAfter: wait}, nil
}

// lasting are the needed namespaces and those of the named ones that were needed a
// short while ago, sorted, and how long it is until the next of these leaves.
func (k *Keeper) lasting(needed, named []string, now time.Time) (namespaces []string, wait time.Duration) {
	namespaces = slices.Clone(needed)
	left := map[string]time.Time{}
	for _, name := range named {
		if slices.Contains(needed, name) {
			continue
		}
		since, known := k.left[name]
		if !known {
			since = now
		}
		left[name] = since
		if stays := since.Add(leavesAfter).Sub(now); stays > 0 {
			namespaces = append(namespaces, name)
			if wait == 0 || stays < wait {
				wait = stays
			}
		}
	}
	k.left = left
	slices.Sort(namespaces)
	return slices.Compact(namespaces), wait
}

// named are the namespaces in a selector as Selector makes them, and none of any other.
func named(selector *metav1.LabelSelector) []string {
	if selector == nil || len(selector.MatchExpressions) != 1 || len(selector.MatchLabels) > 0 {
		return nil
	}
	r := selector.MatchExpressions[0]
	if r.Key != corev1.LabelMetadataName || r.Operator != metav1.LabelSelectorOpIn {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(r.Values), func(name string) bool { return name == "" })
}

// namespaces are those with a PodManager that surges first, sorted.
func (k *Keeper) namespaces(ctx context.Context) ([]string, error) {
	if !k.gate.IsOpen() {
		return nil, nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.GroupVersion.WithKind("PodManagerList"))
	if err := k.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the PodManagers that surge first: %w", err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Namespace)
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Selector selects namespaces by name: none of them where there are none, and all
// where there are too many to name.
func Selector(namespaces []string) *metav1.LabelSelector {
	if len(namespaces) > MaxNamespaces {
		return &metav1.LabelSelector{}
	}
	if len(namespaces) == 0 {
		namespaces = []string{""} // no namespace has an empty name
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
		Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: namespaces,
	}}}
}
