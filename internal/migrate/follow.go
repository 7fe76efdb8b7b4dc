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

package migrate

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

var managerRef = autoscalingv2.CrossVersionObjectReference{APIVersion: appsv1.GroupVersion.String(), Kind: "PodManager"}

// ref is the workload as a HorizontalPodAutoscaler names it.
func (w *Workload) ref() autoscalingv2.CrossVersionObjectReference {
	return autoscalingv2.CrossVersionObjectReference{APIVersion: w.Kind.GroupVersion().String(), Kind: w.Kind.Kind, Name: w.Name}
}

// Autoscalers are the HorizontalPodAutoscalers of the workload.
func Autoscalers(ctx context.Context, c client.Client, w *Workload) ([]autoscalingv2.HorizontalPodAutoscaler, error) {
	return autoscalersOf(ctx, c, w.Namespace, w.ref())
}

func autoscalersOf(ctx context.Context, c client.Client, namespace string, ref autoscalingv2.CrossVersionObjectReference) (
	[]autoscalingv2.HorizontalPodAutoscaler, error,
) {
	var list autoscalingv2.HorizontalPodAutoscalerList
	if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the HorizontalPodAutoscalers: %w", err)
	}
	var found []autoscalingv2.HorizontalPodAutoscaler
	for i := range list.Items {
		target := list.Items[i].Spec.ScaleTargetRef
		group := schema.FromAPIVersionAndKind(target.APIVersion, target.Kind).GroupKind()
		if target.Name == ref.Name && group == schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() {
			found = append(found, list.Items[i])
		}
	}
	return found, nil
}

// follow has the autoscalers of the workload scale the PodManager.
func (r *run) follow(ctx context.Context) error {
	if r.Kind == BarePods {
		return nil
	}
	to := managerRef
	to.Name = r.Name
	return r.redirect(ctx, r.ref(), to)
}

// redirect has autoscalers scale another object. Their controller writes to them, too.
func (r *run) redirect(ctx context.Context, from, to autoscalingv2.CrossVersionObjectReference) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error { return r.redirectAll(ctx, from, to) })
}

func (r *run) redirectAll(ctx context.Context, from, to autoscalingv2.CrossVersionObjectReference) error {
	found, err := autoscalersOf(ctx, r.Client, r.Namespace, from)
	if err != nil {
		return err
	}
	for i := range found {
		hpa := &found[i]
		before := client.MergeFromWithOptions(hpa.DeepCopy(), client.MergeFromWithOptimisticLock{})
		hpa.Spec.ScaleTargetRef = to
		if err := r.Client.Patch(ctx, hpa, before); err != nil {
			return fmt.Errorf("direct HorizontalPodAutoscaler %s to %s %s: %w", hpa.Name, to.Kind, to.Name, err)
		}
		r.Say("horizontalpodautoscaler/%s scales %s/%s", hpa.Name, strings.ToLower(to.Kind), to.Name)
	}
	return nil
}

// Others are objects that name the workload and are not changed: a person has to.
func Others(ctx context.Context, c client.Client, w *Workload) []string {
	to := managerRef
	to.Name = w.Name
	return append(naming(ctx, c, w.Namespace, w.ref(), to), services(ctx, c, w)...)
}

// naming are the autoscalers of others that name an object, and are to name another.
func naming(ctx context.Context, c client.Client, namespace string, from, to autoscalingv2.CrossVersionObjectReference) (notes []string) {
	for _, other := range []struct {
		gvk  schema.GroupVersionKind
		path []string
	}{
		{schema.GroupVersionKind{Group: "autoscaling.k8s.io", Version: "v1", Kind: "VerticalPodAutoscaler"}, []string{"spec", "targetRef"}},
		{schema.GroupVersionKind{Group: "keda.sh", Version: "v1alpha1", Kind: "ScaledObject"}, []string{"spec", "scaleTargetRef"}},
	} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(other.gvk)
		if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
			continue // not installed, or not ours to see
		}
		for i := range list.Items {
			target, _, _ := unstructured.NestedStringMap(list.Items[i].Object, other.path...)
			kind := cmp.Or(target["kind"], Deployments.Kind) // KEDA's default
			if target["name"] == from.Name && kind == from.Kind {
				notes = append(notes, fmt.Sprintf("%s %s names it in %s: change that to kind %s, apiVersion %s",
					other.gvk.Kind, list.Items[i].GetName(), strings.Join(other.path, "."), to.Kind, to.APIVersion))
			}
		}
	}
	return notes
}

// services are Services that select by a label that only the workload's own
// controller puts on pods.
func services(ctx context.Context, c client.Client, w *Workload) []string {
	var list corev1.ServiceList
	if err := c.List(ctx, &list, client.InNamespace(w.Namespace)); err != nil {
		return nil
	}
	var notes []string
	for i := range list.Items {
		for key := range list.Items[i].Spec.Selector {
			_, kept := w.Spec.Template.Labels[key]
			_, own := w.PodLabels[key]
			if own && !kept || key == "statefulset.kubernetes.io/pod-name" && w.selects(list.Items[i].Spec.Selector[key]) {
				notes = append(notes, fmt.Sprintf("Service %s selects by the label %s, which pods that are made from now on do not have",
					list.Items[i].Name, key))
			}
		}
	}
	return notes
}

func (w *Workload) selects(pod string) bool {
	rest, ok := strings.CutPrefix(pod, w.Name+"-")
	_, err := strconv.Atoi(rest)
	return ok && err == nil && w.Kind.Ordinal
}

// listClaims lists the claims of the workload's pods.
func (r *run) listClaims(ctx context.Context) ([]client.Object, error) {
	if len(r.Spec.VolumeClaimTemplates) == 0 {
		return nil, nil
	}
	var list corev1.PersistentVolumeClaimList
	if err := r.Client.List(ctx, &list, client.InNamespace(r.Namespace)); err != nil {
		return nil, fmt.Errorf("list the volume claims: %w", err)
	}
	var found []client.Object
	for i := range list.Items {
		for _, template := range r.Spec.VolumeClaimTemplates {
			rest, ok := strings.CutPrefix(list.Items[i].Name, template.Name+"-"+r.Name+"-")
			if _, err := strconv.Atoi(rest); ok && err == nil {
				found = append(found, &list.Items[i])
			}
		}
	}
	return found, nil
}
