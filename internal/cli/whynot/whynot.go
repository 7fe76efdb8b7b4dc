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
// and the controller's planner is asked, so that it works without the operator.
package whynot

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/view"
)

// New makes the verb.
func New(s *kube.Session) *cobra.Command {
	output := kube.Output{}
	cmd := &cobra.Command{
		Use:               "why-not (NAME | pod/POD)",
		Short:             "Tell what is held back, by what, and what to do about it",
		Args:              cobra.ExactArgs(1),
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
	pm, err := s.Get(cmd.Context(), c, name)
	if err != nil {
		return err
	}
	sight, err := kube.Look(cmd.Context(), c, pm)
	if err != nil {
		return err
	}
	about := view.Subject{Name: pm.Name, Flags: s.Hint()}
	holds := view.Holds(&sight.Status, sight.Causes, sight.Decision.Blocked, about, sight.Now)
	if output.Structured() {
		return output.Print(s.Out, map[string]any{"items": holds})
	}
	return Print(s.Out, s.Paint(), &sight.Status, holds)
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
		what := h.What
		if what == "" {
			what = "everything"
		}
		if _, err := fmt.Fprintf(out, "%s is held back by %s: %s\n", what, paint.Warn(h.By), h.Why); err != nil {
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
