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

package statuspatch

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// TestBetween: what differs is set or taken away, under the UID that was read.
func TestBetween(t *testing.T) {
	const test = `[{"op":"test","path":"/metadata/uid","value":"me"}`
	for name, c := range map[string]struct {
		before, after appsv1.PodManagerStatus
		want          string
	}{
		"the first status": {
			after: appsv1.PodManagerStatus{Selector: "a=b"},
			want: test + `,{"op":"add","path":"/status","value":{"availableReplicas":0,"currentReplicas":0,"readyReplicas":0,` +
				`"replicas":0,"selector":"a=b","terminatingReplicas":0,"updatedReplicas":0}}]`,
		},
		"a field more and a field less": {
			before: appsv1.PodManagerStatus{Selector: "a=b"},
			after:  appsv1.PodManagerStatus{UpdateRevision: "web-1"},
			want:   test + `,{"op":"remove","path":"/status/selector"},{"op":"add","path":"/status/updateRevision","value":"web-1"}]`,
		},
		"a field that is 0 again": {
			before: appsv1.PodManagerStatus{Replicas: 2},
			after:  appsv1.PodManagerStatus{Replicas: 0, Selector: "a=b"},
			want:   test + `,{"op":"add","path":"/status/replicas","value":0},{"op":"add","path":"/status/selector","value":"a=b"}]`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := &appsv1.PodManager{Status: c.before}, &appsv1.PodManager{Status: c.after}
			before.UID, after.UID = "me", "me"
			patch, err := Between(before, after)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := patch.Data(after)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(raw)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
