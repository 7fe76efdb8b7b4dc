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

package stale

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/lab/exercises/01-stale-read/solution"
	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Exercise grades the file that the learner edits.
func Exercise() grade.Exercise { return exercise(New) }

// Solution grades the solution.
func Solution() grade.Exercise { return exercise(solution.New) }

const never, enough = "never too many pods", "enough pods"

func exercise(n grade.New) grade.Exercise {
	web := grade.Web(grade.Namespace, "web", 1)
	w := grade.Worlds(n, web)
	w.Actions = []sim.Action{grade.Touch(web)}
	w.Invariants = []sim.Promise{{Name: never, Check: func(s *sim.State) error {
		if pods := grade.Live(s, labv1.LabelWeb, "web"); len(pods) > 1 {
			return fmt.Errorf("%s, and the Web asks for 1", trace.Counted(len(pods), "pod"))
		}
		return nil
	}}}
	w.Goals = []sim.Promise{{Name: enough, Check: func(s *sim.State) error {
		if pods := grade.Live(s, labv1.LabelWeb, "web"); len(pods) != 1 {
			return fmt.Errorf("%s, and the Web asks for 1", trace.Counted(len(pods), "pod"))
		}
		return nil
	}}}
	return grade.Exercise{
		Number: "01", World: w, Breaks: never, Within: 6,
		Says: map[string]trace.Text{
			never:         {EN: "There are never more pods than the Web asks for.", ZH: "Pod 数量从不超过 Web 要求的数量。"},
			enough:        {EN: "In the end there are as many pods as the Web asks for.", ZH: "最终 Pod 数量等于 Web 要求的数量。"},
			grade.Touched: grade.TouchedText(),
		},
		Real: func(ctx context.Context, c client.Client, namespace string) error {
			if err := c.Create(ctx, grade.Web(namespace, "web", 2)); err != nil {
				return err
			}
			return grade.PodCount(ctx, c, namespace, labv1.LabelWeb, "web", 2)
		},
	}
}
