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

package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kjson "sigs.k8s.io/json"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/view"
)

// page is how many objects are read at once.
const page = 500

// kind is one whose objects tenants write.
type kind struct {
	gvk      schema.GroupVersionKind
	resource string
	// empty is an object to decode into.
	empty func() client.Object
}

func kinds() []kind {
	return []kind{
		{appsv1.GroupVersion.WithKind("PodManager"), "podmanagers", func() client.Object { return &appsv1.PodManager{} }},
		{batchv1alpha1.GroupVersion.WithKind("ImoocPod"), "imoocpods", func() client.Object { return &batchv1alpha1.ImoocPod{} }},
		{testv1alpha1.GroupVersion.WithKind("HelloWorld"), "helloworlds", func() client.Object { return &testv1alpha1.HelloWorld{} }},
		{collectorv1.GroupVersion.WithKind("Collector"), "collectors", func() client.Object { return &collectorv1.Collector{} }},
	}
}

// work decodes every object that this person may read, as the operator does,
// and looks for PodManagers that are not looked at: the proof that no operator
// works, wherever it may run.
func (c *checkup) work(ctx context.Context) []Finding {
	var findings []Finding
	var managers []appsv1.PodManager
	// seen: PodManagers could be listed in some namespace.
	count, listed, seen, aside := 0, false, false, map[string]bool{}
	for _, k := range kinds() {
		items, closed, err := c.everywhere(ctx, k.gvk)
		if meta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
			continue // its CRD is not installed, which is said elsewhere
		}
		switch {
		case apierrors.IsForbidden(err):
			findings = append(findings, note("objects", "you may not list %s, so they were not checked", k.resource))
			continue
		case err != nil:
			findings = append(findings, note("objects", "the %s could not be listed: %v", k.resource, cause(err)))
			continue
		}
		open := len(items) > 0 || len(closed) == 0
		listed, seen = listed || open, seen || open && k.gvk.Kind == "PodManager"
		for _, namespace := range closed {
			aside[namespace] = true
		}
		decoded, bad := decode(k, items)
		findings, count = append(findings, bad...), count+len(decoded)
		for _, object := range decoded {
			if pm, ok := object.(*appsv1.PodManager); ok {
				managers = append(managers, *pm)
			}
		}
	}
	if listed {
		findings = append(findings, ok("objects", "%s can be decoded", view.Count(count, "object")))
	}
	if len(aside) > 0 {
		findings = append(findings, note("objects", "%s may hold more, which you may not read", view.Count(len(aside), "namespace")))
	}
	if !seen {
		return findings
	}
	findings = append(findings, workFindings(managers, c.now())...)
	return append(findings, c.cutDeadlines(ctx, managers)...)
}

// decode decodes objects one by one: one that cannot be decoded says nothing
// against the others.
func decode(k kind, items []unstructured.Unstructured) (decoded []client.Object, findings []Finding) {
	for i := range items {
		object := k.empty()
		raw, err := json.Marshal(items[i].Object)
		if err == nil {
			err = kjson.UnmarshalCaseSensitivePreserveInts(raw, object)
		}
		if err == nil {
			decoded = append(decoded, object)
			continue
		}
		namespace, name := items[i].GetNamespace(), items[i].GetName()
		findings = append(findings, todo("objects", fmt.Sprintf("%s %s/%s cannot be decoded, so the operator leaves it aside: %v", k.gvk.Kind, namespace, name, err),
			fmt.Sprintf("kubectl edit %s.%s %s -n %s, and correct the field that the message names", k.resource, k.gvk.Group, name, namespace)))
	}
	return decoded, findings
}

// everywhere lists the objects of a kind in all namespaces, or in each that
// this user may read; closed are the others. For a user who may not list
// namespaces, it reads only their own.
func (c *checkup) everywhere(ctx context.Context, gvk schema.GroupVersionKind) (items []unstructured.Unstructured, closed []string, err error) {
	items, err = c.list(ctx, gvk, "")
	if !apierrors.IsForbidden(err) {
		return items, nil, err
	}
	var namespaces corev1.NamespaceList
	if c.client.List(ctx, &namespaces) != nil {
		items, err = c.list(ctx, gvk, c.user)
		return items, nil, err
	}
	for i := range namespaces.Items {
		some, err := c.list(ctx, gvk, namespaces.Items[i].Name)
		switch {
		case apierrors.IsForbidden(err):
			closed = append(closed, namespaces.Items[i].Name)
		case err != nil:
			return nil, nil, err
		}
		items = append(items, some...)
	}
	return items, closed, nil
}

// list reads objects without decoding them, page by page.
func (c *checkup) list(ctx context.Context, gvk schema.GroupVersionKind, namespace string) (items []unstructured.Unstructured, err error) {
	next := ""
	for {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		if err := c.client.List(ctx, list, client.InNamespace(namespace), client.Limit(page), client.Continue(next)); err != nil {
			return nil, err
		}
		items = append(items, list.Items...)
		if next = list.GetContinue(); next == "" {
			return items, nil
		}
	}
}

// versions reads a list in every version that the API server serves: a
// conversion that does not work shows only there.
func (c *checkup) versions(ctx context.Context) []Finding {
	d, err := discovery.NewDiscoveryClientForConfigAndClient(c.config, c.http)
	if err != nil {
		return []Finding{note("versions", "%v", err)}
	}
	groups, err := d.ServerGroupsWithContext(ctx)
	if err != nil {
		return []Finding{note("versions", "the API server does not say which versions it serves: %v", cause(err))}
	}
	var served []string
	for i := range groups.Groups {
		if groups.Groups[i].Name != group {
			continue
		}
		for _, v := range groups.Groups[i].Versions {
			served = append(served, v.Version)
		}
	}
	return c.readVersions(ctx, served)
}

func (c *checkup) readVersions(ctx context.Context, served []string) []Finding {
	var findings []Finding
	var readable []string
	for _, version := range served {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: "PodManagerList"})
		err := c.client.List(ctx, list, client.Limit(1))
		if apierrors.IsForbidden(err) {
			err = c.client.List(ctx, list, client.Limit(1), client.InNamespace(c.user))
		}
		switch {
		case err == nil:
			readable = append(readable, version)
		case errors.Is(err, context.DeadlineExceeded):
			findings = append(findings, todo("versions", fmt.Sprintf("PodManagers cannot be read as %s: %v", version, cause(err)), hangsAdvice))
		case apierrors.IsForbidden(err):
			return []Finding{note("versions", "you may not list PodManagers, so they were not read in every version")}
		default:
			findings = append(findings, todo("versions", fmt.Sprintf("PodManagers cannot be read as %s: %v", version, cause(err)),
				"if the message names a webhook, the operator has to run; else "+installAdvice))
		}
	}
	if len(readable) > 0 {
		slices.Sort(readable)
		findings = append(findings, ok("versions", "PodManagers can be read as %s", strings.Join(readable, " and ")))
	}
	return findings
}
