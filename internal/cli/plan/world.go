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
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/native"
	"github.com/mycompany/pod-operator/internal/view"
)

// world reads what surrounds a workload, with the rights of the person.
type world struct {
	client.Client
	native.World
	namespace string
}

// readAll reads the pods that a selector matches, what the kind needs besides, and what
// may stop a rollout. What the person may not read is noted.
func (w *world) readAll(ctx context.Context, selector client.MatchingLabelsSelector, more string) error {
	here := client.InNamespace(w.namespace)
	var (
		pods        corev1.PodList
		sets        kappsv1.ReplicaSetList
		revisions   kappsv1.ControllerRevisionList
		nodes       corev1.NodeList
		quotas      corev1.ResourceQuotaList
		autoscalers autoscalingv2.HorizontalPodAutoscalerList
		budgets     policyv1.PodDisruptionBudgetList
	)
	reads := []struct {
		source  string
		list    client.ObjectList
		options []client.ListOption
		needed  bool
	}{
		{native.Pods, &pods, []client.ListOption{here, selector}, true},
		{native.ReplicaSets, &sets, []client.ListOption{here, selector}, more == native.ReplicaSets},
		{native.Revisions, &revisions, []client.ListOption{here, selector}, more == native.Revisions || more == native.Nodes},
		{native.Nodes, &nodes, nil, more == native.Nodes},
		{native.Quotas, &quotas, []client.ListOption{here}, true},
		{native.Autoscalers, &autoscalers, []client.ListOption{here}, true},
		{native.Budgets, &budgets, []client.ListOption{here}, true},
	}
	for _, read := range reads {
		if !read.needed {
			continue
		}
		if err := w.list(ctx, read.source, read.list, read.options...); err != nil {
			return err
		}
	}
	w.Pods, w.ReplicaSets, w.Revisions, w.Nodes = pods.Items, sets.Items, revisions.Items, nodes.Items
	w.Quotas, w.Autoscalers, w.Budgets = quotas.Items, autoscalers.Items, budgets.Items
	return nil
}

// list reads a source, or notes why it cannot be read.
func (w *world) list(ctx context.Context, source string, list client.ObjectList, options ...client.ListOption) error {
	err := w.List(ctx, list, options...)
	switch {
	case apierrors.IsForbidden(err):
		w.Unread[source] = "you may not list " + source
	case meta.IsNoMatchError(err):
		w.Unread[source] = "this cluster has no " + source
	case err != nil:
		return fmt.Errorf("list the %s: %w", source, err)
	}
	return nil
}

// minorOf is the API server's version, 37 for 1.37; 0 is unknown.
func minorOf(s *kube.Session) int {
	config, err := s.Config()
	if err != nil {
		return 0
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return 0
	}
	version, err := d.ServerVersion()
	if err != nil {
		return 0
	}
	minor, err := strconv.Atoi(strings.TrimRight(version.Minor, "+"))
	if err != nil {
		return 0
	}
	return minor
}

// estimate is how long the waves take in which pods come, by how long the workload's pods
// took to become ready before.
func (w *world) estimate(plan *native.Plan, minReady int32) *view.Estimate {
	if plan.Waves == 0 {
		return nil
	}
	each, shown := native.StartTime(w.Pods)
	e := &view.Estimate{MinReadySeconds: int64(plan.Starts) * int64(minReady)}
	text := view.Count(plan.Waves, "wave")
	switch {
	case plan.Starts == 0:
		none := int64(0)
		e.Seconds = &none
		e.Text = text + ", at once."
		return e
	case shown == 0:
		e.Text = text + ", duration unknown: no ready pod shows how long a pod takes to become ready."
		return e
	}
	total := int64(plan.Starts)*int64(each/time.Second) + e.MinReadySeconds
	e.Seconds = &total
	e.Text = fmt.Sprintf("%s, in about %s: pods were ready %s after they were created", text,
		duration.HumanDuration(time.Duration(total)*time.Second), duration.HumanDuration(each))
	if minReady > 0 {
		e.Text += fmt.Sprintf("; minReadySeconds takes %ds in each wave", minReady)
	}
	e.Text += "; the time in which pods stop is not counted."
	return e
}
