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
	"errors"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// workers is how many requests are under way at once.
const workers = 10

// inParallel does something with every object, and goes on after an error: each
// is independent of the others.
func inParallel(ctx context.Context, objects []client.Object, do func(context.Context, client.Object) error) error {
	queue := make(chan client.Object)
	var (
		mu   sync.Mutex
		errs []error
		all  sync.WaitGroup
	)
	for range min(workers, len(objects)) {
		all.Go(func() {
			for obj := range queue {
				if err := do(ctx, obj); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for _, obj := range objects {
		queue <- obj
	}
	close(queue)
	all.Wait()
	return firstOf(errs)
}

// firstOf is the first error, and how many more there were.
func firstOf(errs []error) error {
	if len(errs) <= 3 {
		return errors.Join(errs...)
	}
	return errors.Join(append(errs[:3:3], errors.New("and more like these"))...)
}
