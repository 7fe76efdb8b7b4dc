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

package migrate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/migrate"
)

// NewExport makes the verb export.
func NewExport(s *kube.Session) *cobra.Command {
	var patience time.Duration
	var suspended bool
	cmd := &cobra.Command{
		Use:   "export TYPE/NAME",
		Short: "Make a Deployment or a StatefulSet of a PodManager, without a restart",
		Long: "Make a Deployment or a StatefulSet of a PodManager, without a restart: the PodManager is deleted and leaves its pods running,\n" +
			"and the workload adopts them. One that was taken over comes back as it was, if the template is still the same.",
		Example: "  kubectl podmanager export deployment/web",
		Args:    cobra.RangeArgs(1, 2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 && !strings.Contains(typed, "/") {
				return []string{"deployment/", "statefulset/"}, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
			}
			return s.CompleteName(cmd, args[min(1, len(args)):], typed)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			resource, name, err := typeAndName(args)
			if err != nil {
				return err
			}
			kind := migrate.FindKind(resource)
			if !slices.Contains(migrate.Exports(), kind) {
				return fmt.Errorf("a PodManager cannot become a %s: give deployment/NAME or statefulset/NAME", resource)
			}
			c, err := s.Client()
			if err != nil {
				return err
			}
			ref, err := kube.ParseRef(name, kube.PodManagers)
			if err != nil {
				return err
			}
			namespace, err := s.Namespace()
			if err != nil {
				return err
			}
			mover := newMover(s, c, patience)
			mover.Suspended = suspended
			return mover.Export(cmd.Context(), client.ObjectKey{Namespace: namespace, Name: ref.Name}, kind)
		},
	}
	cmd.Flags().BoolVar(&suspended, "suspended", false, "The GitOps tool that manages the PodManager is suspended: go on.")
	cmd.Flags().DurationVar(&patience, "timeout", migrate.Patience, "How long one step may wait for the cluster.")
	return cmd
}

// typeAndName takes TYPE/NAME, and TYPE NAME as kubectl does.
func typeAndName(args []string) (resource, name string, err error) {
	if len(args) == 2 {
		return args[0], args[1], nil
	}
	resource, name, found := strings.Cut(args[0], "/")
	if !found || resource == "" || name == "" {
		return "", "", fmt.Errorf("%q is no TYPE/NAME: give deployment/NAME or statefulset/NAME", args[0])
	}
	return resource, name, nil
}
