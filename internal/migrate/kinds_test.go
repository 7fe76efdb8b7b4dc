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

import "testing"

func TestFindKind(t *testing.T) {
	for word, want := range map[string]*Kind{
		"deployment": Deployments, "deploy": Deployments, "Deployments": Deployments, "deployments.apps": Deployments,
		"sts": StatefulSets, "statefulset.apps": StatefulSets, "statefulset.apps.kruise.io": AdvancedStatefulSets,
		"asts": AdvancedStatefulSets, "cloneset": CloneSets, "rs": ReplicaSets, "job": nil, "deployment.extensions": nil, "": nil,
	} {
		if got := FindKind(word); got != want {
			t.Errorf("%q is %v, want %v", word, got, want)
		}
	}
}

// The annotation and the record name kinds by their resource: no two may share one.
func TestEveryKindHasAnIDOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range append(Kinds(), BarePods) {
		if seen[k.id()] {
			t.Errorf("two kinds are %s", k.id())
		}
		seen[k.id()] = true
		if got := (&Record{Target: Target{Resource: k.id()}}).kind(); got != k {
			t.Errorf("a record of %s finds %v", k.id(), got)
		}
	}
}
