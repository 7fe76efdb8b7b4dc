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

// Package events is "kubectl podmanager events": how many watch events and
// reconciles a change triggered. controller-runtime merges events, so only the
// operator's recorder can count them.
package events

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mycompany/pod-operator/internal/cli/explain"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/flight"
	"github.com/mycompany/pod-operator/internal/view"
)

type options struct {
	explain *explain.Options
	output  kube.Output
	change  string
}

// New makes the verb.
func New(s *kube.Session, e *explain.Options) *cobra.Command {
	o := &options{explain: e}
	cmd := &cobra.Command{
		Use:   "events NAME [--for FIELD[=FROM:TO]]",
		Short: "Count the events and reconciles that a change triggered",
		Long: "Count the watch events that a change led to until the fleet was at its goal, and the reconciles that they were\n" +
			"merged into. Fields are those of the desired state that the planner works with: replicas, paused, revision,\n" +
			"update.partition and so on. Without --for, all changes that the operator's recorder remembers are counted.",
		Example:           "  kubectl podmanager events web --for replicas=3:1\n  kubectl podmanager events web --for revision",
		Args:              kube.One("the name of a PodManager"),
		ValidArgsFunction: s.CompleteName,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args[0]) },
	}
	o.output.Bind(cmd)
	cmd.Flags().StringVar(&o.change, "for", "", "The change to count: FIELD, or FIELD=FROM:TO where FROM or TO may be empty.")
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(
		[]string{"replicas=", "revision", "paused", "update.partition="}, cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// recordsAsked is as many as the operator hands out at once.
const recordsAsked = 500

func (o *options) run(ctx context.Context, s *kube.Session, name string) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	if _, values, valued := strings.Cut(o.change, "="); valued && !strings.Contains(values, ":") {
		return fmt.Errorf("--for %s: give FIELD=FROM:TO, for example replicas=3:1; either side may be empty", o.change)
	}
	c, err := s.Client()
	if err != nil {
		return err
	}
	pm, err := s.Get(ctx, c, name)
	if err != nil {
		return err
	}
	operator, err := o.explain.Connect(ctx, s)
	if err != nil {
		return fmt.Errorf("only the operator's recorder counts events, and it could not be asked: %w", err)
	}
	defer operator.Close()
	records, err := operator.Records(ctx, explain.Query{Object: pm.Namespace + "/" + pm.Name, Limit: recordsAsked})
	if err != nil {
		return fmt.Errorf("only the operator's recorder counts events, and it could not be asked: %w", err)
	}
	// One of the same name may have been there before.
	records = slices.DeleteFunc(records, func(e flight.Entry) bool { return e.Payload != nil && e.Payload.Desired.UID != pm.UID })
	changes := slices.DeleteFunc(flight.Changes(records), func(c flight.Change) bool { return o.change != "" && !c.Matches(o.change) })
	slices.Reverse(changes)
	if o.output.Structured() {
		return o.output.Print(s.Out, map[string]any{"items": append([]flight.Change{}, changes...)})
	}
	return Print(s.Out, s.Paint(), o.change, changes, len(records), time.Now())
}

// Print prints the changes, newest first.
func Print(out io.Writer, paint kube.Paint, wanted string, changes []flight.Change, records int, now time.Time) error {
	if len(changes) == 0 {
		what := "a change"
		if wanted != "" {
			what = "a change " + wanted
		}
		_, err := fmt.Fprintf(out, "None of the %s that the recorder remembers began with %s.\n", view.Count(records, "reconcile"), what)
		return err
	}
	for i := range changes {
		if err := printChange(out, paint, &changes[i], now); err != nil {
			return err
		}
	}
	return nil
}

func printChange(out io.Writer, paint kube.Paint, c *flight.Change, now time.Time) error {
	title := "created"
	if len(c.Fields) > 0 {
		var fields []string
		for _, f := range c.Fields {
			fields = append(fields, f.String())
		}
		title = strings.Join(fields, ", ")
	}
	if len(c.By) > 0 {
		title += " by " + strings.Join(c.By, ", ")
	}
	if _, err := fmt.Fprintf(out, "%s %s\n", paint.Soft(fmt.Sprintf("%-9s", kube.Age(c.Time, now)+" ago")), paint.Strong(title)); err != nil {
		return err
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(c.Events)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, c.Events[kind]))
	}
	fmt.Fprintf(out, "            events      %d: %s\n", c.Count(), strings.Join(kinds, ", "))
	others := ""
	if c.Others > 0 {
		others = fmt.Sprintf(" (%d without a new event: a requeue or a retry)", c.Others)
	}
	fmt.Fprintf(out, "            reconciles  %d%s\n", c.Reconciles, others)
	fmt.Fprintf(out, "            writes      %d\n", c.Writes)
	if c.Settled {
		fmt.Fprintf(out, "            settled     after %s\n", time.Duration(c.Took).Round(time.Millisecond))
	} else {
		fmt.Fprintf(out, "            settled     %s\n", paint.Busy("not yet: there may be more"))
	}
	return nil
}
