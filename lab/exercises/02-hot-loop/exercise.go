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

package hotloop

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/lab/exercises/02-hot-loop/solution"
	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Exercise grades the file that the learner edits.
func Exercise() grade.Exercise { return exercise(New) }

// Solution grades the solution.
func Solution() grade.Exercise { return exercise(solution.New) }

const upToDate, upgrade = "the status is up to date", "upgrade"

func exercise(n grade.New) grade.Exercise {
	web := grade.Web(grade.Namespace, "web", 1)
	w := grade.Worlds(n, web)
	w.Actions = []sim.Action{grade.Edit(upgrade, web, func(w *labv1.Web) { w.Spec.Image = "nginx:1.28" })}
	w.Goals = []sim.Promise{{Name: upToDate, Check: func(s *sim.State) error {
		for _, web := range sim.All[*labv1.Web](s) {
			if web.Status.Image != web.Spec.Image || web.Status.ObservedGeneration != web.Generation {
				return fmt.Errorf("the status has image %q at generation %d, the spec %q at %d",
					web.Status.Image, web.Status.ObservedGeneration, web.Spec.Image, web.Generation)
			}
		}
		return nil
	}}}
	return grade.Exercise{
		Number: "02", World: w, Options: sim.Options{Steps: 18}, Breaks: sim.RestPromise, Within: 19,
		Says: map[string]trace.Text{
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
				if web.Status.ObservedGeneration != web.Generation || web.Status.Image != web.Spec.Image {
					return fmt.Errorf("the status is %+v", web.Status)
				}
				return nil
			})
		},
	}
}
