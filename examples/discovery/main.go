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

// Command discovery asks the API server which groups, versions and resources it
// serves, as kubectl api-resources does.
//
// Look at our own groups: a CRD is discovered like everything else, with its
// short names, its verbs and its subresources.
package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

func main() { demo.Main(run) }

func run(_ context.Context, cfg *rest.Config, _ string) error {
	client, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return err
	}
	groups, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return fmt.Errorf("discover: %w", err)
	}
	preferred := map[string]bool{}
	for _, group := range groups {
		preferred[group.PreferredVersion.GroupVersion] = true
	}
	slices.SortFunc(lists, func(a, b *metav1.APIResourceList) int { return strings.Compare(a.GroupVersion, b.GroupVersion) })
	for _, list := range lists {
		resources, subresources := 0, 0
		for _, resource := range list.APIResources {
			if strings.Contains(resource.Name, "/") {
				subresources++
			} else {
				resources++
			}
		}
		note := ""
		if !preferred[list.GroupVersion] {
			note = "  (another version is preferred)"
		}
		fmt.Printf("%-38s %2d resources, %2d subresources%s\n", list.GroupVersion, resources, subresources, note)
	}
	for _, list := range lists {
		if list.GroupVersion != "apps.mycompany.com/v1" {
			continue
		}
		for _, resource := range list.APIResources {
			fmt.Printf("%s: kind %s, short names %v, namespaced %t, verbs %v\n",
				resource.Name, resource.Kind, resource.ShortNames, resource.Namespaced, resource.Verbs)
		}
	}
	return nil
}
