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

package webhooks

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// fleet is what must not change when nothing was asked for.
type fleet struct {
	Pods      map[string]types.UID
	Revisions map[string]int64
}

func fleetOf(t testing.TB, namespace, name string) fleet {
	t.Helper()
	f := suite.Fleet(t, namespace, name)
	now := fleet{Pods: testkit.UIDs(f.Pods()), Revisions: map[string]int64{}}
	for _, revision := range f.Revisions() {
		now.Revisions[revision.Name] = revision.Revision
	}
	return now
}
