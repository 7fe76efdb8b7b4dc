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

package root

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mycompany/pod-operator/internal/cli/kube"
)

// newOptions lists the flags that all verbs have, as kubectl options does, so
// that the help of a verb shows the flags of its own.
func newOptions() *cobra.Command {
	return &cobra.Command{
		Use: "options", Short: "List the flags that all verbs have", Args: cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "These flags can be given to any verb:\n\n%s", cmd.InheritedFlags().FlagUsages())
			return err
		},
	}
}

// newHelp is cobra's help, which exits with 0 for a verb that does not exist.
func newHelp() *cobra.Command {
	return &cobra.Command{
		Use: "help [VERB]", Short: "Help about any verb",
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return kube.Subcommands(of, rest)
			}
			return of.Help()
		},
	}
}

// usage is cobra's template without the flags that all verbs have.
func usage(template string) string {
	const global = "{{if .HasAvailableInheritedFlags}}\n\nGlobal Flags:\n{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}"
	template = strings.Replace(template, global, "", 1)
	template = strings.Replace(template, "{{if .HasAvailableLocalFlags}}", "{{if and .HasParent .HasAvailableLocalFlags}}", 1)
	return strings.TrimSuffix(template, "\n") + "\n\nUse \"{{.Root.CommandPath}} options\" for the flags that all verbs have.\n"
}
