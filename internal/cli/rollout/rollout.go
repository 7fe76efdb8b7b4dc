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
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
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
	undo := verb("undo", "Go back to an earlier revision", nil)
	undo.Long = "Go back to an earlier revision, without an edit of the spec: an annotation pins the pods to it. The next template\n" +
		"change ends the pin, unless --stay asks to keep it; --clear ends it at once."
	to := undo.Flags().String("to-revision", "", "The revision's number or name; empty means the one before.")
	_ = undo.RegisterFlagCompletionFunc("to-revision", s.CompleteRevision)
	unpin := undo.Flags().Bool("clear", false, "Follow the template again.")
	stay := undo.Flags().Bool("stay", false, "Stay on the revision when the template changes, too, until --clear.")
	undo.MarkFlagsMutuallyExclusive("clear", "stay")
	undo.MarkFlagsMutuallyExclusive("clear", "to-revision")
	undo.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := s.Client()
		if err != nil {
			return err
		}
		pm, err := s.Get(cmd.Context(), c, args[0])
		if err != nil {
			return err
		}
		return r.undo(cmd.Context(), c, pm, *to, *unpin, *stay)
	}
	cmd.AddCommand(
		verb("status", "Wait until the rollout is done, and say how it ended", r.status),
		verb("history", "List the stored revisions", r.history),
		verb("pause", "Stop the rollout", func(ctx context.Context, c client.Client, pm *appsv1.PodManager) error {
			return r.patch(ctx, c, pm, map[string]any{"spec": map[string]any{"paused": true}}, "paused")
		}),
		verb("resume", "Let the rollout go on", func(ctx context.Context, c client.Client, pm *appsv1.PodManager) error {
			// False and not nothing: a removed field does not show which client removed it.
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
		told, waits, err := r.verdict(ctx, c, pm)
		if told != last && told != "" {
			last = told
			fmt.Fprintln(r.Out, told)
		}
		if !waits {
			return err
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

// verdict looks at the pods, too. A restart changes no spec, so that right after it only
// the pods show that something is under way; and the pods say what is waited for before
// the status does. That the rollout is done is for the operator to say.
func (r runner) verdict(ctx context.Context, c client.Client, pm *appsv1.PodManager) (told string, waits bool, err error) {
	if sight, err := kube.Look(ctx, c, pm); err == nil { // else the user may not read pods
		seen := pm.DeepCopy()
		seen.Status = sight.Status
		if told, waits, err := Verdict(seen); waits {
			return told, waits, err
		}
	}
	return Verdict(pm)
}

// ErrNotRolledOut says that nothing is under way, and that the pods are not on
// what the spec asks for: exit code 2.
var ErrNotRolledOut = fmt.Errorf("not rolled out: %w", kube.ErrNo)

// Verdict is what there is to say of a rollout, and whether to wait for it. A
// rollout that is held back is neither under way nor done.
func Verdict(pm *appsv1.PodManager) (told string, waits bool, err error) {
	find := func(kind string) *metav1.Condition { return meta.FindStatusCondition(pm.Status.Conditions, kind) }
	ready, reconciling, stalled := find(appsv1.ConditionReady), find(appsv1.ConditionReconciling), find(appsv1.ConditionStalled)
	switch {
	case pm.Status.ObservedGeneration != pm.Generation || ready == nil:
		return "", true, nil
	case stalled != nil:
		return "", false, fmt.Errorf("%s: %s", stalled.Reason, stalled.Message)
	case reconciling != nil:
		return "waiting: " + reconciling.Message, true, nil
	case ready.Status != metav1.ConditionTrue:
		return fmt.Sprintf("podmanager %s is not rolled out: %s: %s", pm.Name, ready.Reason, ready.Message), false, ErrNotRolledOut
	}
	return fmt.Sprintf("podmanager %s is rolled out: %d of %d pods are on %s",
		pm.Name, pm.Status.UpdatedReplicas, pm.Status.Replicas, pm.Status.UpdateRevision), false, nil
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
		if rev.Name == pm.Status.UpdateRevision && meta.IsStatusConditionTrue(pm.Status.Conditions, appsv1.ConditionPinned) {
			state += ", pinned"
		}
		fmt.Fprintf(w, "%d\t%s\t%v\t%s\t%s\n", rev.Revision, rev.Name, images, kube.Age(rev.CreationTimestamp.Time, time.Now()), state)
	}
	return w.Flush()
}

// undo pins the fleet to a stored revision. It is an annotation and not an
// edit of the spec, so a GitOps tool that owns the spec does not fight it.
func (r runner) undo(ctx context.Context, c client.Client, pm *appsv1.PodManager, to string, unpin, stay bool) error {
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
	if stay {
		return r.patch(ctx, c, pm, annotation(appsv1.AnnotationPin, target),
			"goes to revision "+target+" and stays there when its template changes, until: "+clearing(pm))
	}
	observed, err := observedRevisions(pm, revisions)
	if err != nil {
		return err
	}
	pin := plan.UndoPin(observed, target)
	if pin == "" {
		return r.patch(ctx, c, pm, annotation(appsv1.AnnotationPin, nil), "follows its template, which is revision "+target)
	}
	return r.patch(ctx, c, pm, annotation(appsv1.AnnotationPin, pin),
		"goes back to revision "+target+" until its template changes, or until: "+clearing(pm))
}

// clearing is the command that ends a pin.
func clearing(pm *appsv1.PodManager) string {
	return "kubectl podmanager rollout undo " + pm.Name + " --clear"
}

// observedRevisions are the stored revisions as the planner reads them.
func observedRevisions(pm *appsv1.PodManager, revisions []kappsv1.ControllerRevision) (plan.Observed, error) {
	template := desired.PodManager(pm).Template
	encoded, err := podrender.Encode(template)
	if err != nil {
		return plan.Observed{}, err
	}
	var observed plan.Observed
	for i := range revisions {
		rev := &revisions[i]
		equal, err := podrender.Means(rev, template, encoded)
		if err != nil {
			return plan.Observed{}, err
		}
		observed.Revisions = append(observed.Revisions, plan.Revision{Name: rev.Name, Number: rev.Revision, Equal: equal})
	}
	return observed, nil
}
