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

// Package whynot is "kubectl podmanager why-not": what should happen and does
// not, what holds it back, and what to do about it. The pods are looked at live
// and the controller's planner is asked, so that it works without the operator. For
// the built-in workloads it is what their own status and pods say.
package whynot

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/view"
)

const long = `Tell what should happen and does not, what holds it back, and what to do about it: for a PodManager, for the
PodManager of a pod, or for all PodManagers with pods on a node, because a drain of the node waits for one of them.

TYPE is pm, imoocpod or helloworld; or deployment, statefulset, daemonset or replicaset: for these, and for pods that
they own, the cluster's own records answer, on any cluster.`

// New makes the verb.
func New(s *kube.Session) *cobra.Command {
	output := kube.Output{}
	cmd := &cobra.Command{
		Use:               "why-not (NAME | pod/POD | node/NODE | TYPE/NAME)",
		Short:             "Tell what is held back, by what, and what to do about it",
		Long:              long,
		Args:              kube.One("NAME, pod/POD, node/NODE or TYPE/NAME"),
		ValidArgsFunction: s.CompleteName,
		RunE:              func(cmd *cobra.Command, args []string) error { return run(cmd, s, &output, args[0]) },
	}
	output.Bind(cmd)
	return cmd
}

func run(cmd *cobra.Command, s *kube.Session, output *kube.Output, name string) error {
	if err := output.Check(); err != nil {
		return err
	}
	c, err := s.Client()
	if err != nil {
		return err
	}
	ref, err := kube.ParseRef(name, slices.Concat(
		[]kube.Type{kube.PodManagers, kube.Nodes, kube.Pods, kube.ImoocPods, kube.HelloWorlds}, kube.BuiltIn())...)
	if err != nil {
		return err
	}
	if ref.Kind == kube.Nodes.Kind {
		return runNode(cmd.Context(), s, c, output, ref.Name)
	}
	native, err := isNative(cmd.Context(), s, c, ref)
	switch {
	case err != nil:
		return err
	case native:
		return runNative(cmd.Context(), s, c, output, ref)
	}
	pm, _, sight, err := s.LookAt(cmd.Context(), c, name)
	if err != nil {
		return err
	}
	status, holds := &sight.Status, holdsOf(pm, &sight, s.Hint())
	if output.Structured() {
		return output.Print(s.Out, map[string]any{"items": holds})
	}
	return Print(s.Out, s.Paint(), status, holds)
}

func look(ctx context.Context, c client.Client, pm *appsv1.PodManager, flags string) (*appsv1.PodManagerStatus, []view.Hold, error) {
	sight, err := kube.Look(ctx, c, pm)
	if err != nil {
		return nil, nil, err
	}
	return &sight.Status, holdsOf(pm, &sight, flags), nil
}

func holdsOf(pm *appsv1.PodManager, sight *kube.Sight, flags string) []view.Hold {
	return view.Holds(&sight.Status, sight.Causes, sight.Decision.Blocked, view.Subject{Name: pm.Name, Flags: flags, Unseen: view.Unseen(pm.Generation, &pm.Status)}, sight.Now)
}

// manager is what holds one PodManager with pods on a node back.
type manager struct {
	Namespace string      `json:"namespace"`
	Name      string      `json:"name"`
	Items     []view.Hold `json:"items"`
	status    *appsv1.PodManagerStatus
}

// runNode is about all PodManagers with pods on a node.
func runNode(ctx context.Context, s *kube.Session, c client.Client, output *kube.Output, node string) error {
	keys, others, err := s.ManagersOn(ctx, c, node)
	if err != nil {
		return err
	}
	managers := []manager{}
	for _, key := range keys {
		pm := &appsv1.PodManager{}
		if err := c.Get(ctx, key, pm); err != nil {
			return fmt.Errorf("read PodManager %s: %w", key, err)
		}
		m := manager{Namespace: key.Namespace, Name: key.Name}
		if m.status, m.Items, err = look(ctx, c, pm, " -n "+key.Namespace); err != nil {
			return err
		}
		managers = append(managers, m)
	}
	if len(managers) == 0 && others == 0 {
		// Who may not read nodes sees those that have pods only.
		if err := c.Get(ctx, client.ObjectKey{Name: node}, &corev1.Node{}); err != nil {
			return fmt.Errorf("read node %s: %w", node, err)
		}
	}
	if output.Structured() {
		return output.Print(s.Out, map[string]any{"managers": managers, "others": others})
	}
	for i := range managers {
		fmt.Fprintf(s.Out, "PodManager %s/%s\n", managers[i].Namespace, managers[i].Name)
		if err := Print(s.Out, s.Paint(), managers[i].status, managers[i].Items); err != nil {
			return err
		}
	}
	if len(managers) == 0 {
		fmt.Fprintf(s.Out, "Node %s has no pods of PodManagers.\n", node)
	}
	if others > 0 {
		fmt.Fprintf(s.Out, "%s on the node that no PodManager controls.\n", view.Count(others, "pod"))
	}
	return nil
}

// Print prints what is held back.
func Print(out io.Writer, paint kube.Paint, status *appsv1.PodManagerStatus, holds []view.Hold) error {
	if len(holds) == 0 {
		message := "Nothing is held back."
		if going := meta.FindStatusCondition(status.Conditions, appsv1.ConditionReconciling); going != nil {
			message += " It is under way: " + going.Message
		}
		_, err := fmt.Fprintln(out, message)
		return err
	}
	for _, h := range holds {
		if _, err := fmt.Fprintln(out, strings.Replace(h.Text, h.By, paint.Warn(h.By), 1)); err != nil {
			return err
		}
		if h.Until != "" {
			fmt.Fprintf(out, "    ends     by itself in %s\n", h.Until)
		}
		if h.Advice != "" {
			fmt.Fprintf(out, "    to do    %s\n", h.Advice)
		}
	}
	return nil
}
