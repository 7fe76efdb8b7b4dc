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

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/forecast"
	"github.com/mycompany/pod-operator/internal/native"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/view"
)

func TestTheExitCodeSaysWhatHappensToPods(t *testing.T) {
	of := func(steps ...native.Step) Plan {
		p := Plan{}
		p.take(&native.Plan{Steps: steps})
		return p
	}
	inPlace := func(restarted ...plan.ContainerMark) Plan {
		action := plan.Action{Verb: plan.UpdatePod, Pod: "web-0", Why: plan.Why{Reason: appsv1.WhyRolloutInPlace}, Replaced: restarted}
		run := forecast.Run{Passes: [][]plan.Action{{action}}}
		run.Complete = true
		return Plan{Preview: view.NewPreview(run)}
	}
	unknown := Plan{}
	unknown.take(&native.Plan{Unforeseen: true})
	for name, c := range map[string]struct {
		plan        Plan
		plain, asks int
	}{
		"nothing happens":               {of(), 0, 0},
		"pods come":                     {of(native.Step{What: native.Created, Count: 3, Wave: 1}), 0, 0},
		"pods are held back":            {of(native.Step{What: native.Held, Count: 3}), 0, 0},
		"a pod is replaced":             {of(native.Step{What: native.Replaced, Pod: "db-0", Wave: 1}), kube.ExitNo, kube.ExitNo},
		"a pod is deleted":              {of(native.Step{What: native.Deleted, Pod: "web-1", Wave: 1}), kube.ExitNo, kube.ExitNo},
		"a container restarts in place": {inPlace(plan.ContainerMark{Name: "app"}), 0, kube.ExitNo},
		"a label changes in place":      {inPlace(), 0, 0},
		"it is not known":               {unknown, 0, kube.ExitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			report := newReport([]Plan{c.plan}, nil)
			if got := kube.ExitCode((&options{}).verdict(&report)); got != c.plain {
				t.Errorf("exit code %d, want %d", got, c.plain)
			}
			if got := kube.ExitCode((&options{exitCode: true}).verdict(&report)); got != c.asks {
				t.Errorf("exit code %d with --exit-code, want %d", got, c.asks)
			}
		})
	}
}
