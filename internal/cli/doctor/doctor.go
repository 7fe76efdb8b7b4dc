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

// Package doctor is "kubectl podmanager doctor": it checks all that has to be in
// place for the operator to work and for this user to use it. Every line says
// that something is well, or what to do about it. A note is a line that needs no
// action, but may explain a surprise.
//
// Whatever this user may not read is a note, not a fault.
package doctor

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/cli/explain"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/view"
)

// Level says how much a finding matters.
type Level string

// The levels.
const (
	OK   Level = "ok"
	Note Level = "note"
	// ToDo is a problem that needs action.
	ToDo Level = "to do"
)

// Finding is a line.
type Finding struct {
	Level Level  `json:"level"`
	About string `json:"about"`
	Text  string `json:"text"`
	// Advice is what to do.
	Advice string `json:"advice,omitempty"`
}

func ok(about, format string, args ...any) Finding {
	return Finding{Level: OK, About: about, Text: fmt.Sprintf(format, args...)}
}

func note(about, format string, args ...any) Finding {
	return Finding{Level: Note, About: about, Text: fmt.Sprintf(format, args...)}
}

func todo(about, text, advice string) Finding {
	return Finding{Level: ToDo, About: about, Text: text, Advice: advice}
}

// checkup is one visit.
type checkup struct {
	client  client.Client
	config  *rest.Config
	http    *http.Client
	session *kube.Session
	explain *explain.Options
	// user is the namespace of the user, operator that of the operator;
	// configuration is the name of its webhook configurations.
	user, operator, configuration string
	// calledByURL: the operator runs outside the cluster.
	calledByURL bool
	now         func() time.Time
}

// New makes the verb.
func New(s *kube.Session, e *explain.Options) *cobra.Command {
	output := kube.Output{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check the installation, line by line: ok, or what to do",
		Long: "Check the CRDs and their versions, the webhooks and their certificates, the admission policies, the operator, your\n" +
			"rights and its, the clocks. The exit code is 2 when there is something to do.",
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), s, e, &output) },
	}
	output.Bind(cmd)
	return cmd
}

func run(ctx context.Context, s *kube.Session, e *explain.Options, output *kube.Output) error {
	if err := output.Check(); err != nil {
		return err
	}
	config, err := s.Config()
	if err != nil {
		return err
	}
	c := &checkup{config: config, session: s, explain: e, operator: e.OperatorNamespace(ctx, config), configuration: e.Configuration, now: time.Now}
	if c.client, err = s.Client(); err != nil {
		return err
	}
	if c.user, err = s.Namespace(); err != nil {
		return err
	}
	if c.http, err = rest.HTTPClientFor(config); err != nil {
		return err
	}
	findings := c.examine(ctx, answerPatience)
	if output.Structured() {
		err = output.Print(s.Out, map[string]any{"items": findings})
	} else {
		err = Print(s.Out, s.Paint(), findings)
	}
	if err != nil {
		return err
	}
	for _, f := range findings {
		if f.Level == ToDo {
			return kube.ErrNo
		}
	}
	return nil
}

// answerPatience is how long the checks may take. An operator that hangs keeps the API
// server waiting for a conversion for 30 s.
const answerPatience = 8 * time.Second

// examine looks at all things at once. Without an API server there is
// nothing else to look at.
func (c *checkup) examine(ctx context.Context, patience time.Duration) []Finding {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	findings, reached := c.server(ctx)
	if !reached {
		return findings
	}
	called := make(chan struct{}) // closed when it is known how the operator is called, which deployment reads
	webhooks := func(ctx context.Context) []Finding {
		defer close(called)
		return c.webhooks(ctx)
	}
	deployment := func(ctx context.Context) []Finding {
		<-called
		return c.deployment(ctx)
	}
	checks := []func(context.Context) []Finding{
		c.definitions, c.versions, webhooks, c.policies, c.trial, deployment, c.work, c.migrations, c.myRights, c.itsRights, c.recorder,
	}
	found := make([][]Finding, len(checks))
	var wait sync.WaitGroup
	for i, check := range checks { // together, because an operator that hangs lets several wait
		wait.Go(func() { found[i] = check(ctx) })
	}
	wait.Wait()
	return append(findings, slices.Concat(found...)...)
}

// Print prints the findings, and what there is to do in all.
func Print(out io.Writer, paint kube.Paint, findings []Finding) error {
	n := 0
	for _, f := range findings {
		level := fmt.Sprintf("%-6s", f.Level)
		switch f.Level {
		case OK:
			level = paint.Good(level)
		case Note:
			level = paint.Soft(level)
		case ToDo:
			n++
			level = paint.Bad(level)
		}
		if _, err := fmt.Fprintf(out, "%s %-12s %s\n", level, f.About, f.Text); err != nil {
			return err
		}
		if f.Advice != "" {
			fmt.Fprintf(out, "%-6s %-12s %s\n", "", "", paint.Strong("-> "+f.Advice))
		}
	}
	last := "All is well."
	if n > 0 {
		last = view.Count(n, "thing") + " to do."
	}
	_, err := fmt.Fprintln(out, "\n"+last)
	return err
}
