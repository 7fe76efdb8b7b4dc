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

// Package migrate is "kubectl podmanager migrate" and "export": a running
// workload becomes a PodManager without a restart, and back.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/migrate"
	"github.com/mycompany/pod-operator/internal/view"
)

type migrator struct {
	*kube.Session
	dry    kube.DryRun
	output kube.Output

	selector                string
	undo, gitops, suspended bool
	everything              bool
	patience                time.Duration
}

// New makes the verb.
func New(s *kube.Session) *cobra.Command {
	m := &migrator{Session: s}
	cmd := &cobra.Command{
		Use:   "migrate TYPE/NAME",
		Short: "Take over a running workload without a restart, or give it back",
		Long: "Take over a running workload without a restart, or give it back.\n\n" +
			"It first shows what the PodManager will be, and whether any pod has to restart; if one has to, it ends there. Then the\n" +
			"PodManager is made, the pods get its labels, the workload is deleted and leaves its pods running, and the PodManager adopts\n" +
			"them. After an interruption, run it again, or with --undo.\n\n" +
			"TYPE is deployment, statefulset, replicaset, cloneset or advancedstatefulset. With --selector, pods without a controller\n" +
			"become the pods of PodManager NAME.",
		Example: "  kubectl podmanager migrate deployment/web --dry-run\n" +
			"  kubectl podmanager migrate deployment/web\n" +
			"  kubectl podmanager migrate deployment/web --undo\n" +
			"  kubectl podmanager migrate --selector app=worker worker\n" +
			"  kubectl podmanager migrate --all -n shop --dry-run",
		Args: m.args, ValidArgsFunction: complete,
		RunE: func(cmd *cobra.Command, args []string) error { return m.run(cmd.Context(), strings.Join(args, "/")) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&m.undo, "undo", false, "Give the pods back to the workload that they were taken over from.")
	flags.StringVarP(&m.selector, "selector", "l", "", "Take over pods without a controller that have these labels.")
	flags.BoolVar(&m.everything, "all", false, "Migrate every workload of the namespace, or with --undo give all back, up to the first that is refused.")
	flags.BoolVar(&m.gitops, "gitops", false, "Print what to commit, for a workload that a GitOps tool manages, and change nothing.")
	flags.BoolVar(&m.suspended, "suspended", false, "The GitOps tool that manages the workload, or with --undo the PodManager, is suspended: go on.")
	flags.DurationVar(&m.patience, "timeout", migrate.Patience, "How long one step may wait for the cluster.")
	m.dry.Bind(cmd)
	m.output.Bind(cmd)
	cmd.MarkFlagsMutuallyExclusive("undo", "gitops")
	cmd.MarkFlagsMutuallyExclusive("undo", "output")
	for _, other := range []string{"selector", "gitops", "output"} {
		cmd.MarkFlagsMutuallyExclusive("all", other)
	}
	return cmd
}

// args are TYPE/NAME or TYPE NAME, and nothing with --all.
func (m *migrator) args(cmd *cobra.Command, args []string) error {
	if m.everything {
		return cobra.NoArgs(cmd, args)
	}
	return cobra.RangeArgs(1, 2)(cmd, args)
}

// complete offers the types.
func complete(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, k := range migrate.Kinds() {
		words = append(words, k.Word()+"/")
	}
	return words, cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
}

func (m *migrator) run(ctx context.Context, word string) error {
	if err := errors.Join(m.dry.Check(), m.output.Check()); err != nil {
		return err
	}
	if m.everything {
		return m.all(ctx)
	}
	kind, name, err := m.parse(word)
	if err != nil {
		return err
	}
	c, err := m.Client()
	if err != nil {
		return err
	}
	namespace, err := m.Namespace()
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	if m.undo {
		return m.giveBack(ctx, c, key, kind)
	}
	return m.there(ctx, c, kind, key)
}

// there takes one workload over, or shows what that would do.
func (m *migrator) there(ctx context.Context, c client.Client, kind *migrate.Kind, key client.ObjectKey) error {
	w, err := m.read(ctx, c, kind, key)
	if err != nil {
		return err
	}
	if w != nil {
		if done, err := m.show(ctx, c, w); done || err != nil {
			return err
		}
	} else if m.dry.Suffix() != "" || m.output.Structured() || m.gitops {
		return m.goesOn(ctx, c, kind, key)
	}
	return m.takeOver(ctx, c, kind, key, w)
}

// goesOn says what a run would do with a workload that a run before has deleted, of which there
// is no more to show.
func (m *migrator) goesOn(ctx context.Context, c client.Client, kind *migrate.Kind, key client.ObjectKey) error {
	record, err := m.mover(c).TryResume(ctx, kind, key)
	switch {
	case err != nil:
		return err
	case m.dry.Suffix() == "":
		return fmt.Errorf("%s is already being deleted; see its PodManager: kubectl get podmanager %s%s", record, key.Name, m.Hint())
	case record.Ended():
		fmt.Fprintf(m.Out, "%s is taken over already%s\n", record, m.dry.Suffix())
	default:
		fmt.Fprintf(m.Out, "%s: its migration, which was interrupted, goes on%s\n", record, m.dry.Suffix())
	}
	return nil
}

// undoable are types that only --undo takes: the record says what the pods were.
var undoable = []string{"pm", "podmanager"}

// parse reads TYPE/NAME, or NAME with --selector or --undo.
func (m *migrator) parse(word string) (*migrate.Kind, string, error) {
	typed, name, ok := strings.Cut(word, "/")
	switch {
	case m.selector != "" && !ok:
		return migrate.BarePods, word, nil
	case m.selector != "":
		return nil, "", fmt.Errorf("with --selector, give only the name of the PodManager, instead of %q", word)
	case m.undo && ok && typed == "pods":
		return migrate.BarePods, name, nil
	case m.undo && (!ok || slices.Contains(undoable, typed)):
		return nil, word[strings.IndexByte(word, '/')+1:], nil
	case !ok || name == "" || strings.Contains(name, "/"):
		return nil, "", fmt.Errorf("%q is no workload: give TYPE/NAME, for example deployment/%s", word, strings.Trim(word, "/"))
	}
	if kind := migrate.FindKind(typed); kind != nil {
		return kind, name, nil
	}
	if slices.Contains([]string{"po", "pod", "pods"}, typed) {
		return nil, "", fmt.Errorf("pods without a controller are taken over by their labels: kubectl podmanager migrate --selector LABELS %s", name)
	}
	return nil, "", fmt.Errorf("a %s cannot be taken over: give deployment, statefulset, replicaset, cloneset or advancedstatefulset", typed)
}

func (m *migrator) read(ctx context.Context, c client.Client, kind *migrate.Kind, key client.ObjectKey) (*migrate.Workload, error) {
	if kind != migrate.BarePods {
		return migrate.Find(ctx, c, kind, key)
	}
	selector, err := labels.Parse(m.selector)
	if err != nil {
		return nil, fmt.Errorf("read --selector: %w", err)
	}
	return migrate.ReadBare(ctx, c, key, selector)
}

// takeOver does it, and holds the pods before and after against each other.
func (m *migrator) takeOver(ctx context.Context, c client.Client, kind *migrate.Kind, key client.ObjectKey, w *migrate.Workload) error {
	var before []corev1.Pod
	if w != nil {
		before = w.Pods
		if err := migrate.CheckRights(ctx, c, w); err != nil {
			return err
		}
	}
	if err := m.mover(c).TakeOver(ctx, kind, key, w); err != nil {
		return err
	}
	var after corev1.PodList
	if err := c.List(ctx, &after, client.InNamespace(key.Namespace), client.MatchingLabels{"podmanager": key.Name}); err != nil {
		return fmt.Errorf("list the pods of PodManager %s: %w", key.Name, err)
	}
	lost, restarted := migrate.Restarts(before, after.Items)
	fmt.Fprintf(m.Out, "podmanager.apps.mycompany.com/%s took over %s: %d restarted, %d gone\n", key.Name, view.Count(len(after.Items), "pod"), restarted, lost)
	fmt.Fprintf(m.Out, "To give them back: kubectl podmanager migrate --undo %s/%s%s\n", kind.Word(), key.Name, m.Hint())
	return nil
}

func (m *migrator) giveBack(ctx context.Context, c client.Client, key client.ObjectKey, kind *migrate.Kind) error {
	if m.dry.Suffix() != "" {
		if err := m.mover(c).TryGiveBack(ctx, key, kind); err != nil {
			return err
		}
		record, err := migrate.LoadRecord(ctx, c, key)
		if err != nil {
			return err
		}
		if record.Resource == "" {
			fmt.Fprintf(m.Out, "the export of PodManager %s, which was interrupted, is ended%s\n", key.Name, m.dry.Suffix())
			return nil
		}
		if err := c.Get(ctx, key, &appsv1.PodManager{}); apierrors.IsNotFound(err) && record.Ended() {
			fmt.Fprintf(m.Out, "PodManager %s was deleted since: %s is created again%s\n", key.Name, record, m.dry.Suffix())
			return nil
		}
		fmt.Fprintf(m.Out, "%s %s gets its pods back from PodManager %s%s\n", record.Resource, record.Name, key.Name, m.dry.Suffix())
		return nil
	}
	return m.mover(c).GiveBack(ctx, key, kind)
}

func (m *migrator) mover(c client.Client) *migrate.Mover {
	mover := newMover(m.Session, c, m.patience)
	mover.Suspended = m.suspended
	return mover
}

func newMover(s *kube.Session, c client.Client, patience time.Duration) *migrate.Mover {
	return &migrate.Mover{Client: c, Holder: holder(), Patience: patience, Say: func(format string, args ...any) {
		fmt.Fprintf(s.Out, format+"\n", args...)
	}}
}

// holder names this run, so that another person knows who is at it.
func holder() string {
	name := "a user"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname()
	return fmt.Sprintf("%s on %s (process %d)", name, host, os.Getpid())
}
