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

package whynot

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/cli/workload"
	"github.com/mycompany/pod-operator/internal/nativewhy"
	"github.com/mycompany/pod-operator/internal/view"
)

// isNative reports whether the cluster's own records answer: for a built-in workload,
// the Deployment of a HelloWorld, and a pod that none of our kinds owns.
func isNative(ctx context.Context, s *kube.Session, c client.Client, ref kube.Ref) (bool, error) {
	if kube.IsBuiltIn(ref.Kind) || ref.Kind == kube.HelloWorlds.Kind {
		return true, nil
	}
	if ref.Kind != kube.Pods.Kind {
		return false, nil
	}
	namespace, err := s.Namespace()
	if err != nil {
		return false, err
	}
	pod := &corev1.Pod{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, pod); err != nil {
		return false, fmt.Errorf("read pod %s/%s: %w", namespace, ref.Name, err)
	}
	owner := metav1.GetControllerOf(pod)
	return owner == nil || !kube.Reports(owner), nil
}

// wait is what a built-in workload waits for, for programs: as view.Hold, and how
// it is known.
type wait struct {
	view.Hold
	Evidence string `json:"evidence"`
}

func runNative(ctx context.Context, s *kube.Session, c client.Client, output *kube.Output, ref kube.Ref) error {
	namespace, err := s.Namespace()
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: namespace, Name: ref.Name}
	if ref.Kind == kube.HelloWorlds.Kind {
		if err := c.Get(ctx, key, &testv1alpha1.HelloWorld{}); err != nil {
			return fmt.Errorf("read HelloWorld %s: %w", key, err)
		}
		ref.Kind = kube.Deployments.Kind
	}
	facts, err := workload.Read(ctx, c, ref.Kind, key, time.Now())
	if err != nil {
		return err
	}
	if facts.Gone {
		return fmt.Errorf("read %s %s: %w", facts.Kind, key, apierrors.NewNotFound(corev1.Resource(facts.Kind), facts.Name))
	}
	waits := waitsOf(facts)
	if output.Structured() {
		envelope := map[string]any{"items": waits}
		if len(facts.Unread) > 0 {
			envelope["unread"] = facts.Unread
		}
		return output.Print(s.Out, envelope)
	}
	workload.PrintUnread(s.ErrOut, facts.Unread)
	if len(waits) == 0 {
		message := "Nothing is held back."
		if going := nativewhy.UnderWay(facts); going != "" && ref.Kind != kube.Pods.Kind {
			message += " It is under way: " + going
		}
		_, err := fmt.Fprintln(s.Out, message)
		return err
	}
	for _, w := range waits {
		if err := Print(s.Out, s.Paint(), nil, []view.Hold{w.Hold}); err != nil {
			return err
		}
		fmt.Fprintf(s.Out, "    known by %s\n", w.Evidence)
	}
	return nil
}

func waitsOf(facts *nativewhy.Facts) []wait {
	waits := []wait{}
	for _, w := range nativewhy.WhyNot(facts) {
		what := cmp.Or(w.What, "everything")
		one := wait{Hold: view.Hold{
			What: w.What, By: string(w.By), Why: w.Why, Advice: w.Advice, Text: fmt.Sprintf("%s is held back by %s: %s", what, w.By, w.Why),
		}, Evidence: w.Evidence}
		if w.Until.After(facts.Now) {
			one.Until = duration.HumanDuration(w.Until.Sub(facts.Now))
		}
		waits = append(waits, one)
	}
	return waits
}
