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
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// kinds answers questions about the kinds of a scheme. It is shared by all runs of an
// exploration.
type kinds struct {
	scheme  *runtime.Scheme
	cluster map[schema.GroupKind]bool
	known   map[reflect.Type]schema.GroupKind
	mapper  *meta.DefaultRESTMapper
}

func newKinds(scheme *runtime.Scheme, cluster []client.Object) *kinds {
	k := &kinds{
		scheme: scheme, cluster: map[schema.GroupKind]bool{}, known: map[reflect.Type]schema.GroupKind{},
		mapper: meta.NewDefaultRESTMapper(nil),
	}
	for _, obj := range cluster {
		k.cluster[k.of(obj)] = true
	}
	for gvk := range scheme.AllKnownTypes() {
		scope := meta.RESTScopeNamespace
		if k.cluster[gvk.GroupKind()] {
			scope = meta.RESTScopeRoot
		}
		k.mapper.Add(gvk, scope)
	}
	return k
}

func (k *kinds) of(obj runtime.Object) schema.GroupKind {
	t := reflect.TypeOf(obj)
	if kind, ok := k.known[t]; ok {
		return kind
	}
	gvk, err := apiutil.GVKForObject(obj, k.scheme)
	if err != nil {
		panic(fmt.Sprintf("the scheme of the world has no %T: %v", obj, err))
	}
	k.known[t] = gvk.GroupKind()
	return k.known[t]
}

func (k *kinds) ofList(list client.ObjectList) schema.GroupKind {
	kind := k.of(list)
	return schema.GroupKind{Group: kind.Group, Kind: strings.TrimSuffix(kind.Kind, "List")}
}

func (k *kinds) key(obj client.Object) objectKey {
	return objectKey{kind: k.of(obj), namespace: obj.GetNamespace(), name: obj.GetName()}
}

func (k *kinds) namespaced(obj runtime.Object) bool { return !k.cluster[k.of(obj)] }

func (k *kinds) resource(kind schema.GroupKind) schema.GroupResource {
	return schema.GroupResource{Group: kind.Group, Resource: strings.ToLower(kind.Kind) + "s"}
}
