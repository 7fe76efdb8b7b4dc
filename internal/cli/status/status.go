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

// Package status is "kubectl podmanager status": the tree of a PodManager, its
// revisions and its pods, with what it is waiting for.
package status

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/view"
)

// refresh is how often --watch looks again.
const refresh = time.Second

// New makes the verb.
func New(s *kube.Session) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "status NAME",
		Short: "Show a PodManager with its revisions and pods, and what it waits for",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd, s, args[0], watch)
		},
	}
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "Go on until the PodManager is at its goal.")
	return cmd
}

func run(cmd *cobra.Command, s *kube.Session, name string, watch bool) error {
	c, err := s.Client()
	if err != nil {
		return err
	}
	wipe := watch && kube.Terminal(s.Out)
	for {
		pm, err := s.Get(cmd.Context(), c, name)
		if err != nil {
			return err
		}
		fleet, seen, err := kube.Observe(cmd.Context(), c, pm)
		if err != nil {
			return err
		}
		now := time.Now()
		decision := plan.Plan(fleet.Desired, seen.Observed, now)
		if wipe {
			fmt.Fprint(s.Out, "\033[H\033[2J")
		}
		if err := Print(s.Out, pm, seen, decision, now); err != nil {
			return err
		}
		if !watch || settled(pm) {
			return nil
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-time.After(refresh):
		}
	}
}

func settled(pm *appsv1.PodManager) bool {
	if pm.Status.ObservedGeneration != pm.Generation {
		return false
	}
	return !slices.ContainsFunc(pm.Status.Conditions, func(c metav1.Condition) bool { return c.Type == appsv1.ConditionReconciling })
}

// Print prints the tree.
func Print(out io.Writer, pm *appsv1.PodManager, seen observe.Seen, decision plan.Decision, now time.Time) error {
	fmt.Fprintf(out, "PodManager %s/%s   %s\n", pm.Namespace, pm.Name, state(pm))
	st := pm.Status
	desired := 0
	if pm.Spec.Replicas != nil {
		desired = int(*pm.Spec.Replicas)
	}
	fmt.Fprintf(out, "  desired %d   live %d   ready %d   up to date %d   available %d   terminating %d\n",
		desired, st.CurrentReplicas, st.ReadyReplicas, st.UpdatedReplicas, st.AvailableReplicas, st.TerminatingReplicas)
	if st.CurrentRevision != st.UpdateRevision && st.CurrentRevision != "" {
		fmt.Fprintf(out, "  rollout [%s] %d of %d\n", view.Bar(int(st.UpdatedReplicas), desired, 30), st.UpdatedReplicas, desired)
	}
	if err := printRevisions(out, st, seen.Observed, now); err != nil {
		return err
	}
	for _, b := range decision.Blocked {
		pods := b.Pod
		if b.Count > 1 {
			pods = fmt.Sprintf("%s and %d more", b.Pod, b.Count-1)
		}
		fmt.Fprintf(out, "  held back by %s: %s\n", b.By, strings.TrimSpace(pods+" "+b.Message))
	}
	return nil
}

func state(pm *appsv1.PodManager) string {
	for _, kind := range []string{appsv1.ConditionStalled, appsv1.ConditionReconciling, appsv1.ConditionReady} {
		for _, c := range pm.Status.Conditions {
			if c.Type == kind {
				return fmt.Sprintf("%s: %s: %s", c.Type, c.Reason, c.Message)
			}
		}
	}
	return "not looked at yet"
}

func printRevisions(out io.Writer, st appsv1.PodManagerStatus, observed plan.Observed, now time.Time) error {
	byRevision := map[string][]plan.Pod{}
	for _, p := range observed.Pods {
		byRevision[p.Revision] = append(byRevision[p.Revision], p)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	revisions := slices.Clone(observed.Revisions)
	slices.SortFunc(revisions, func(a, b plan.Revision) int { return int(b.Number - a.Number) })
	for _, r := range revisions {
		pods := byRevision[r.Name]
		delete(byRevision, r.Name)
		if len(pods) == 0 && r.Name != st.UpdateRevision {
			continue
		}
		printPods(w, fmt.Sprintf("revision %d %s%s", r.Number, r.Name, role(st, r.Name)), pods, now)
	}
	for name, pods := range byRevision {
		printPods(w, "revision "+name+" (not stored)", pods, now)
	}
	return w.Flush()
}

func role(st appsv1.PodManagerStatus, name string) string {
	switch {
	case name == st.UpdateRevision && name == st.CurrentRevision:
		return " (current)"
	case name == st.UpdateRevision:
		return " (moving to)"
	case name == st.CurrentRevision:
		return " (moving from)"
	}
	return ""
}

func printPods(w io.Writer, title string, pods []plan.Pod, now time.Time) {
	fmt.Fprintf(w, "  %s\n", title)
	slices.SortFunc(pods, func(a, b plan.Pod) int {
		if a.Slot != b.Slot {
			return a.Slot - b.Slot
		}
		return strings.Compare(a.Name, b.Name)
	})
	for i, p := range pods {
		branch := "├─"
		if i == len(pods)-1 {
			branch = "└─"
		}
		fmt.Fprintf(w, "  %s %s\t%s\t%s\trestarts %d\tnode %s\n", branch, p.Name, podState(p), kube.Age(p.Created, now), p.Restarts, orDash(p.Node))
	}
}

func podState(p plan.Pod) string {
	switch {
	case p.Terminating:
		return "terminating"
	case p.Waiting != "":
		return p.Waiting
	case p.Changing:
		return "changing in place"
	case p.Ready:
		return "ready"
	}
	return strings.ToLower(string(p.Phase)) + ", not ready"
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
