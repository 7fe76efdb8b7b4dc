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

package demo

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Options are a manager's for one namespace, without a server for metrics.
func Options(namespace string) ctrl.Options {
	return ctrl.Options{
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Metrics: server.Options{BindAddress: "0"},
	}
}

// NewManager is a manager with those options.
func NewManager(cfg *rest.Config, namespace string) (ctrl.Manager, error) {
	return ctrl.NewManager(cfg, Options(namespace))
}

// While runs f while the manager runs, beginning when its caches are filled,
// and returns when both have ended.
func While(ctx context.Context, mgr ctrl.Manager, f func(ctx context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx); stop() }()
	if !mgr.GetCache().WaitForCacheSync(ctx) {
		return fmt.Errorf("the manager's caches were not filled: %w", <-ended)
	}
	err := f(ctx)
	stop()
	return errors.Join(err, <-ended)
}
