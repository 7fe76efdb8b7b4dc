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

package finalizer

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/lab/exercises/05-finalizer/solution"
	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Exercise grades the file that the learner edits.
func Exercise() grade.Exercise { return exercise(New) }

// Solution grades the solution.
func Solution() grade.Exercise { return exercise(solution.New) }

const gone, clean, deletes = "a deleted Web is gone", "no entry without a Web", "delete"

func exercise(n grade.New) grade.Exercise {
	web := grade.Web(grade.Namespace, "web", 1)
	w := grade.Worlds(n, web)
	w.Actions = []sim.Action{grade.Delete(deletes, web)}
	w.Faults = []sim.Fault{sim.Conflict, sim.LostAnswer, sim.Crash}
	w.Goals = []sim.Promise{
		{Name: gone, Check: func(s *sim.State) error {
			for _, web := range sim.All[*labv1.Web](s) {
				return fmt.Errorf("the Web is still there, and the last reconcile failed: %w", s.Failing[web.Namespace+"/"+web.Name])
			}
			return nil
		}},
		{Name: clean, Check: func(s *sim.State) error {
			if len(sim.All[*corev1.ConfigMap](s)) > 0 {
				return errors.New("the Web is gone, and its entry in DNS is still there")
			}
			return nil
		}},
	}
	return grade.Exercise{
		Number: "05", World: w, Breaks: gone, Within: 14,
		Says: map[string]trace.Text{
			gone:    {EN: "A Web that was deleted is gone in the end.", ZH: "被删除的 Web 最终会消失。"},
			clean:   {EN: "No entry in DNS outlives its Web.", ZH: "DNS 记录不会比它的 Web 存在更久。"},
			deletes: {EN: "The user deletes the Web.", ZH: "用户删除 Web。"},
		},
		Real: func(ctx context.Context, c client.Client, namespace string) error {
			web := grade.Web(namespace, "web", 1)
			if err := c.Create(ctx, web); err != nil {
				return err
			}
			entry := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-dns"}}
			if err := grade.Eventually(ctx, func(ctx context.Context) error { return c.Get(ctx, client.ObjectKeyFromObject(entry), entry) }); err != nil {
				return err
			}
			if err := c.Delete(ctx, web); err != nil {
				return err
			}
			return grade.Eventually(ctx, func(ctx context.Context) error {
				for _, obj := range []client.Object{web, entry} {
					if err := c.Get(ctx, client.ObjectKeyFromObject(obj), obj); !apierrors.IsNotFound(err) {
						return fmt.Errorf("%T is still there", obj)
					}
				}
				return nil
			})
		},
	}
}
