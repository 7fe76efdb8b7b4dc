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
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// lostBy are the fields of a PodManager that would not come back, were the target
// taken over again. The API server fills in defaults, with a dry run.
func lostBy(ctx context.Context, c client.Client, pm *appsv1.PodManager, target *Target) ([]string, error) {
	again := &Workload{Kind: target.kind(), Namespace: pm.Namespace, Name: pm.Name, Parts: []Part{{&target.Parts[0]}}}
	if err := again.Kind.read(&reader{ctx, c}, again); err != nil {
		return nil, err
	}
	back := again.Manager()
	back.Name, back.GenerateName = "", pm.Name+"-"
	if err := c.Create(ctx, back, client.DryRunAll); err != nil {
		return nil, fmt.Errorf("ask for the defaults of a PodManager: %w", err)
	}
	was, is := fieldsOf(&pm.Spec), fieldsOf(&back.Spec)
	var lost []string
	for path, value := range was {
		// Templates are compared as a whole, with the image in them.
		if path != "image" && !strings.HasPrefix(path, "template.") && !reflect.DeepEqual(value, is[path]) {
			lost = append(lost, path)
		}
	}
	slices.Sort(lost)
	return lost, nil
}

// fieldsOf are the fields of a spec by their paths. Lists are one field.
func fieldsOf(spec any) map[string]any {
	values, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		panic(err) // it is a known type
	}
	fields := map[string]any{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		if nested, ok := value.(map[string]any); ok {
			for key, v := range nested {
				walk(strings.TrimPrefix(path+"."+key, "."), v)
			}
			return
		}
		fields[path] = value
	}
	walk("", values)
	return fields
}
