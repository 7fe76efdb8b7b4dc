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
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
)

// Pods that differ only in whose they are get one verdict; any other difference
// gets its own.
func TestVerdictOf(t *testing.T) {
	named := func(name string, change func(*appsv1.PodManager)) *appsv1.PodManager {
		pm := &appsv1.PodManager{}
		pm.Namespace, pm.Name, pm.UID = "here", name, types.UID("uid-of-"+name)
		pm.Spec.Image = "nginx:1.27"
		if change != nil {
			change(pm)
		}
		return pm
	}
	tests := map[string]struct {
		other *appsv1.PodManager
		same  bool
	}{
		"the same under another name": {other: named("b", nil), same: true},
		"another image":               {other: named("b", func(pm *appsv1.PodManager) { pm.Spec.Image = "nginx:1.28" })},
		"another namespace":           {other: named("b", func(pm *appsv1.PodManager) { pm.Namespace = "there" })},
		"a label that policies may look at": {other: named("b", func(pm *appsv1.PodManager) {
			pm.Spec.Template = &corev1.PodTemplateSpec{}
			pm.Spec.Template.Labels = map[string]string{"team": "red"}
		})},
		"a label with the name": {other: named("b", func(pm *appsv1.PodManager) {
			pm.Spec.Template = &corev1.PodTemplateSpec{}
			pm.Spec.Template.Labels = map[string]string{appsv1.LabelApp: "b"}
		}), same: true},
		"an app label that was chosen": {other: named("b", func(pm *appsv1.PodManager) {
			pm.Spec.Template = &corev1.PodTemplateSpec{}
			pm.Spec.Template.Labels = map[string]string{appsv1.LabelApp: "shop"}
		})},
	}
	of := func(pm *appsv1.PodManager) verdict {
		f := desired.PodManagerKind{}.Fleet(pm)
		v, ok := verdictOf(Change{Kind: desired.PodManagerKind{}, New: pm}, f, trialPod(f))
		if !ok {
			t.Fatalf("%s has no verdict", pm.Name)
		}
		return v
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if same := of(named("a", nil)) == of(tt.other); same != tt.same {
				t.Errorf("the same verdict: %t, want %t", same, tt.same)
			}
		})
	}
}

// Claims are tried each time: how many there may be is up to the quota.
func TestClaimsHaveNoVerdict(t *testing.T) {
	pm := &appsv1.PodManager{}
	pm.Spec.Image = "nginx:1.27"
	f := desired.PodManagerKind{}.Fleet(pm)
	f.Desired.Claims.Templates = []string{"data"}
	if _, ok := verdictOf(Change{Kind: desired.PodManagerKind{}, New: pm}, f, trialPod(f)); ok {
		t.Error("a fleet with volume claims has a verdict")
	}
}

func TestVerdictsAreForgotten(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var v verdicts
	if v.known(verdict{1}, now) {
		t.Error("known before it was asked for")
	}
	v.remember(verdict{1}, now)
	if !v.known(verdict{1}, now.Add(verdictLife-1)) {
		t.Error("forgotten too early")
	}
	if v.known(verdict{1}, now.Add(verdictLife)) {
		t.Error("not forgotten in time")
	}
	for i := range 3 * maxVerdicts {
		v.remember(verdict{byte(i), byte(i >> 8)}, now)
	}
	if len(v.taken) > maxVerdicts {
		t.Errorf("%d verdicts are kept", len(v.taken))
	}
}
