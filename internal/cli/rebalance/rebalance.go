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

// Package rebalance is "kubectl podmanager rebalance": it asks for a better spread
// of a PodManager's pods, by the annotation that the operator reads.
package rebalance

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/change"
	"github.com/mycompany/pod-operator/internal/cli/kube"
)

const long = `Move pods until their spread is what the template's topologySpreadConstraints ask for, after a zone came back
or a scale-down left a skew. Each pod is replaced before it is deleted; at most disruption.maxSurge move at once. A pod that
the scheduler puts elsewhere ends it. The request is over after an hour. To see beforehand what moves:
kubectl podmanager plan NAME --rebalance`

// New makes the verb.
func New(s *kube.Session) *cobra.Command {
	dry := &kube.DryRun{}
	cmd := &cobra.Command{
		Use: "rebalance NAME", Short: "Move pods to restore their spread, each replaced before it is deleted", Long: long,
		Args: kube.One("the name of a PodManager"), ValidArgsFunction: s.CompleteName,
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd, s, dry, args[0]) },
	}
	dry.Bind(cmd)
	return cmd
}

func run(cmd *cobra.Command, s *kube.Session, dry *kube.DryRun, word string) error {
	if err := dry.Check(); err != nil {
		return err
	}
	ref, err := kube.ParseRef(word, kube.PodManagers)
	if err != nil {
		return err
	}
	c, err := s.Client()
	if err != nil {
		return err
	}
	pm, err := s.Get(cmd.Context(), c, ref.Name)
	if err != nil {
		return err
	}
	switch {
	case len(pm.Spec.VolumeClaimTemplates) > 0:
		return fmt.Errorf("the pods of %s have volume claims of their own: no other pod can stand in for one that moves", pm.Name)
	case pm.Spec.Template == nil || len(pm.Spec.Template.Spec.TopologySpreadConstraints) == 0:
		return errors.New("spec.template has no topologySpreadConstraints, so that there is no spread to restore: add one first")
	}
	body := change.Rebalance(time.Now())
	if err := dry.Patch(cmd.Context(), c, pm, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("change PodManager %s: %w", client.ObjectKeyFromObject(pm), err)
	}
	fmt.Fprintf(s.Out, "podmanager.apps.mycompany.com/%s is being rebalanced%s; kubectl podmanager status %s%s shows how far it is\n",
		pm.Name, dry.Suffix(), pm.Name, s.Hint())
	return nil
}
