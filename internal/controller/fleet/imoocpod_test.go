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

package fleet

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
)

// A newer operator makes other pods for an ImoocPod, and replaces none of the old ones. Its
// status has one place for failures, and a failed pod is kept.
func TestAFailureBeforeAnUpgradeIsNotToldAgainAndAgain(t *testing.T) {
	kind, now := desired.ImoocPodKind{}, time.Unix(1_000_000, 0)
	ip := &batchv1alpha1.ImoocPod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "busy", UID: "uid", Generation: 1},
		Spec:       batchv1alpha1.ImoocPodSpec{Replicas: ptr.To(int32(2))},
		Status:     batchv1alpha1.ImoocPodStatus{ObservedGeneration: 1, CurrentRevision: "busy-old", UpdateRevision: "busy-old"},
	}
	d := kind.Fleet(ip).Desired
	pod := func(slot int, revision string) plan.Pod {
		name := plan.SlotName(&d, slot)
		return plan.Pod{
			Name: name, UID: types.UID(name), Slot: slot, Membership: plan.Member, Revision: revision, Node: "n1",
			Created: now.Add(-time.Hour), Phase: corev1.PodRunning, Ready: true, ReadySince: now.Add(-time.Hour),
		}
	}
	failed := pod(1, "busy-old")
	failed.Phase, failed.Ready, failed.FailedAt = corev1.PodFailed, false, now.Add(-time.Minute)
	seen := plan.Observed{
		Pods:      []plan.Pod{pod(0, "busy-old"), failed, pod(2, "busy-new")},
		Revisions: []plan.Revision{{Name: "busy-old", Number: 1}, {Name: "busy-new", Number: 2, Equal: true}},
	}
	told := 0
	for range 3 {
		seen.Status = kind.Status(ip)
		reported := report.Report(d, seen, plan.Plan(d, seen, now), nil, now)
		told += len(reported.Events)
		kind.SetStatus(ip, reported.Status)
		now = now.Add(time.Minute)
	}
	if told > 1 {
		t.Errorf("one failure was told %d times", told)
	}
	seen.Pods = seen.Pods[:2]
	decision := plan.Plan(d, seen, now)
	if a := decision.Actions; len(a) != 1 || a[0].Verb != plan.CreatePod || a[0].Revision != "busy-new" {
		t.Errorf("the successor: %+v", a)
	}
}
