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
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
	"github.com/mycompany/pod-operator/internal/view"
)

// refresh is how often --watch looks again.
const refresh = time.Second

// The tables of -o.
const (
	tableWide  = "wide"
	tableNames = "name"
)

type options struct {
	watch, everywhere bool
	output            kube.Output
}

// New makes the verb.
func New(s *kube.Session) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "status [NAME | pod/POD | TYPE/NAME]",
		Short: "Show a PodManager with its revisions and pods, and what it waits for",
		Long: "Show a PodManager with its revisions and pods, what it waits for, and how far a rollout is. Without a name, show\n" +
			"all of the namespace, or with -A of all namespaces, a line each. TYPE is pm, imoocpod or helloworld.",
		Example: "  kubectl podmanager status web --watch\n  kubectl podmanager status -A",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: s.CompleteName,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && o.everywhere:
				return errors.New("a name is looked for in one namespace: leave the name or -A out")
			case len(args) == 1:
				return o.one(cmd, s, args[0])
			case o.watch:
				return errors.New("--watch follows one PodManager: give its name, or use top")
			}
			return o.all(cmd, s)
		},
	}
	o.output.Bind(cmd, tableWide, tableNames)
	cmd.Flags().BoolVarP(&o.watch, "watch", "w", false, "Go on until the PodManager is at its goal.")
	cmd.Flags().BoolVarP(&o.everywhere, "all-namespaces", "A", false, "The PodManagers of all namespaces.")
	return cmd
}

// all prints a line for each PodManager.
func (o *options) all(cmd *cobra.Command, s *kube.Session) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	c, err := s.Client()
	if err != nil {
		return err
	}
	managers, err := s.List(cmd.Context(), c, o.everywhere)
	if err != nil {
		return err
	}
	if o.output.Structured() {
		summaries := make([]summary, len(managers))
		for i := range managers {
			summaries[i] = summarize(&managers[i], &managers[i].Status)
		}
		return o.output.Print(s.Out, map[string]any{"items": summaries})
	}
	if o.output.Is(tableNames) {
		return printNames(s.Out, kube.PodManagers.Kind.Kind, managers)
	}
	return o.printAll(s.Out, s.Paint(), managers)
}

// one prints the tree of one, once or until it is at its goal.
func (o *options) one(cmd *cobra.Command, s *kube.Session, name string) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	c, err := s.Client()
	if err != nil {
		return err
	}
	if ref, err := kube.ParseRef(name, kube.PodManagers, kube.Pods, kube.ImoocPods, kube.HelloWorlds); err != nil {
		return err
	} else if ref.Kind == kube.HelloWorlds.Kind {
		return o.helloWorld(cmd, s, c, ref.Name)
	}
	wipe := o.watch && kube.Terminal(s.Out)
	for {
		pm, kind, sight, err := s.LookAt(cmd.Context(), c, name)
		if err != nil {
			return err
		}
		if wipe {
			fmt.Fprint(s.RawOut(), "\033[H\033[2J")
		}
		switch {
		case o.output.Structured():
			err = o.output.Print(s.Out, detailOf(pm, &sight))
		case o.output.Is(tableNames):
			err = printNames(s.Out, kind, []appsv1.PodManager{*pm})
		default:
			err = Print(s.Out, s.Paint(), kind, pm, &sight)
		}
		if err != nil || !o.watch || settled(pm.Generation, &pm.Status) && settled(pm.Generation, &sight.Status) {
			return err
		}
		select {
		case <-cmd.Context().Done():
			return nil
		case <-time.After(refresh):
		}
	}
}

// settled: nothing is under way for this generation.
func settled(generation int64, status *appsv1.PodManagerStatus) bool {
	return status.ObservedGeneration == generation && !slices.ContainsFunc(status.Conditions, func(c metav1.Condition) bool { return c.Type == appsv1.ConditionReconciling })
}

// printAll prints a line for each PodManager, with its namespace where they are of
// several.
func (o *options) printAll(out io.Writer, paint kube.Paint, managers []appsv1.PodManager) error {
	if len(managers) == 0 {
		_, err := fmt.Fprintln(out, "There is no PodManager.")
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	line := func(namespace, rest, image, revision, message string) {
		if o.everywhere {
			rest = namespace + "\t" + rest
		}
		if o.output.Is(tableWide) {
			rest += "\t" + image + "\t" + revision
		}
		fmt.Fprintln(w, rest+"\t"+message)
	}
	line("NAMESPACE", "NAME\tDESIRED\tREADY\tUPDATED\tAVAILABLE\t"+paint.Plain("STATE"), "IMAGE", "REVISION", "MESSAGE")
	for i := range managers {
		m := summarize(&managers[i], &managers[i].Status)
		line(m.Namespace, fmt.Sprintf("%s\t%d\t%d\t%d\t%d\t%s", m.Name, m.Desired, m.Ready, m.Updated, m.Available, stateColour(paint, m.State, m.State)),
			orDash(imagesOf(&managers[i])), orDash(managers[i].Status.UpdateRevision), m.Message)
	}
	return w.Flush()
}

func imagesOf(pm *appsv1.PodManager) string {
	if pm.Spec.Image != "" || pm.Spec.Template == nil {
		return pm.Spec.Image
	}
	var images []string
	for i := range pm.Spec.Template.Spec.Containers {
		images = append(images, pm.Spec.Template.Spec.Containers[i].Image)
	}
	return strings.Join(images, ",")
}

// resourceOf is how kubectl names a kind of ours: imoocpod.batch.mycompany.com.
func resourceOf(kind string) string {
	for _, t := range []kube.Type{kube.ImoocPods, kube.HelloWorlds} {
		if t.Kind.Kind == kind {
			return strings.ToLower(kind) + "." + t.Kind.Group
		}
	}
	return "podmanager." + appsv1.GroupVersion.Group
}

func printNames(out io.Writer, kind string, managers []appsv1.PodManager) error {
	for i := range managers {
		if _, err := fmt.Fprintln(out, resourceOf(kind)+"/"+managers[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// Print prints the tree of an object of a kind that has one.
func Print(out io.Writer, paint kube.Paint, kind string, pm *appsv1.PodManager, sight *kube.Sight) error {
	m := summarize(pm, &sight.Status)
	printTitle(out, paint, kind, &m)
	fmt.Fprintf(out, "  desired %d   live %d   ready %d   up to date %d   available %d   terminating %d\n",
		m.Desired, m.Live, m.Ready, m.Updated, m.Available, m.Terminating)
	about := view.Subject{Name: pm.Name, Unseen: view.Unseen(pm.Generation, &pm.Status)}
	if about.Unseen != "" {
		fmt.Fprintf(out, "  %s\n", paint.Warn(about.Unseen))
	}
	if p := sight.Progress; p != nil {
		what := "rollout"
		if p.Revision == "" {
			what = "restart"
		}
		fmt.Fprintf(out, "  %s [%s] %d of %d\n", what, view.Bar(p.Done, p.Total, 30), p.Done, p.Total)
	}
	if err := printRevisions(out, paint, sight); err != nil {
		return err
	}
	for _, b := range about.Begun(sight.Decision.Blocked) {
		hold := view.NewHold(b, about, sight.Now)
		fmt.Fprintf(out, "  %s\n", strings.Replace(hold.Text, hold.By, paint.Warn(hold.By), 1))
	}
	return nil
}

func printTitle(out io.Writer, paint kube.Paint, kind string, m *summary) {
	said := m.State
	if m.Reason != "" && m.Reason != m.State {
		said += ": " + m.Reason
	}
	fmt.Fprintf(out, "%s %s/%s   %s\n", kind, m.Namespace, m.Name, stateColour(paint, m.State, said+": "+m.Message))
}

func stateColour(paint kube.Paint, state, text string) string {
	switch state {
	case appsv1.ConditionStalled:
		return paint.Bad(text)
	case appsv1.ConditionReady:
		return paint.Good(text)
	case appsv1.ConditionPinned:
		return paint.Warn(text)
	}
	return paint.Busy(text)
}

func printRevisions(out io.Writer, paint kube.Paint, sight *kube.Sight) error {
	st, observed := sight.Status, &sight.Observed
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
		printPods(w, paint, fmt.Sprintf("revision %d %s%s", r.Number, r.Name, role(st, r.Name)), pods, sight)
	}
	for _, name := range slices.Sorted(maps.Keys(byRevision)) {
		printPods(w, paint, "revision "+name+" (not stored)", byRevision[name], sight)
	}
	return w.Flush()
}

func role(st appsv1.PodManagerStatus, name string) string {
	pinned := meta.IsStatusConditionTrue(st.Conditions, appsv1.ConditionPinned)
	switch {
	case name == st.UpdateRevision && name == st.CurrentRevision && pinned:
		return " (current, pinned)"
	case name == st.UpdateRevision && name == st.CurrentRevision:
		return " (current)"
	case name == st.UpdateRevision:
		return " (moving to)"
	case name == st.CurrentRevision:
		return " (moving from)"
	}
	return ""
}

func printPods(w io.Writer, paint kube.Paint, title string, pods []plan.Pod, sight *kube.Sight) {
	fmt.Fprintf(w, "  %s\n", title)
	slices.SortFunc(pods, func(a, b plan.Pod) int {
		if a.Slot != b.Slot {
			return a.Slot - b.Slot
		}
		return strings.Compare(a.Name, b.Name)
	})
	for i := range pods {
		p, branch := &pods[i], "├─"
		if i == len(pods)-1 {
			branch = "└─"
		}
		fmt.Fprintf(w, "  %s %s\t%s\t%s\trestarts %d\tnode %s\n", branch, p.Name, podColour(paint, p, sight),
			kube.Age(p.Created, sight.Now), p.Restarts, orDash(p.Node))
	}
}

func podColour(paint kube.Paint, p *plan.Pod, sight *kube.Sight) string {
	state, text := view.PodState(p, sight.Desired.MinReady, sight.Now)
	switch state {
	case view.PodTerminating:
		return paint.Soft(text)
	case view.PodFailed, view.PodLost, view.PodWaiting:
		return paint.Bad(text)
	case view.PodReady:
		return paint.Good(text)
	}
	return paint.Busy(text)
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// summary is a PodManager in numbers, for programs and for a line.
type summary struct {
	Namespace   string `json:"namespace"`
	Name        string `json:"name"`
	Desired     int32  `json:"desired"`
	Live        int32  `json:"live"`
	Ready       int32  `json:"ready"`
	Updated     int32  `json:"updated"`
	Available   int32  `json:"available"`
	Terminating int32  `json:"terminating"`
	State       string `json:"state"`
	Reason      string `json:"reason,omitempty"`
	Message     string `json:"message,omitempty"`
}

func summarize(pm *appsv1.PodManager, st *appsv1.PodManagerStatus) summary {
	m := summary{
		Namespace: pm.Namespace, Name: pm.Name, Desired: desired.Replicas(pm), Live: st.CurrentReplicas, Ready: st.ReadyReplicas,
		Updated: st.UpdatedReplicas, Available: st.AvailableReplicas, Terminating: st.TerminatingReplicas,
	}
	m.State, m.Reason, m.Message = view.State(st)
	return m
}

// detail is all that the tree shows, for programs.
type detail struct {
	summary
	Progress  *report.Progress `json:"progress,omitempty"`
	Revisions []plan.Revision  `json:"revisions"`
	Pods      []pod            `json:"pods"`
	Held      []view.Hold      `json:"held"`
}

type pod struct {
	Name     string    `json:"name"`
	Revision string    `json:"revision,omitempty"`
	State    string    `json:"state"`
	Node     string    `json:"node,omitempty"`
	Restarts int       `json:"restarts"`
	Created  time.Time `json:"created"`
}

func detailOf(pm *appsv1.PodManager, sight *kube.Sight) detail {
	about := view.Subject{Name: pm.Name, Flags: " -n " + pm.Namespace, Unseen: view.Unseen(pm.Generation, &pm.Status)}
	d := detail{
		summary: summarize(pm, &sight.Status), Progress: sight.Progress, Revisions: sight.Observed.Revisions, Pods: []pod{},
		Held: view.Holds(&sight.Status, sight.Causes, sight.Decision.Blocked, about, sight.Now),
	}
	for i := range sight.Observed.Pods {
		p := &sight.Observed.Pods[i]
		_, text := view.PodState(p, sight.Desired.MinReady, sight.Now)
		d.Pods = append(d.Pods, pod{Name: p.Name, Revision: p.Revision, State: text, Node: p.Node, Restarts: p.Restarts, Created: p.Created})
	}
	return d
}
