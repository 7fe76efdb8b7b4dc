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

package storm

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/lab/exercises/09-requeue-storm/solution"
	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Exercise grades the file that the learner edits.
func Exercise() grade.Exercise { return exercise(New) }

// Solution grades the solution.
func Solution() grade.Exercise { return exercise(solution.New) }

const quiet, reported = "quiet at rest", "the status is true"

func exercise(n grade.New) grade.Exercise {
	w := grade.Worlds(n, grade.Web(grade.Namespace, "web", 1))
	w.Kubelet = true
	w.Goals = []sim.Promise{
		{Name: reported, Check: func(s *sim.State) error {
			pods := grade.Live(s, labv1.LabelWeb, "web")
			if web := sim.All[*labv1.Web](s)[0]; len(pods) != 1 || pods[0].Status.Phase != corev1.PodRunning || web.Status.Ready != 1 {
				return fmt.Errorf("%s, and status.ready is %d", trace.Counted(len(pods), "pod"), web.Status.Ready)
			}
			return nil
		}},
		{Name: quiet, Check: func(s *sim.State) error {
			if s.Polling > 0 && s.Polling < 10*time.Minute {
				return fmt.Errorf("nothing changes, and the reconcile runs again every %s: %s a day for each Web", s.Polling, trace.Counted(int(24*time.Hour/s.Polling), "time"))
			}
			return nil
		}},
	}
	return grade.Exercise{
		Number: "09", World: w, Breaks: quiet, Within: 14,
		Says: map[string]trace.Text{
			reported: {EN: "In the end the pod runs and status.ready is 1.", ZH: "最终 Pod 在运行，status.ready 为 1。"},
			quiet:    {EN: "While nothing changes, a Web is reconciled at most every ten minutes.", ZH: "没有变化时，每个 Web 最多十分钟调谐一次。"},
		},
		Real: func(ctx context.Context, c client.Client, namespace string) error {
			if err := c.Create(ctx, grade.Web(namespace, "web", 1)); err != nil {
				return err
			}
			return grade.PodCount(ctx, c, namespace, labv1.LabelWeb, "web", 1)
		},
	}
}
