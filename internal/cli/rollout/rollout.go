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
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	kappsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// New makes the verb.
func New(s *kube.Session) *cobra.Command {
	cmd := &cobra.Command{Use: "rollout", Short: "Follow, pause, restart or undo a rollout"}
	verb := func(use, short string, run func(ctx context.Context, c client.Client, pm *appsv1.PodManager) error) *cobra.Command {
		return &cobra.Command{
			Use: use + " NAME", Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: s.CompleteName,
			RunE: func(cmd *cobra.Command, args []string) error {
				c, err := s.Client()
				if err != nil {
					return err
				}
				pm, err := s.Get(cmd.Context(), c, args[0])
				if err != nil {
					return err
				}
				return run(cmd.Context(), c, pm)
			},
		}
	}
	r := runner{s}
	undo := verb("undo", "Stay on an earlier revision", nil)
	to := undo.Flags().String("to-revision", "", "The revision's number or name; empty means the one before.")
	_ = undo.RegisterFlagCompletionFunc("to-revision", s.CompleteRevision)
	unpin := undo.Flags().Bool("clear", false, "Follow the template again.")
	undo.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := s.Client()
		if err != nil {
			return err
		}
		pm, err := s.Get(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		return r.undo(cmd.Context(), c, pm, *to, *unpin)
	}
	cmd.AddCommand(
		verb("status", "Wait until the rollout is done, and say how it ended", r.status),
		verb("history", "List the stored revisions", r.history),
		verb("pause", "Stop the rollout", func(ctx context.Context, c client.Client, pm *appsv1.PodManager) error {
			return r.patch(ctx, c, pm, map[string]any{"spec": map[string]any{"paused": true}}, "paused")
		}),
		verb("resume", "Let the rollout go on", func(ctx context.Context, c client.Client, pm *appsv1.PodManager) error {
			// False and not nothing: of a field that is gone nobody can tell who took it off.
			return r.patch(ctx, c, pm, map[string]any{"spec": map[string]any{"paused": false}}, "resumed")
		}),
		verb("restart", "Recreate all pods, within the budget", func(ctx context.Context, c client.Client, pm *appsv1.PodManager) error {
			return r.patch(ctx, c, pm, annotation(appsv1.AnnotationRestart, time.Now().UTC().Format(time.RFC3339)), "restarted")
		}),
		undo,
	)
	return cmd
}

func annotation(key string, value any) map[string]any {
	return map[string]any{"metadata": map[string]any{"annotations": map[string]any{key: value}}}
}

type runner struct{ *kube.Session }

func (r runner) patch(ctx context.Context, c client.Client, pm *appsv1.PodManager, body map[string]any, did string) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	if err := c.Patch(ctx, pm, client.RawPatch(types.MergePatchType, raw)); err != nil {
		return fmt.Errorf("change PodManager %s: %w", client.ObjectKeyFromObject(pm), err)
	}
	fmt.Fprintf(r.Out, "podmanager.apps.mycompany.com/%s %s\n", pm.Name, did)
	return nil
}

// status waits until nothing is under way any more.
func (r runner) status(ctx context.Context, c client.Client, pm *appsv1.PodManager) error {
	last := ""
	for {
		reconciling := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionReconciling)
		stalled := meta.FindStatusCondition(pm.Status.Conditions, appsv1.ConditionStalled)
		switch {
		case pm.Status.ObservedGeneration != pm.Generation:
		case stalled != nil:
			return fmt.Errorf("%s: %s", stalled.Reason, stalled.Message)
		case reconciling == nil:
			fmt.Fprintf(r.Out, "podmanager %s is rolled out: %d of %d pods are on %s\n",
				pm.Name, pm.Status.UpdatedReplicas, pm.Status.Replicas, pm.Status.UpdateRevision)
			return nil
		case reconciling.Message != last:
			last = reconciling.Message
			fmt.Fprintf(r.Out, "waiting: %s\n", last)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
		if err := c.Get(ctx, client.ObjectKeyFromObject(pm), pm); err != nil {
			return fmt.Errorf("read PodManager %s: %w", client.ObjectKeyFromObject(pm), err)
		}
	}
}

func (r runner) revisions(ctx context.Context, c client.Client, pm *appsv1.PodManager) ([]kappsv1.ControllerRevision, error) {
	var list kappsv1.ControllerRevisionList
	if err := c.List(ctx, &list, client.InNamespace(pm.Namespace), client.MatchingLabels{appsv1.LabelName: pm.Name}); err != nil {
		return nil, fmt.Errorf("list the revisions of %s: %w", client.ObjectKeyFromObject(pm), err)
	}
	items := slices.DeleteFunc(list.Items, func(rev kappsv1.ControllerRevision) bool { return !metav1.IsControlledBy(&rev, pm) })
	slices.SortFunc(items, func(a, b kappsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	return items, nil
}

func (r runner) history(ctx context.Context, c client.Client, pm *appsv1.PodManager) error {
	revisions, err := r.revisions(ctx, c, pm)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(r.Out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "REVISION\tNAME\tIMAGES\tAGE\tSTATE")
	for i := range revisions {
		rev := &revisions[i]
		template, err := podrender.Decode(rev)
		if err != nil {
			return err
		}
		var images []string
		for _, container := range template.Spec.Containers {
			images = append(images, container.Image)
		}
		state := ""
		switch rev.Name {
		case pm.Status.CurrentRevision:
			state = "current"
		case pm.Status.UpdateRevision:
			state = "moving to"
		}
		fmt.Fprintf(w, "%d\t%s\t%v\t%s\t%s\n", rev.Revision, rev.Name, images, kube.Age(rev.CreationTimestamp.Time, time.Now()), state)
	}
	return w.Flush()
}

// undo pins the fleet to a stored revision. It is an annotation and not an
// edit of the spec, so a GitOps tool that owns the spec does not fight it.
func (r runner) undo(ctx context.Context, c client.Client, pm *appsv1.PodManager, to string, unpin bool) error {
	if unpin {
		return r.patch(ctx, c, pm, annotation(appsv1.AnnotationPin, nil), "follows its template again")
	}
	revisions, err := r.revisions(ctx, c, pm)
	if err != nil {
		return err
	}
	target := ""
	for i := range revisions {
		rev := &revisions[i]
		number := strconv.FormatInt(rev.Revision, 10)
		switch {
		case to == "" && rev.Name != pm.Status.UpdateRevision:
			target = rev.Name // the newest of the others
		case to != "" && (to == number || to == rev.Name):
			target = rev.Name
		}
	}
	if target == "" {
		return errors.New("there is no such revision: kubectl podmanager rollout history " + pm.Name + " lists them")
	}
	return r.patch(ctx, c, pm, annotation(appsv1.AnnotationPin, target), "goes back to revision "+target)
}
