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

// Package reconcile is "kubectl podmanager reconcile": it asks the operator to
// look at a PodManager now, and shows the result. The operator records who
// asked.
package reconcile

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/mycompany/pod-operator/internal/cli/explain"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/flight"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

const lookAgain = 100 * time.Millisecond

type options struct {
	explain *explain.Options
	timeout time.Duration
}

// New makes the verb.
func New(s *kube.Session, e *explain.Options) *cobra.Command {
	o := &options{explain: e}
	cmd := &cobra.Command{
		Use:   "reconcile NAME",
		Short: "Ask the operator to reconcile a PodManager now, and show the result",
		Long: "Have the operator look at a PodManager now. It never needs that by itself; it is for those who want to see that it\n" +
			"is alive, or what it thinks. The recorder keeps your name with it. You need the right to update the PodManager.",
		Args:              kube.One("the name of a PodManager"),
		ValidArgsFunction: s.CompleteName,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args[0]) },
	}
	cmd.Flags().DurationVar(&o.timeout, "timeout", 30*time.Second, "How long to wait for the reconcile; 0 does not wait.")
	return cmd
}

func (o *options) run(ctx context.Context, s *kube.Session, word string) error {
	c, err := s.Client()
	if err != nil {
		return err
	}
	key, err := s.Manager(ctx, c, word)
	if err != nil {
		return err
	}
	operator, err := o.explain.Connect(ctx, s)
	if err != nil {
		return fmt.Errorf("a reconcile is asked of the operator itself, which could not be reached: %w", err)
	}
	defer operator.Close()
	user, err := operator.Whoami(ctx)
	if err != nil {
		return fmt.Errorf("a reconcile is asked of the operator itself, which could not be reached: %w", err)
	}
	query := explain.Query{Object: key.String(), Limit: 50}
	before, err := operator.Records(ctx, query)
	if err != nil {
		return err
	}
	if err := operator.Reconcile(ctx, key.Namespace, key.Name); err != nil {
		return err
	}
	fmt.Fprintf(s.Out, "Asked for as %s.\n", user)
	if o.timeout == 0 {
		return nil
	}
	var done flight.Entry
	err = wait.PollUntilContextTimeout(ctx, lookAgain, o.timeout, true, func(ctx context.Context) (bool, error) {
		now, err := operator.Records(ctx, query)
		if err != nil {
			return false, err
		}
		var found bool
		done, found = answerTo(user, before, now)
		return found, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("it was asked for, and did not happen within %s", o.timeout)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(s.Out, done.Summary)
	for _, reason := range done.Reasons("") {
		fmt.Fprintln(s.Out, "  "+reason)
	}
	return nil
}

// answerTo finds the reconcile that a request of the user led to: the oldest of
// the new ones that names them.
func answerTo(user string, before, now []flight.Entry) (flight.Entry, bool) {
	var newest uint64
	for i := range before {
		newest = max(newest, before[i].Seq)
	}
	for _, e := range slices.Backward(now) {
		// A smaller number than before is that of another process.
		fresh := e.Seq > newest || !slices.ContainsFunc(before, func(b flight.Entry) bool { return b.ID == e.ID })
		if fresh && slices.ContainsFunc(e.Triggers, func(t flightrecorder.Trigger) bool {
			return t.Kind == flightrecorder.TriggerManual && t.User == user
		}) {
			return e, true
		}
	}
	return flight.Entry{}, false
}
