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

package rollout

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/change"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// Revision is a stored revision, as -o json and -o yaml print it.
type Revision struct {
	Revision int64     `json:"revision"`
	Name     string    `json:"name"`
	Images   []string  `json:"images"`
	Created  time.Time `json:"created"`
	// State is current, moving to, or empty; with ", pinned" behind it where a
	// pin keeps the pods there.
	State    string                  `json:"state,omitempty"`
	Template *corev1.PodTemplateSpec `json:"template"`
}

type historian struct {
	*kube.Session
	output   kube.Output
	revision string
}

func newHistory(s *kube.Session) *cobra.Command {
	h := &historian{Session: s}
	cmd := verb(s, "history", "List the stored revisions, or show one", h.history)
	cmd.Example = "  kubectl podmanager rollout history web\n  kubectl podmanager rollout history web --revision 2 -o yaml"
	cmd.Flags().StringVar(&h.revision, "revision", "", "Show the pod template of this revision, given by its number or name.")
	_ = cmd.RegisterFlagCompletionFunc("revision", s.CompleteRevision)
	h.output.Bind(cmd)
	return cmd
}

func (h *historian) history(ctx context.Context, c client.Client, pm *appsv1.PodManager) error {
	if err := h.output.Check(); err != nil {
		return err
	}
	stored, err := change.Revisions(ctx, c, pm)
	if err != nil {
		return err
	}
	revisions := make([]Revision, len(stored))
	for i := range stored {
		if revisions[i], err = revisionOf(&stored[i], pm); err != nil {
			return err
		}
	}
	if h.revision != "" {
		at := slices.IndexFunc(revisions, func(r Revision) bool { return r.named(h.revision) })
		if at < 0 {
			return noRevision(h.Session, pm, h.revision)
		}
		if h.output.Structured() {
			return h.output.Print(h.Out, revisions[at])
		}
		return revisions[at].show(h.Out, pm)
	}
	if h.output.Structured() {
		return h.output.Print(h.Out, map[string]any{"items": revisions})
	}
	return printHistory(h.Out, revisions, time.Now())
}

func revisionOf(rev *kappsv1.ControllerRevision, pm *appsv1.PodManager) (Revision, error) {
	template, err := podrender.Decode(rev)
	if err != nil {
		return Revision{}, err
	}
	r := Revision{Revision: rev.Revision, Name: rev.Name, Images: []string{}, Created: rev.CreationTimestamp.Time, Template: template}
	for _, container := range template.Spec.Containers {
		r.Images = append(r.Images, container.Image)
	}
	switch rev.Name {
	case pm.Status.CurrentRevision:
		r.State = "current"
	case pm.Status.UpdateRevision:
		r.State = "moving to"
	}
	if rev.Name == pm.Status.UpdateRevision && meta.IsStatusConditionTrue(pm.Status.Conditions, appsv1.ConditionPinned) {
		r.State += ", pinned"
	}
	return r, nil
}

// named: the word is the revision's number or name.
func (r *Revision) named(word string) bool {
	return word == strconv.FormatInt(r.Revision, 10) || word == r.Name
}

func (r *Revision) show(out io.Writer, pm *appsv1.PodManager) error {
	raw, err := yaml.Marshal(r.Template)
	if err != nil {
		return fmt.Errorf("print the template of revision %s: %w", r.Name, err)
	}
	_, err = fmt.Fprintf(out, "podmanager.apps.mycompany.com/%s with revision %d (%s)\nPod Template:\n", pm.Name, r.Revision, r.Name)
	for line := range strings.Lines(string(raw)) {
		fmt.Fprint(out, "  "+line)
	}
	return err
}

func printHistory(out io.Writer, revisions []Revision, now time.Time) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "REVISION\tNAME\tIMAGES\tAGE\tSTATE")
	for _, r := range revisions {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\n", r.Revision, r.Name, strings.Join(r.Images, ", "), kube.Age(r.Created, now), r.State)
	}
	return w.Flush()
}
