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

// Package root puts the plugin's verbs together.
package root

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/mycompany/pod-operator/internal/cli/dashboard"
	"github.com/mycompany/pod-operator/internal/cli/deletepod"
	"github.com/mycompany/pod-operator/internal/cli/doctor"
	"github.com/mycompany/pod-operator/internal/cli/events"
	"github.com/mycompany/pod-operator/internal/cli/explain"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/cli/migrate"
	"github.com/mycompany/pod-operator/internal/cli/plan"
	"github.com/mycompany/pod-operator/internal/cli/rebalance"
	"github.com/mycompany/pod-operator/internal/cli/reconcile"
	"github.com/mycompany/pod-operator/internal/cli/replay"
	"github.com/mycompany/pod-operator/internal/cli/rollout"
	"github.com/mycompany/pod-operator/internal/cli/status"
	"github.com/mycompany/pod-operator/internal/cli/top"
	versionverb "github.com/mycompany/pod-operator/internal/cli/version"
	"github.com/mycompany/pod-operator/internal/cli/why"
	"github.com/mycompany/pod-operator/internal/cli/whynot"
	"github.com/mycompany/pod-operator/internal/version"
)

// New makes the whole command.
func New(s *kube.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kubectl-podmanager",
		Short: "See what PodManagers do to pods, before and after",
		Long: "See what PodManagers do to pods, before and after.\n\n" +
			"Exit codes: 0: success; 1: an error, which is printed; 2: needs attention: plan found pods that would be\n" +
			"recreated or deleted, doctor found something to do, replay found a decision that is another now.",
		Annotations: map[string]string{
			cobra.CommandDisplayNameAnnotation: "kubectl podmanager",
		},
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	cmd.SetVersionTemplate("{{.Version}}\n")
	s.Flags.AddFlags(cmd.PersistentFlags())
	cmd.SetOut(s.Out)
	cmd.SetErr(s.ErrOut)
	cmd.SetIn(s.In)
	operator := &explain.Options{}
	operator.Bind(cmd.PersistentFlags())
	s.CompleteFlags(cmd)
	cmd.AddCommand(
		status.New(s), plan.New(s), why.New(s, operator), whynot.New(s), events.New(s, operator), rollout.New(s),
		deletepod.New(s), rebalance.New(s), reconcile.New(s, operator), top.New(s, operator), doctor.New(s, operator), replay.New(s, operator),
		dashboard.New(s, operator), migrate.New(s), migrate.NewExport(s), versionverb.New(s, operator), newOptions(), newDrain(),
	)
	cmd.SetHelpCommand(newHelp())
	cmd.SetUsageTemplate(usage(cmd.UsageTemplate()))
	return cmd
}

// newDrain answers those who look for kubectl's drain here.
func newDrain() *cobra.Command {
	return &cobra.Command{
		Use: "drain NODE", Hidden: true, DisableFlagParsing: true,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("kubectl drain NODE moves the pods; kubectl podmanager plan drain NODE shows before what that does to them")
		},
	}
}
