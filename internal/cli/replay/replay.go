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

// Package replay is "kubectl podmanager replay": it decides again, at a desk and
// days later, what the operator decided then. The planner is a pure function, so
// that a recorded observation and desired state give the same decision; where
// they do not, the planner is another one now, and replay shows the difference.
package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mycompany/pod-operator/internal/cli/explain"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/flight"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/view"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

type options struct {
	explain *explain.Options
	file    string
	save    string
	object  string
	verbose bool
}

// New makes the verb.
func New(s *kube.Session, e *explain.Options) *cobra.Command {
	o := &options{explain: e}
	cmd := &cobra.Command{
		Use:   "replay (-f FILE | NAME [--save FILE])",
		Short: "Decide again, offline, what was decided then",
		Long: "Decide again what the operator decided, from what it had recorded, with the planner in this program. The exit code\n" +
			"is 2 when a decision is another now. FILE holds records, one JSON object a line, as the operator writes them with\n" +
			"--record-file and this command with --save; it takes no cluster. NAME asks the operator for its records.",
		Example: "  kubectl podmanager replay web --save web.jsonl\n  kubectl podmanager replay -f web.jsonl",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: s.CompleteName,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args) },
	}
	cmd.Flags().StringVarP(&o.file, "filename", "f", "", "The file with the records, or - for standard input.")
	cmd.Flags().StringVar(&o.save, "save", "", "A file to write the records to.")
	cmd.Flags().StringVar(&o.object, "object", "", "Only the records of this NAMESPACE/NAME.")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "Show every decision, not only those that differ.")
	return cmd
}

func (o *options) run(ctx context.Context, s *kube.Session, args []string) error {
	if (o.file == "") == (len(args) == 0) {
		return errors.New("give a file with -f, or the name of a PodManager")
	}
	if o.file != "" && o.save != "" {
		return errors.New("--save is for records that are asked of the operator: leave -f or --save out")
	}
	tally := &tally{out: s.Out, paint: s.Paint(), verbose: o.verbose}
	stats, err := o.read(ctx, s, args, func(r *flightrecorder.Record) error {
		if o.object != "" && o.object != r.Object.Namespace+"/"+r.Object.Name {
			return nil
		}
		return tally.take(r)
	})
	if err != nil {
		return err
	}
	return tally.conclude(stats.Broken)
}

// read visits the records, oldest first. A file that the operator has rotated
// is read from its oldest part on.
func (o *options) read(ctx context.Context, s *kube.Session, args []string, visit func(*flightrecorder.Record) error) (flightrecorder.ReplayStats, error) {
	switch o.file {
	case "":
	case "-":
		return flightrecorder.ReadRecords(s.In, visit)
	default:
		return flightrecorder.ReadFiles(o.file, visit)
	}
	lines, err := o.fetch(ctx, s, args[0])
	if err != nil {
		return flightrecorder.ReplayStats{}, err
	}
	if o.save != "" {
		// They hold names of pods and nodes, so only the user may read them.
		if err := os.WriteFile(o.save, lines, 0o600); err != nil {
			return flightrecorder.ReplayStats{}, fmt.Errorf("save the records: %w", err)
		}
	}
	return flightrecorder.ReadRecords(bytes.NewReader(lines), visit)
}

// fetch asks the operator for all records of a PodManager, whole.
func (o *options) fetch(ctx context.Context, s *kube.Session, word string) ([]byte, error) {
	c, err := s.Client()
	if err != nil {
		return nil, err
	}
	key, err := s.Manager(ctx, c, word)
	if err != nil {
		return nil, err
	}
	operator, err := o.explain.Connect(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("the operator could not be asked for its records: %w", err)
	}
	defer operator.Close()
	entries, err := operator.Records(ctx, explain.Query{Object: key.String(), Limit: 500})
	if err != nil {
		return nil, fmt.Errorf("the operator could not be asked for its records: %w", err)
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for i := len(entries) - 1; i >= 0; i-- {
		whole, err := operator.Record(ctx, entries[i].ID)
		if refused := (*explain.RefusedError)(nil); errors.As(err, &refused) && refused.Code == 404 {
			continue // it made room for a newer one meanwhile
		}
		if err != nil {
			return nil, err
		}
		if err := encoder.Encode(whole); err != nil {
			return nil, err
		}
	}
	return lines.Bytes(), nil
}

// tally compares decisions and counts.
type tally struct {
	out                       io.Writer
	paint                     kube.Paint
	verbose                   bool
	same, other, blind, empty int
}

func (t *tally) take(r *flightrecorder.Record) error {
	f, err := flight.Of(r)
	if err != nil {
		return err
	}
	if f == nil {
		t.empty++
		return nil
	}
	again, ok := f.Again()
	if !ok {
		t.blind++
		return nil
	}
	diff, err := compare(f.Decision, again)
	if err != nil {
		return fmt.Errorf("compare the decisions of record %s: %w", r.ID, err)
	}
	when := r.Start.UTC().Format("2006-01-02T15:04:05Z")
	switch {
	case diff != "":
		t.other++
		fmt.Fprintf(t.out, "%s %s %s  %s\n%s", when, r.Object, r.ID, t.paint.Bad("is decided otherwise now"), diff)
	default:
		t.same++
		if t.verbose {
			fmt.Fprintf(t.out, "%s %s %s  %s  %s\n", when, r.Object, r.ID, t.paint.Good("same"), flight.Summary(r, f))
		}
	}
	return nil
}

// compare shows two decisions as JSON, line by line where they differ.
func compare(then, now plan.Decision) (string, error) {
	a, err := json.MarshalIndent(then, "", "  ")
	if err != nil {
		return "", err
	}
	b, err := json.MarshalIndent(now, "", "  ")
	if err != nil {
		return "", err
	}
	if bytes.Equal(a, b) {
		return "", nil
	}
	var out strings.Builder
	was, is := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	from := 0
	for from < len(was) && from < len(is) && was[from] == is[from] {
		from++
	}
	endWas, endIs := len(was), len(is)
	for endWas > from && endIs > from && was[endWas-1] == is[endIs-1] {
		endWas--
		endIs--
	}
	for _, line := range was[from:endWas] {
		out.WriteString("  - " + line + "\n")
	}
	for _, line := range is[from:endIs] {
		out.WriteString("  + " + line + "\n")
	}
	return out.String(), nil
}

func (t *tally) conclude(broken int) error {
	parts := []string{fmt.Sprintf("%s decided again, %d the same", view.Count(t.same+t.other, "decision"), t.same)}
	for _, rest := range []struct {
		n    int
		form string
	}{
		{t.blind, "%d without what was seen (more than %d pods)"}, {t.empty, "%d where nothing was decided"}, {broken, "broken lines: %d"},
	} {
		switch {
		case rest.n > 0 && strings.Count(rest.form, "%d") == 2:
			parts = append(parts, fmt.Sprintf(rest.form, rest.n, flight.MaxPods))
		case rest.n > 0:
			parts = append(parts, fmt.Sprintf(rest.form, rest.n))
		}
	}
	fmt.Fprintln(t.out, strings.Join(parts, "; ")+".")
	switch {
	case t.other > 0:
		return kube.ErrNo
	case t.same == 0:
		return errors.New("there was no decision to make again")
	}
	return nil
}
