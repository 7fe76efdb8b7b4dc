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

package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/lab/exercises/11-webhook/solution"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Exercise grades the file that the learner edits.
func Exercise() grade.Exercise { return exercise(New, Webhook()) }

// Solution grades the solution.
func Solution() grade.Exercise { return exercise(solution.New, solution.Webhook()) }

const served, guarded, mistakes = "each Web gets its settings", "no empty value is stored", "create a ConfigMap with an empty value"

func exercise(n grade.New, hook admissionregistrationv1.ValidatingWebhook) grade.Exercise {
	w := grade.Worlds(n, grade.Web(grade.Namespace, "web", 1))
	w.Objects = append(w.Objects, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: grade.Namespace, Name: "operator-cert", Labels: map[string]string{LabelOperator: "true"}},
		Data:       map[string]string{"expires": "2026-01-31T00:00:00Z"}, // the clock of the world starts on January 1
	})
	w.Admit = func(a sim.Admission) error { return call(hook, a) }
	w.Actions = []sim.Action{{Name: mistakes, Do: func(ctx context.Context, c client.Client) error {
		return c.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: grade.Namespace, Name: "bad"}, Data: map[string]string{"image": ""}})
	}}}
	w.Faults, w.MaxFaults, w.Jump = []sim.Fault{sim.ClockJump, sim.Crash}, 2, 90*24*time.Hour
	w.Invariants = []sim.Promise{{Name: guarded, Check: func(s *sim.State) error {
		for _, cm := range sim.All[*corev1.ConfigMap](s) {
			if empty(cm) {
				return fmt.Errorf("the ConfigMap %s was stored, and the webhook was not asked", cm.Name)
			}
		}
		return nil
	}}}
	w.Goals = []sim.Promise{{Name: served, Check: func(s *sim.State) error {
		if !slices.ContainsFunc(sim.All[*corev1.ConfigMap](s), func(cm *corev1.ConfigMap) bool { return cm.Name == "web-settings" }) {
			return fmt.Errorf("there is no web-settings, and the last reconcile failed: %w", s.Failing[grade.Namespace+"/web"])
		}
		return nil
	}}}
	return grade.Exercise{
		Number: "11", World: w, Breaks: served, Within: 10,
		Says: map[string]trace.Text{
			served:   {EN: "In the end each Web has its settings.", ZH: "最终每个 Web 都有自己的配置。"},
			guarded:  {EN: "No ConfigMap of a user with an empty value is ever stored.", ZH: "用户的 ConfigMap 只要含空值，就不会被存储。"},
			mistakes: {EN: "The user creates a ConfigMap with an empty value.", ZH: "用户创建一个含空值的 ConfigMap。"},
		},
		Real: func(ctx context.Context, c client.Client, namespace string) error {
			if err := c.Create(ctx, grade.Web(namespace, "web", 1)); err != nil {
				return err
			}
			return grade.Eventually(ctx, func(ctx context.Context) error {
				return c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web-settings"}, &corev1.ConfigMap{})
			})
		},
	}
}

func empty(cm *corev1.ConfigMap) bool {
	for _, value := range cm.Data {
		if value == "" {
			return true
		}
	}
	return false
}

// call is what an API server does with a webhook.
func call(hook admissionregistrationv1.ValidatingWebhook, a sim.Admission) error {
	cm, ok := a.Object.(*corev1.ConfigMap)
	if !ok || !matches(hook, cm) {
		return nil
	}
	switch {
	case a.Serving && empty(cm):
		return apierrors.NewForbidden(corev1.Resource("configmaps"), cm.Name, errors.New("a value is empty"))
	case a.Serving, hook.FailurePolicy != nil && *hook.FailurePolicy == admissionregistrationv1.Ignore:
		return nil
	}
	return apierrors.NewInternalError(fmt.Errorf("failed calling webhook %q: connection refused", hook.Name))
}

func matches(hook admissionregistrationv1.ValidatingWebhook, cm *corev1.ConfigMap) bool {
	if !slices.ContainsFunc(hook.Rules, func(r admissionregistrationv1.RuleWithOperations) bool {
		return slices.Contains(r.Resources, "configmaps") || slices.Contains(r.Resources, "*")
	}) {
		return false
	}
	if hook.ObjectSelector == nil {
		return true
	}
	selector, err := metav1.LabelSelectorAsSelector(hook.ObjectSelector)
	return err == nil && selector.Matches(labels.Set(cm.Labels))
}
