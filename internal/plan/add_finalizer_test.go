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

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheFinalizerIsThereBeforeAnythingElse(t *testing.T) {
	f := aFleet(1).finalizer(FinalizerMissing).revisions(10)
	f.observed.Status.CurrentRevision = ""
	got := saidOf(f.plan())
	want := []string{"AddFinalizer FinalizerMissing", "CreateRevision web-next#1 NewTemplate", "CreatePod web-0 Missing"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	if got := saidOf(aFleet(1, ordinal(0)).finalizer(FinalizerUnused).plan()); len(got) != 0 {
		t.Errorf("actions %v for a kind without finalizer, want none", got)
	}
}
