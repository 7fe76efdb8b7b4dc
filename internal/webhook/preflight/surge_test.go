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

package preflight

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
)

// noQuotas is a namespace without any.
type noQuotas struct{ client.Reader }

func (noQuotas) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// A user who asks for more than the operator grants is told when they ask.
func TestADeadlineThatIsCutIsWarnedAbout(t *testing.T) {
	const cut = "disruption.deadlineSeconds is cut to 3600: the operator holds no eviction longer than its --max-eviction-hold, 1h0m0s"
	fleet := func(seconds *int32) *appsv1.PodManager {
		pm := &appsv1.PodManager{}
		pm.Spec.Disruption = appsv1.Disruption{Policy: appsv1.DisruptionSurgeFirst, DeadlineSeconds: seconds}
		return pm
	}
	for name, c := range map[string]struct {
		old  client.Object
		pm   *appsv1.PodManager
		most time.Duration
		want []string
	}{
		"more than the maximum":      {pm: fleet(ptr.To[int32](3601)), most: time.Hour, want: []string{cut}},
		"raised above it":            {old: fleet(ptr.To[int32](60)), pm: fleet(ptr.To[int32](86400)), most: time.Hour, want: []string{cut}},
		"the maximum":                {pm: fleet(ptr.To[int32](3600)), most: time.Hour},
		"the default":                {pm: fleet(nil), most: time.Hour},
		"an edit of something else":  {old: fleet(ptr.To[int32](3601)), pm: fleet(ptr.To[int32](3601)), most: time.Hour},
		"a maximum that is unknown":  {pm: fleet(ptr.To[int32](86400))},
		"evictions that do not wait": {pm: &appsv1.PodManager{Spec: appsv1.PodManagerSpec{Disruption: appsv1.Disruption{DeadlineSeconds: ptr.To[int32](86400)}}}, most: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			i := &Inspector{live: noQuotas{}, MaxHold: c.most}
			got := i.checkSurge(t.Context(), Change{Old: c.old, New: c.pm}, desired.Fleet{Template: &corev1.PodTemplateSpec{}})
			if diff := cmp.Diff(c.want, got.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}
