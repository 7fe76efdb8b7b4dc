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

// Command restmapper translates between what people write (kinds, short names)
// and what requests need (resources, paths).
//
// Look at the last lines: a name may be served by more than one group, and a
// kind that is not served is an error of its own, meta.IsNoMatchError.
package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

func main() { demo.Main(run) }

func run(_ context.Context, cfg *rest.Config, _ string) error {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return err
	}
	cached := memory.NewMemCacheClient(client)
	// The deferred mapper discovers when it is first asked, and again when it
	// does not find a kind. The expander knows the short names.
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, func(warning string) { fmt.Println("warning:", warning) })

	for _, kind := range []schema.GroupKind{
		{Kind: "Pod"}, {Kind: "Node"}, {Group: "apps", Kind: "Deployment"}, {Group: "apps.mycompany.com", Kind: "PodManager"},
	} {
		mapping, err := mapper.RESTMapping(kind)
		if err != nil {
			return fmt.Errorf("map kind %s: %w", kind, err)
		}
		fmt.Printf("kind %-29s -> %-30s -> %s\n", kind, mapping.Resource.GroupResource(), path(mapping))
	}
	for _, name := range []string{"po", "deploy", "pm", "podmanagers", "helloworld"} {
		resource, err := mapper.ResourceFor(schema.GroupVersionResource{Resource: name})
		if err != nil {
			return fmt.Errorf("map resource %s: %w", name, err)
		}
		kind, err := mapper.KindFor(resource)
		if err != nil {
			return fmt.Errorf("map resource %s: %w", name, err)
		}
		fmt.Printf("name %-12s -> %s, kind %s\n", name, resource.GroupResource(), kind.Kind)
	}
	all, err := mapper.ResourcesFor(schema.GroupVersionResource{Resource: "events"})
	if err != nil {
		return err
	}
	fmt.Println("name events is served by", len(all), "group versions:", all)
	_, err = mapper.RESTMapping(schema.GroupKind{Group: "apps.mycompany.com", Kind: "PodManger"})
	fmt.Println("a misspelt kind:", err)
	return nil
}

func path(mapping *meta.RESTMapping) string {
	root := "/apis/" + mapping.Resource.Group + "/"
	if mapping.Resource.Group == "" {
		root = "/api/"
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return root + mapping.Resource.Version + "/namespaces/{namespace}/" + mapping.Resource.Resource
	}
	return root + mapping.Resource.Version + "/" + mapping.Resource.Resource
}
