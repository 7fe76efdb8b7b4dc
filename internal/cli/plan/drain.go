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
	"io"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/change"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/view"
)

// errHarmful says that a drain would cost available pods, or would wait: exit
// code 2.
var errHarmful = fmt.Errorf("the drain would take pods away before they are replaced, or would wait: %w", kube.ErrNo)

// Drain is what -o json and -o yaml print of a drain.
type Drain struct {
	Node string `json:"node"`
	// Items are the plans of the PodManagers with pods on the node.
	Items []Plan `json:"items"`
	// Others counts the pods of the node that no PodManager controls.
	Others int `json:"others"`
	// Harmful: pods would go before they are replaced, or the drain would wait.
	Harmful bool `json:"harmful"`
}

const drainLong = `Show what kubectl drain would do to the pods of all PodManagers on a node: what moves, in which waves, how long
that takes, and what blocks it. Nothing is changed. Pods of other workloads are counted, not planned.

The exit code is 2 when pods would go before they are replaced, or when the drain would have to wait for something.`

func newDrain(s *kube.Session) *cobra.Command {
	output := &kube.Output{}
	cmd := &cobra.Command{
		Use: "drain NODE", Short: "Show what a drain of a node would do to the pods of PodManagers", Long: drainLong,
		Example: "  kubectl podmanager plan drain node-1",
		Args:    kube.One("the name of a node"), ValidArgsFunction: s.CompleteNode,
		RunE: func(cmd *cobra.Command, args []string) error { return runDrain(cmd.Context(), s, output, args[0]) },
	}
	output.Bind(cmd)
	return cmd
}

func runDrain(ctx context.Context, s *kube.Session, output *kube.Output, node string) error {
	if err := output.Check(); err != nil {
		return err
	}
	c, err := s.Client()
	if err != nil {
		return err
	}
	if err := c.Get(ctx, client.ObjectKey{Name: node}, &corev1.Node{}); err != nil && !apierrors.IsForbidden(err) {
		return fmt.Errorf("read node %s: %w", node, err)
	}
	owners, others, err := s.ManagersOn(ctx, c, node)
	if err != nil {
		return err
	}
	d := Drain{Node: node, Items: []Plan{}, Others: others}
	for _, key := range owners {
		p, err := planDrain(ctx, c, key, node)
		if err != nil {
			return err
		}
		d.Items = append(d.Items, p)
		d.Harmful = d.Harmful || p.Counts[view.Evict]+p.Counts[view.Held] > 0
	}
	if output.Structured() {
		err = output.Print(s.Out, d)
	} else {
		err = d.print(s.Out, s.Paint())
	}
	if err == nil && d.Harmful {
		err = errHarmful
	}
	return err
}

// planDrain plans what a drain does to one PodManager.
func planDrain(ctx context.Context, c client.Client, key types.NamespacedName, node string) (Plan, error) {
	pm := &appsv1.PodManager{}
	if err := c.Get(ctx, key, pm); err != nil {
		return Plan{}, fmt.Errorf("read PodManager %s: %w", key, err)
	}
	fleet := desired.PodManager(pm)
	pretended := &drained{Reader: c, node: node, owner: pm.UID, waits: fleet.Desired.Disruption.SurgeFirst, now: time.Now()}
	look := change.Look{Reader: pretended, Observer: change.Live{Reader: pretended}, Now: pretended.now}
	preview, err := look.Outlook(ctx, fleet)
	if err != nil {
		return Plan{}, fmt.Errorf("plan PodManager %s: %w", key, err)
	}
	p := Plan{APIVersion: desired.PodManagerGVK.GroupVersion().String(), Kind: desired.PodManagerGVK.Kind, Namespace: key.Namespace, Name: key.Name, Preview: preview}
	budgets, err := budgetsIn(ctx, c, key.Namespace)
	if err != nil {
		return p, err
	}
	var steps []view.Step
	for i := range pretended.evicted {
		steps = append(steps, evicted(&pretended.evicted[i], &fleet, budgets))
	}
	p.Preview = budgets.hold(p.Preview, pretended.asked, fleet.Desired.Disruption.MaxSurge).Before(steps)
	return p, nil
}

// evicted is what an eviction does to a pod that does not wait for a replacement.
func evicted(pod *corev1.Pod, fleet *desired.Fleet, budgets budgets) view.Step {
	step := view.Step{What: view.Evict, Pod: pod.Name, Reason: appsv1.WhyEvicted, Why: "it does not serve", Wave: 1}
	switch {
	case len(fleet.Desired.Claims.Templates) > 0:
		step.Why = "it has volume claims of its own, so that no other pod can stand in for it"
	case !fleet.Desired.Disruption.SurgeFirst:
		step.Why = "disruption.policy is Allow: it is replaced afterwards"
	}
	if why := budgets.refuse(pod, 0); why != "" {
		step.What, step.Wave, step.Reason, step.Why = view.Held, 0, appsv1.BlockedByDisruptionBudget, why
	}
	return step
}

func (d *Drain) print(out io.Writer, paint kube.Paint) error {
	for i := range d.Items {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := d.Items[i].show(out, paint); err != nil {
			return err
		}
	}
	if len(d.Items) == 0 {
		fmt.Fprintf(out, "Node %s has no pods of PodManagers.\n", d.Node)
	}
	if d.Others > 0 {
		if _, err := fmt.Fprintf(out, "\nNot planned: %s of node %s that no PodManager controls\n", view.Count(d.Others, "pod"), d.Node); err != nil {
			return err
		}
	}
	return nil
}

// drained shows the world as it is when a node is cordoned and all pods of one
// owner on it were asked to go: those whose eviction waits carry the request,
// the others terminate.
type drained struct {
	client.Reader
	node  string
	owner types.UID
	waits bool
	now   time.Time
	// evicted are the pods that terminate, and asked those that wait for a
	// replacement.
	evicted, asked []corev1.Pod
}

// Get implements client.Reader.
func (d *drained) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := d.Reader.Get(ctx, key, obj, opts...)
	if node, ok := obj.(*corev1.Node); ok && err == nil {
		d.cordon(node)
	}
	return err
}

// List implements client.Reader.
func (d *drained) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := d.Reader.List(ctx, list, opts...); err != nil {
		return err
	}
	switch list := list.(type) {
	case *corev1.NodeList:
		for i := range list.Items {
			d.cordon(&list.Items[i])
		}
	case *corev1.PodList:
		d.evicted, d.asked = nil, nil // the list may be read again
		for i := range list.Items {
			d.evict(&list.Items[i])
		}
	}
	return nil
}

func (d *drained) cordon(node *corev1.Node) {
	node.Spec.Unschedulable = node.Spec.Unschedulable || node.Name == d.node
}

// evict asks a pod to go.
func (d *drained) evict(pod *corev1.Pod) {
	owner := metav1.GetControllerOf(pod)
	if pod.Spec.NodeName != d.node || owner == nil || owner.UID != d.owner || pod.DeletionTimestamp != nil {
		return
	}
	if !d.waits || !observe.Ready(pod) {
		d.evicted = append(d.evicted, *pod)
		pod.DeletionTimestamp = &metav1.Time{Time: d.now}
		return
	}
	d.asked = append(d.asked, *pod)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, appsv1.AnnotationEvictionRequested, d.now.UTC().Format(time.RFC3339))
}
