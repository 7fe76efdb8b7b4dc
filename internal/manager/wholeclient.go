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

package manager

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/podwriter"
)

// newWholeClient makes a client that reads a PodManager whole: one whose template the cache
// leaves out comes from the API server. A list has what the cache has.
func newWholeClient(config *rest.Config, options client.Options) (client.Client, error) {
	inner, err := podwriter.NewClient(config, options)
	if err != nil {
		return nil, err
	}
	options.Cache = nil
	live, err := client.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("make a client that reads past the cache: %w", err)
	}
	return interceptor.NewClient(inner, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			err := c.Get(ctx, key, obj, opts...)
			pm, ok := obj.(*appsv1.PodManager)
			if err != nil || !ok || !observe.Partial(pm) {
				return err
			}
			*pm = appsv1.PodManager{} // what is decoded adds to what is there
			return live.Get(ctx, key, pm)
		},
	}), nil
}
