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

// Package top is "kubectl podmanager top": all PodManagers and the stream of
// decisions on one screen, live. The numbers come from the API server; the
// decisions from the operator's recorder, or, where that cannot be asked, from
// the PodManagers' own history.
package top

import (
	"context"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/explain"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/flight"
	"github.com/mycompany/pod-operator/internal/view"
)

const (
	refresh = time.Second
	// reconnect is the pause before the recorder is asked again.
	reconnect = 3 * time.Second
	// onceWidth and onceHeight are the paper on which --once prints.
	onceWidth, onceHeight = 160, 40
	// earlier is how many decisions are asked for to begin with.
	earlier = 50
)

type options struct {
	explain    *explain.Options
	everywhere bool
	once       bool
}

// New makes the verb.
func New(s *kube.Session, e *explain.Options) *cobra.Command {
	o := &options{explain: e}
	cmd := &cobra.Command{
		Use:               "top",
		Short:             "Watch all PodManagers and the stream of decisions on one screen",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context(), s) },
	}
	cmd.Flags().BoolVarP(&o.everywhere, "all-namespaces", "A", false, "The PodManagers of all namespaces.")
	cmd.Flags().BoolVar(&o.once, "once", false, "Print the screen once and exit. This is the default when the output is not a terminal.")
	return cmd
}

func (o *options) run(ctx context.Context, s *kube.Session) error {
	c, err := s.Client()
	if err != nil {
		return err
	}
	feed := &feed{session: s, client: c, options: o, seen: map[string]bool{}}
	if o.once || !kube.Terminal(s.Out) || !kube.Terminal(s.In) {
		return feed.once(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	program := tea.NewProgram(NewModel(s.RawPaint(), 80, 24), tea.WithContext(ctx), tea.WithInput(s.In), tea.WithOutput(s.RawOut()))
	go feed.numbers(ctx, program.Send)
	go feed.decisions(ctx, program.Send)
	_, err = program.Run()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// feed sends a model what happens.
type feed struct {
	session *kube.Session
	client  client.Client
	options *options
	// seen are the history entries that were sent.
	seen map[string]bool
}

// look reads the PodManagers once.
func (f *feed) look(ctx context.Context) ([]appsv1.PodManager, []Row, error) {
	managers, err := f.session.List(ctx, f.client, f.options.everywhere)
	rows := make([]Row, len(managers))
	for i := range managers {
		rows[i] = rowOf(&managers[i])
	}
	return managers, rows, err
}

// once prints the screen as it is now.
func (f *feed) once(ctx context.Context) error {
	managers, rows, err := f.look(ctx)
	if err != nil {
		return err
	}
	m := tea.Model(NewModel(f.session.Paint(), onceWidth, onceHeight))
	tell := func(msg tea.Msg) { m, _ = m.Update(msg) }
	tell(rowsMsg{rows})
	operator, err := f.options.explain.Connect(ctx, f.session)
	var entries []flight.Entry
	if err == nil {
		defer operator.Close()
		entries, err = f.records(ctx, operator, managers)
	}
	if err != nil {
		tell(withoutRecorder(err))
	} else {
		tell(sourceMsg{"from the recorder", true})
	}
	for i := range entries {
		if entries[i].Acted() {
			tell(lineMsg{lineOf(&entries[i])})
		}
	}
	for _, line := range f.history(managers) {
		tell(lineMsg{line})
	}
	_, err = fmt.Fprintln(f.session.Out, m.(Model).Paper())
	return err
}

func withoutRecorder(err error) sourceMsg {
	return sourceMsg{text: "from the PodManagers' history; the recorder could not be asked: " + err.Error()}
}

// records are the newest of the PodManagers that are shown.
func (f *feed) records(ctx context.Context, operator *explain.Client, managers []appsv1.PodManager) ([]flight.Entry, error) {
	if f.options.everywhere {
		return operator.Records(ctx, explain.Query{Limit: earlier})
	}
	var all []flight.Entry
	for i := range managers {
		entries, err := operator.Records(ctx, explain.Query{Object: managers[i].Namespace + "/" + managers[i].Name, Limit: earlier})
		if err != nil {
			return nil, err
		}
		all = append(all, entries...)
	}
	return all, nil
}

// numbers sends the numbers every second, and the new entries of the histories:
// the model shows those where the recorder has none.
func (f *feed) numbers(ctx context.Context, send func(tea.Msg)) {
	ticker := time.NewTicker(refresh)
	defer ticker.Stop()
	for {
		managers, rows, err := f.look(ctx)
		if err != nil {
			send(problemMsg{err.Error()})
		} else {
			send(rowsMsg{rows})
			for _, line := range f.history(managers) {
				send(lineMsg{line})
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// decisions follows the recorder's stream, again and again.
func (f *feed) decisions(ctx context.Context, send func(tea.Msg)) {
	query := explain.Query{Limit: earlier}
	if !f.options.everywhere {
		query.Namespace, _ = f.session.Namespace()
	}
	for ctx.Err() == nil {
		operator, err := f.options.explain.Connect(ctx, f.session)
		if err == nil {
			send(sourceMsg{"from the recorder", true})
			err = operator.Stream(ctx, query, func(e flight.Entry) {
				if e.Acted() {
					send(lineMsg{lineOf(&e)})
				}
			})
			operator.Close()
		}
		if ctx.Err() == nil && err != nil {
			send(withoutRecorder(err))
		}
		select {
		case <-ctx.Done():
		case <-time.After(reconnect):
		}
	}
}

// history are the entries of the histories that were not sent yet.
func (f *feed) history(managers []appsv1.PodManager) []Line {
	var lines []Line
	for i := range managers {
		pm := &managers[i]
		for _, entry := range pm.Status.History {
			line := Line{
				Time: entry.Time.Time, History: true, Key: pm.Namespace + "/" + pm.Name, Text: view.Sentence(entry),
				ID: fmt.Sprintf("%s/%s/%s/%s", pm.UID, entry.Time.UTC().Format(time.RFC3339), entry.Action, entry.Reason),
			}
			if !f.seen[line.ID] {
				f.seen[line.ID] = true
				lines = append(lines, line)
			}
		}
	}
	slices.SortStableFunc(lines, func(a, b Line) int { return a.Time.Compare(b.Time) })
	return lines
}

func rowOf(pm *appsv1.PodManager) Row {
	st := &pm.Status
	r := Row{
		Key: pm.Namespace + "/" + pm.Name, Live: int(st.CurrentReplicas), Ready: int(st.ReadyReplicas), Updated: int(st.UpdatedReplicas),
		Available: int(st.AvailableReplicas), Rolling: st.CurrentRevision != "" && st.CurrentRevision != st.UpdateRevision,
	}
	if pm.Spec.Replicas != nil {
		r.Desired = int(*pm.Spec.Replicas)
	}
	r.State, _, r.Message = view.State(&pm.Status)
	return r
}

func lineOf(e *flight.Entry) Line {
	l := Line{ID: e.ID, Time: e.Start.Local(), Key: e.Object.Namespace + "/" + e.Object.Name, Text: e.Summary, Bad: e.Error != ""}
	l.Cause = flight.FirstCause(e.Causes)
	return l
}
