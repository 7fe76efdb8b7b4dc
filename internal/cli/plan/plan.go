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

// Package plan is "kubectl podmanager plan": what would this change do to my
// pods, before I apply it. The change is tried on the API server as a dry run,
// so it is defaulted and validated as it would be; the live pods are observed
// as the controller does it; and the planner that the controller uses plays it
// forward.
package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/forecast"
	"github.com/mycompany/pod-operator/internal/view"
)

// ErrDisruptive says that pods would be recreated or deleted: exit code 2.
var ErrDisruptive = fmt.Errorf("pods would be recreated or deleted: %w", kube.ErrNo)

type options struct {
	file     string
	image    string
	replicas int32
	output   kube.Output
}

// New makes the verb.
func New(s *kube.Session) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "plan (-f FILE | NAME [--set-image IMAGE] [--replicas N])",
		Short: "Show what a change would do to the pods, before you apply it",
		Long: "Show, pod by pod, what a change would do: change it in place, recreate, create or delete it, or hold it\n" +
			"back and by what. Nothing is changed. The exit code is 2 when pods would be recreated or deleted.",
		Example: "  kubectl podmanager plan -f web.yaml\n  kubectl podmanager plan web --set-image nginx:1.28",
		Args:    cobra.MaximumNArgs(1), ValidArgsFunction: s.CompleteName,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd, s, args)
		},
	}
	cmd.Flags().StringVarP(&o.file, "filename", "f", "", "The file with the changed PodManager, or - for standard input.")
	cmd.Flags().StringVar(&o.image, "set-image", "", "The image that would be set.")
	cmd.Flags().Int32Var(&o.replicas, "replicas", 0, "The number of replicas that would be set.")
	o.output.Bind(cmd)
	return cmd
}

func (o *options) run(cmd *cobra.Command, s *kube.Session, args []string) error {
	if (o.file == "") == (len(args) == 0) {
		return errors.New("give a file with -f, or the name of a PodManager")
	}
	if err := o.output.Check(); err != nil {
		return err
	}
	c, err := s.Client()
	if err != nil {
		return err
	}
	changed, err := o.change(cmd, s, c, args)
	if err != nil {
		return err
	}
	preview, err := Preview(cmd.Context(), c, changed)
	if err != nil {
		return err
	}
	if err := o.print(s.Out, s.Paint(), changed, preview); err != nil {
		return err
	}
	if preview.Disruptive {
		return ErrDisruptive
	}
	return nil
}

// Preview foresees what a changed PodManager does to its live pods.
func Preview(ctx context.Context, c client.Client, pm *appsv1.PodManager) (view.Preview, error) {
	fleet, seen, err := kube.Observe(ctx, c, pm)
	if err != nil {
		return view.Preview{}, err
	}
	return view.NewPreview(forecast.Of(fleet.Desired, seen.Observed, time.Now())), nil
}

// change is the PodManager as it would be.
func (o *options) change(cmd *cobra.Command, s *kube.Session, c client.Client, args []string) (*appsv1.PodManager, error) {
	if o.file != "" {
		return o.changeFromFile(cmd.Context(), s, c)
	}
	pm, err := s.Get(cmd.Context(), c, args[0])
	if err != nil {
		return nil, err
	}
	spec := map[string]any{}
	if o.image != "" {
		spec["image"] = o.image
	}
	if cmd.Flags().Changed("replicas") {
		spec["replicas"] = o.replicas
	}
	patch, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		return nil, err
	}
	return dryRun(cmd.Context(), c, pm, patch)
}

func (o *options) changeFromFile(ctx context.Context, s *kube.Session, c client.Client) (*appsv1.PodManager, error) {
	raw, err := readFile(o.file, s.In)
	if err != nil {
		return nil, err
	}
	wanted := &appsv1.PodManager{}
	if err := yaml.UnmarshalStrict(raw, wanted); err != nil {
		return nil, fmt.Errorf("read %s as a PodManager of %s: %w", o.file, appsv1.GroupVersion, err)
	}
	if wanted.GroupVersionKind() != appsv1.GroupVersion.WithKind("PodManager") {
		return nil, fmt.Errorf("%s holds a %s, not a PodManager of %s", o.file, wanted.GroupVersionKind(), appsv1.GroupVersion)
	}
	if wanted.Namespace == "" {
		if wanted.Namespace, err = s.Namespace(); err != nil {
			return nil, err
		}
	}
	live := &appsv1.PodManager{}
	err = c.Get(ctx, client.ObjectKeyFromObject(wanted), live)
	if apierrors.IsNotFound(err) {
		if err := c.Create(ctx, wanted, client.DryRunAll); err != nil {
			return nil, fmt.Errorf("the API server would refuse it: %w", err)
		}
		return wanted, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read PodManager %s: %w", client.ObjectKeyFromObject(wanted), err)
	}
	patch, err := applyPatch(live, raw)
	if err != nil {
		return nil, err
	}
	return dryRun(ctx, c, live, patch)
}

func readFile(path string, in io.Reader) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(in)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the change: %w", err)
	}
	return raw, nil
}

// applyPatch is the patch that kubectl apply would send: fields that the file
// had when it was last applied and no longer has go away, fields that it never
// had stay.
func applyPatch(live *appsv1.PodManager, file []byte) ([]byte, error) {
	modified, err := yaml.YAMLToJSON(file)
	if err != nil {
		return nil, fmt.Errorf("read the change: %w", err)
	}
	current, err := json.Marshal(live)
	if err != nil {
		return nil, err
	}
	original := []byte(live.Annotations[corev1.LastAppliedConfigAnnotation])
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(original, modified, current)
	if err != nil {
		return nil, fmt.Errorf("compare the change with the live object: %w", err)
	}
	return patch, nil
}

func dryRun(ctx context.Context, c client.Client, live *appsv1.PodManager, patch []byte) (*appsv1.PodManager, error) {
	changed := live.DeepCopy()
	if err := c.Patch(ctx, changed, client.RawPatch(types.MergePatchType, patch), client.DryRunAll); err != nil {
		return nil, fmt.Errorf("the API server would refuse it: %w", err)
	}
	// A dry run's answer has the status of now, which is what the planner
	// remembers.
	changed.Status = live.Status
	return changed, nil
}

func (o *options) print(out io.Writer, paint kube.Paint, pm *appsv1.PodManager, p view.Preview) error {
	if o.output.Structured() {
		return o.output.Print(out, p)
	}
	fmt.Fprintf(out, "Plan for PodManager %s/%s\n\n", pm.Namespace, pm.Name)
	if len(p.Steps) > 0 {
		w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
		fmt.Fprintf(w, "POD\t%s\tREASON\tWHY\n", paint.Plain("ACTION"))
		for _, step := range p.Steps {
			pod := step.Pod
			if step.Count > 1 {
				pod = fmt.Sprintf("%s and %d more", step.Pod, step.Count-1)
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", pod, actionColour(paint, step.What), step.Reason, step.Why)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	if !p.Complete {
		fmt.Fprintln(out, "The forecast was cut off before the fleet came to rest.")
	}
	_, err := fmt.Fprintln(out, p.Summary)
	return err
}

func actionColour(paint kube.Paint, what string) string {
	switch what {
	case view.Recreate, view.Delete:
		return paint.Bad(what)
	case view.Held:
		return paint.Warn(what)
	}
	return paint.Good(what)
}
