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

package lostanswer

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/lab/exercises/07-lost-answer/solution"
	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Exercise grades the file that the learner edits.
func Exercise() grade.Exercise { return exercise(New) }

// Solution grades the solution.
func Solution() grade.Exercise { return exercise(solution.New) }

const never, enough = "never two pods", "one pod"

func exercise(n grade.New) grade.Exercise {
	web := grade.Web(grade.Namespace, "web", 1)
	w := grade.Worlds(n, web)
	w.Actions = []sim.Action{grade.Touch(web)}
	w.Faults = []sim.Fault{sim.LostAnswer, sim.Throttle}
	w.Invariants = []sim.Promise{{Name: never, Check: func(s *sim.State) error {
		if pods := grade.Live(s, labv1.LabelWeb, "web"); len(pods) > 1 {
			return fmt.Errorf("the pods %s and %s exist", pods[0].Name, pods[1].Name)
		}
		return nil
	}}}
	w.Goals = []sim.Promise{{Name: enough, Check: func(s *sim.State) error {
		if len(grade.Live(s, labv1.LabelWeb, "web")) != 1 {
			return fmt.Errorf("the Web has no pod")
		}
		return nil
	}}}
	return grade.Exercise{
		Number: "07", World: w, Breaks: never, Within: 5,
		Says: map[string]trace.Text{
			never:         {EN: "A Web never has two pods.", ZH: "一个 Web 从不会有两个 Pod。"},
			enough:        {EN: "In the end the Web has its pod.", ZH: "最终 Web 有自己的 Pod。"},
			grade.Touched: grade.TouchedText(),
		},
		Real: func(ctx context.Context, c client.Client, namespace string) error {
			if err := c.Create(ctx, grade.Web(namespace, "web", 1)); err != nil {
				return err
			}
			return grade.PodCount(ctx, c, namespace, labv1.LabelWeb, "web", 1)
		},
	}
}
