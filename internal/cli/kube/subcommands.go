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
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Subcommands runs a command that only groups others. cobra prints help for a
// wrong verb and exits with 0, so that a script would go on.
func Subcommands(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	text := fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath())
	if cmd.SuggestionsMinimumDistance <= 0 {
		cmd.SuggestionsMinimumDistance = 2
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += ". Did you mean " + strings.Join(near, ", ") + "?"
	}
	return fmt.Errorf("%s\nSee '%s --help' for its commands", text, cmd.CommandPath())
}

// One takes exactly one word, which is what; the error says so.
func One(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return fmt.Errorf("give %s", what)
		case 1:
			return nil
		}
		return fmt.Errorf("give %s and nothing else, not %q", what, strings.Join(args, " "))
	}
}
