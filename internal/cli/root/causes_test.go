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

package root_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/cli/rollout"
	"github.com/mycompany/pod-operator/internal/cli/status"
	"github.com/mycompany/pod-operator/internal/cli/whynot"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
	"github.com/mycompany/pod-operator/internal/view"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// fleetOf is a fleet of five ordinals whose pods are served, except the last ones, which
// are as they are made.
func fleetOf(lacking int, as func(*plan.Pod)) (plan.Desired, plan.Observed) {
	desired := plan.Desired{
		Namespace: "shop", Name: "web", UID: "u", Generation: 1, NamePrefix: "web", Identity: appsv1.IdentityOrdinal, Replicas: 5,
		Finalizer: plan.FinalizerPresent, MinReady: 10 * time.Second, RevisionHistoryLimit: 10,
		Update: plan.Update{Strategy: appsv1.UpdateInPlace, MaxUnavailable: 1},
	}
	observed := plan.Observed{
		Revisions: []plan.Revision{{Name: "web-a", Number: 1, Equal: true}}, NewRevision: "web-a",
		Status: appsv1.PodManagerStatus{ObservedGeneration: 1, CurrentRevision: "web-a", UpdateRevision: "web-a"},
	}
	for i := range 5 {
		p := plan.Pod{
			Name: fmt.Sprintf("web-%d", i), UID: types.UID(fmt.Sprint("p", i)), Membership: plan.Member, Slot: i, Revision: "web-a",
			Created: noon.Add(-time.Minute), Phase: corev1.PodRunning, Ready: true, ReadySince: noon.Add(-time.Minute), Node: "n1",
		}
		if i >= 5-lacking {
			if as == nil {
				continue
			}
			p.Ready, p.ReadySince = false, time.Time{}
			as(&p)
		}
		observed.Pods = append(observed.Pods, p)
	}
	return desired, observed
}

func waiting(why string) func(*plan.Pod) {
	return func(p *plan.Pod) { p.Phase, p.Waiting = corev1.PodPending, why }
}

func unplaced(reason, scheduler string) func(*plan.Pod) {
	return func(p *plan.Pod) { p.Phase, p.Waiting, p.Scheduler, p.Node = corev1.PodPending, reason, scheduler, "" }
}

// TestTheCauseIsToldEverywhere: what keeps pods from being available is in the message of
// the condition, which is the STATUS of kubectl get, and in each verb.
func TestTheCauseIsToldEverywhere(t *testing.T) {
	const noRoom = "0/3 nodes are available: 3 Too many pods"
	const unbound = "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims"
	for name, test := range map[string]struct {
		as      func(*plan.Pod) // nil: the pods are missing
		refused string          // by this cause
		want    string
		held    string // by what, in why-not; empty where it is only under way
	}{
		"no node is assigned":           {as: unplaced("", ""), want: "2 of 5 pods are waiting for a node"},
		"no node has room":              {as: unplaced("Unschedulable", noRoom), want: "2 of 5 pods cannot be scheduled: " + noRoom, held: "Unschedulable"},
		"a claim is not bound":          {as: unplaced("Unschedulable", unbound), want: "2 of 5 pods are waiting for a volume: " + unbound, held: "WaitingForVolume"},
		"a gate is set":                 {as: unplaced("SchedulingGated", ""), want: "2 of 5 pods have scheduling gates", held: "SchedulingGated"},
		"images are pulled":             {as: waiting(""), want: "2 of 5 pods are starting: images are pulled, volumes mounted or init containers run"},
		"an image cannot be pulled":     {as: waiting("ErrImagePull"), want: "2 of 5 pods cannot pull an image: ErrImagePull", held: "ImageNotPulled"},
		"the pull is put off":           {as: waiting("ImagePullBackOff"), want: "2 of 5 pods cannot pull an image: ImagePullBackOff", held: "ImageNotPulled"},
		"a ConfigMap is missing":        {as: waiting("CreateContainerConfigError"), want: "2 of 5 pods cannot start a container: CreateContainerConfigError", held: "ContainerNotCreated"},
		"a container is in a loop":      {as: waiting("CrashLoopBackOff"), want: "2 of 5 pods are crashing: CrashLoopBackOff", held: "Crashing"},
		"a container needs more memory": {as: waiting("OOMKilled"), want: "2 of 5 pods are crashing: OOMKilled", held: "Crashing"},
		"a probe fails":                 {as: func(*plan.Pod) {}, want: "2 of 5 pods are running and not ready"},
		"they have just become ready": {
			as:   func(p *plan.Pod) { p.Ready, p.ReadySince = true, noon.Add(-8*time.Second) },
			want: "2 of 5 pods are ready and not yet available: minReadySeconds is 10",
		},
		"a quota refuses them":  {refused: appsv1.ReasonQuotaExceeded, want: "2 of 5 pods cannot be created: exceeded quota: few", held: "QuotaExceeded"},
		"a policy refuses them": {refused: appsv1.ReasonPodsRefused, want: "2 of 5 pods cannot be created: not for you", held: "PodsRefused"},
	} {
		t.Run(name, func(t *testing.T) {
			desired, observed := fleetOf(2, test.as)
			decision := plan.Plan(desired, observed, noon)
			var outcomes []plan.Outcome
			if test.refused != "" {
				_, message, _ := strings.Cut(test.want, "created: ")
				outcomes = []plan.Outcome{{Action: decision.Actions[0], Result: plan.Refused, Cause: test.refused, Message: message}}
			}
			pm := &appsv1.PodManager{}
			pm.Namespace, pm.Name, pm.Generation, pm.Spec.Replicas = "shop", "web", 1, new(int32)
			*pm.Spec.Replicas = 5
			pm.Status = report.Report(desired, observed, decision, outcomes, noon).Status
			observed.Status = pm.Status
			sight := kube.NewSight(desired, observed, noon)

			told := map[string]string{"Ready": meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionReady).Message}
			rolled, _, err := rollout.Verdict(pm)
			told["rollout status"] = fmt.Sprint(rolled, err)
			_, _, told["page"] = view.State(&sight.Status)
			told["status"] = printed(t, func(out *bytes.Buffer) error {
				return status.Print(out, kube.NewPaint(false), "PodManager", pm, &sight)
			})
			holds := view.Holds(&sight.Status, sight.Causes, sight.Decision.Blocked, view.Subject{Name: "web"}, noon)
			told["why-not"] = printed(t, func(out *bytes.Buffer) error {
				return whynot.Print(out, kube.NewPaint(false), &sight.Status, holds)
			})
			for place, text := range told {
				if !strings.Contains(text, test.want) {
					t.Errorf("%s says %q, and not %q", place, text, test.want)
				}
			}
			by := "Nothing is held back."
			if test.held != "" {
				by = test.held + "): " + test.want
				if test.refused != "" {
					by = " is held back by " + test.held + ": " + test.want
				}
			}
			if !strings.Contains(told["why-not"], by) {
				t.Errorf("why-not does not say %q:\n%s", by, told["why-not"])
			}
			if advised := strings.Contains(told["why-not"], "to do  "); advised != (test.held != "") {
				t.Errorf("why-not says what to do: %t\n%s", advised, told["why-not"])
			}
		})
	}
}

func printed(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var out bytes.Buffer
	if err := write(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestThePodsAndTheNumbersAreOfOneLook: a status that is older than the pods does not
// contradict them.
func TestThePodsAndTheNumbersAreOfOneLook(t *testing.T) {
	desired, observed := fleetOf(2, func(p *plan.Pod) { p.Ready, p.ReadySince = true, noon.Add(-8500*time.Millisecond) })
	pm := &appsv1.PodManager{}
	pm.Namespace, pm.Name, pm.Generation = "shop", "web", 1
	// What was written last: no pod is ready.
	lagging := observed
	lagging.Pods = fleetWithoutReady(observed.Pods)
	pm.Status = report.Report(desired, lagging, plan.Plan(desired, lagging, noon), nil, noon).Status
	observed.Status = pm.Status
	sight := kube.NewSight(desired, observed, noon)
	out := printed(t, func(out *bytes.Buffer) error {
		return status.Print(out, kube.NewPaint(false), "PodManager", pm, &sight)
	})
	for _, want := range []string{
		"live 5   ready 5   up to date 5   available 3", "2 of 5 pods are ready and not yet available",
		"web-2  ready     ", "web-4  ready, available in 2 s",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
}

func fleetWithoutReady(pods []plan.Pod) []plan.Pod {
	without := make([]plan.Pod, len(pods))
	for i, p := range pods {
		p.Ready = false
		without[i] = p
	}
	return without
}

// TestARestartShowsItsProgress: it changes no revision, so that only the age of the pods
// says how far it is.
func TestARestartShowsItsProgress(t *testing.T) {
	desired, observed := fleetOf(0, nil)
	desired.Restart = noon.Add(-30 * time.Second)
	for i := range 2 {
		observed.Pods[i].Created = noon.Add(-20 * time.Second)
	}
	pm := &appsv1.PodManager{}
	pm.Namespace, pm.Name, pm.Generation = "shop", "web", 1
	pm.Status = report.Report(desired, observed, plan.Plan(desired, observed, noon), nil, noon).Status
	observed.Status = pm.Status
	sight := kube.NewSight(desired, observed, noon)
	out := printed(t, func(out *bytes.Buffer) error {
		return status.Print(out, kube.NewPaint(false), "PodManager", pm, &sight)
	})
	for _, want := range []string{"RollingOut: 2 of 5 pods are restarted, 5 available", "restart [############------------------] 2 of 5"} {
		if !strings.Contains(out, want) {
			t.Errorf("it does not say %q:\n%s", want, out)
		}
	}
	if told, waits, _ := rollout.Verdict(pm); !waits || told != "waiting: 2 of 5 pods are restarted, 5 available" {
		t.Errorf("rollout status says %q and waits: %t", told, waits)
	}
}
