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

package desired

import (
	"encoding/json"
	"testing"
	"time"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// FuzzPodManager reads any PodManager that a client could send, also one that
// the schema would refuse: defaulting neither panics nor asks for the
// impossible, and the planner can work with what comes out.
//
//	go test ./internal/desired -run '^$' -fuzz FuzzPodManager -fuzztime 10m
func FuzzPodManager(f *testing.F) {
	for _, seed := range []string{
		`{"metadata":{"name":"web"},"spec":{"image":"nginx"}}`,
		`{"metadata":{"name":"web"},"spec":{"replicas":-1,"identity":"Random","update":{"maxSurge":"100%","maxUnavailable":"x%","partition":-5}}}`,
		`{"metadata":{"name":"web","annotations":{"apps.mycompany.com/restart":"yesterday"}},"spec":{"reserveOrdinals":[0,0,2],"template":{"spec":{"containers":[]}}}}`,
		`{"spec":{"failedPods":{"limit":-1,"backoff":{"initial":"-5s","max":"1ns"}},"minReadySeconds":-3},"status":{"rollout":{},"history":[{}]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var pm appsv1.PodManager
		if json.Unmarshal(raw, &pm) != nil {
			return
		}
		if r := pm.Spec.Replicas; r != nil && *r > 10_000 {
			return // the planner's cost, not its reason
		}
		fleet := PodManager(&pm)
		d := &fleet.Desired
		if d.Update.MaxSurge < 0 || d.Update.MaxUnavailable < 0 || d.Update.Partition < 0 {
			t.Errorf("negative numbers of pods: %+v", d.Update)
		}
		decision := plan.Plan(*d, plan.Observed{NewRevision: "web-1", Status: pm.Status}, time.Unix(0, 0))
		for _, a := range decision.Actions {
			if a.Why.Reason == "" {
				t.Errorf("%s %s has no why", a.Verb, a.Pod)
			}
		}
	})
}
