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

package kube

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// DryRun is the flag --dry-run, as kubectl has it.
type DryRun struct{ mode string }

// The values of --dry-run.
const (
	dryNone   = "none"
	dryClient = "client"
	dryServer = "server"
)

// Bind adds the flag.
func (d *DryRun) Bind(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.mode, "dry-run", dryNone,
		"none, client or server. With client, only say what would be changed; with server, have the API server check it without storing it.")
	cmd.Flags().Lookup("dry-run").NoOptDefVal = dryClient
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{dryNone, dryClient, dryServer}, cobra.ShellCompDirectiveNoFileComp))
}

// Check rejects an unknown value before any request is sent.
func (d *DryRun) Check() error {
	switch d.mode {
	case dryNone, dryClient, dryServer:
		return nil
	}
	return fmt.Errorf("--dry-run=%s is not known: say none, client or server", d.mode)
}

// Patch patches an object, unless it is only tried.
func (d *DryRun) Patch(ctx context.Context, c client.Client, obj client.Object, patch client.Patch) error {
	switch d.mode {
	case dryClient:
		return nil
	case dryServer:
		return c.Patch(ctx, obj, patch, client.DryRunAll)
	}
	return c.Patch(ctx, obj, patch)
}

// Suffix is what is printed behind a change that was only tried.
func (d *DryRun) Suffix() string {
	switch d.mode {
	case dryClient:
		return " (dry run)"
	case dryServer:
		return " (server dry run)"
	}
	return ""
}
