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

package fence

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/lab/exercises/12-fence/solution"
	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Exercise grades the file that the learner edits.
func Exercise() grade.Exercise { return exercise(New) }

// Solution grades the solution.
func Solution() grade.Exercise { return exercise(solution.New) }

const forward, upToDate, upgrade = "the status never goes back", "the status is up to date", "upgrade"

func exercise(n grade.New) grade.Exercise {
	web := grade.Web(grade.Namespace, "web", 1)
	w := grade.Worlds(n, web)
	w.Actions = []sim.Action{grade.Edit(upgrade, web, func(w *labv1.Web) { w.Spec.Image = "nginx:1.28" })}
	w.Faults = []sim.Fault{sim.SecondLeader, sim.Crash}
	w.MaxFaults = 2
	w.Invariants = []sim.Promise{{Name: forward, Check: func(s *sim.State) error {
		for _, write := range s.Writes {
			before, ok := write.Before.(*labv1.Web)
			after, still := write.After.(*labv1.Web)
			if ok && still && after.Status.ObservedGeneration < before.Status.ObservedGeneration {
				return fmt.Errorf("process %s overwrites generation %d (%s) with generation %d (%s)", write.By,
					before.Status.ObservedGeneration, before.Status.Image, after.Status.ObservedGeneration, after.Status.Image)
			}
		}
		return nil
	}}}
	w.Goals = []sim.Promise{{Name: upToDate, Check: func(s *sim.State) error {
		if web := sim.All[*labv1.Web](s)[0]; web.Status.ObservedGeneration != web.Generation || web.Status.Image != web.Spec.Image {
			return fmt.Errorf("the status is %+v at generation %d", web.Status, web.Generation)
		}
		return nil
	}}}
	return grade.Exercise{
		Number: "12", World: w, Breaks: forward, Within: 6,
		Says: map[string]trace.Text{
			forward:  {EN: "The status never goes back to an older generation.", ZH: "status 从不倒退到更旧的 generation。"},
			upToDate: {EN: "In the end the status has the image and the generation of the spec.", ZH: "最终 status 中的镜像和 generation 与 spec 一致。"},
			upgrade:  {EN: "The user changes the image.", ZH: "用户修改镜像。"},
		},
		Real: func(ctx context.Context, c client.Client, namespace string) error {
			web := grade.Web(namespace, "web", 1)
			if err := c.Create(ctx, web); err != nil {
				return err
			}
			return grade.Eventually(ctx, func(ctx context.Context) error {
				if err := c.Get(ctx, client.ObjectKeyFromObject(web), web); err != nil {
					return err
				}
				if web.Status.ObservedGeneration != web.Generation {
					return fmt.Errorf("the status is %+v at generation %d", web.Status, web.Generation)
				}
				return nil
			})
		},
	}
}
