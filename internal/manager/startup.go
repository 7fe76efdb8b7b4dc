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

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mycompany/pod-operator/internal/execpages"
)

// ReleaseStartup releases the memory of code that only the start needs, as soon
// as the operator has started.
func ReleaseStartup(mgr ctrl.Manager) error {
	return mgr.Add(everyReplica(func(ctx context.Context) error {
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return nil
		}
		released, err := execpages.Release()
		if err != nil {
			// It is memory that a container's limit may well count, and
			// nothing more.
			mgr.GetLogger().Info("The pages that starting needed stay resident", "cause", err.Error())
			return nil
		}
		mgr.GetLogger().V(1).Info("Released the pages that starting needed", "bytes", released)
		return nil
	}))
}
