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

// Package rollout is "kubectl podmanager rollout": status, history, pause,
// resume, restart and undo, as kubectl rollout has them for Deployments.
package rollout

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/change"
	"github.com/mycompany/pod-operator/internal/cli/kube"
)

// New makes the verb.
func New(s *kube.Session) *cobra.Command {
	cmd := &cobra.Command{Use: "rollout", Short: "Follow, pause, restart or undo a rollout", RunE: kube.Subcommands}
	cmd.AddCommand(
		newStatus(s), newHistory(s),
		newChange(s, "pause", "Stop the rollout", "paused", func(pm *appsv1.PodManager) ([]byte, error) { return pause(pm, true) }),
		newChange(s, "resume", "Let the rollout go on", "resumed", func(pm *appsv1.PodManager) ([]byte, error) { return pause(pm, false) }),
		newChange(s, "restart", "Recreate all pods, within the budget", "restarted",
			func(*appsv1.PodManager) ([]byte, error) { return change.Restart(time.Now()), nil }),
		newUndo(s),
	)
	return cmd
}

// verb makes a verb for one PodManager.
func verb(s *kube.Session, use, short string, run func(ctx context.Context, c client.Client, pm *appsv1.PodManager) error) *cobra.Command {
	return &cobra.Command{
		Use: use + " NAME", Short: short, Args: kube.One("the name of a PodManager"), ValidArgsFunction: s.CompleteName,
		RunE: func(cmd *cobra.Command, args []string) error {
			// A pod has no rollout of its own, and a change of its PodManager would
			// be more than was asked for.
			ref, err := kube.ParseRef(args[0], kube.PodManagers)
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
			return run(cmd.Context(), c, pm)
		},
	}
}

// pause refuses what is so already, as kubectl does: who asks believes that it is not.
func pause(pm *appsv1.PodManager, paused bool) ([]byte, error) {
	switch {
	case paused && pm.Spec.Paused:
		return nil, fmt.Errorf("podmanager %s is already paused", pm.Name)
	case !paused && !pm.Spec.Paused:
		return nil, fmt.Errorf("podmanager %s is not paused", pm.Name)
	}
	return change.Pause(paused), nil
}

// newChange makes a verb that patches.
func newChange(s *kube.Session, use, short, did string, body func(*appsv1.PodManager) ([]byte, error)) *cobra.Command {
	w := &writer{Session: s}
	cmd := verb(s, use, short, func(ctx context.Context, c client.Client, pm *appsv1.PodManager) error {
		patch, err := body(pm)
		if err != nil {
			return err
		}
		return w.patch(ctx, c, pm, patch, did)
	})
	w.dry.Bind(cmd)
	return cmd
}

// writer changes PodManagers.
type writer struct {
	*kube.Session
	dry kube.DryRun
}

func (w *writer) patch(ctx context.Context, c client.Client, pm *appsv1.PodManager, body []byte, did string) error {
	if err := w.dry.Check(); err != nil {
		return err
	}
	if err := w.dry.Patch(ctx, c, pm, client.RawPatch(types.MergePatchType, body)); err != nil {
		return fmt.Errorf("change PodManager %s: %w", client.ObjectKeyFromObject(pm), err)
	}
	fmt.Fprintf(w.Out, "podmanager.apps.mycompany.com/%s %s%s\n", pm.Name, did, w.dry.Suffix())
	return nil
}

// noRevision is the error for a revision that is not stored: the one that was named, or
// without a name the one before.
func noRevision(s *kube.Session, pm *appsv1.PodManager, named string) error {
	if named == "" {
		return errors.New("PodManager " + pm.Name + " has only one revision: there is none to go back to")
	}
	return errors.New("PodManager " + pm.Name + " has no such revision: kubectl podmanager rollout history " + pm.Name + s.Hint() + " lists them")
}
