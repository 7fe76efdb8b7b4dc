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

package check

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mycompany/pod-operator/internal/localkube"
)

// TestSolutionsOnARealServer: what the simulator passes reaches its goal on a real API
// server as well. All share one.
func TestSolutionsOnARealServer(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	cluster, err := StartCluster(t.Context(), "../..")
	if errors.Is(err, localkube.ErrNoBinaries) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := cluster.Stop(); err != nil {
			t.Error(err)
		}
	}()
	t.Run("the simulated server answers like it", func(t *testing.T) { compare(t, cluster) })
	all := All()
	for _, number := range slices.Sorted(maps.Keys(all)) {
		e := all[number].Solution()
		if e.Real == nil {
			continue
		}
		t.Run(number, func(t *testing.T) {
			if err := cluster.Run(t.Context(), e); err != nil {
				t.Error(err)
			}
		})
	}
}
