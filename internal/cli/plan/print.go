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

package plan

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/view"
)

func (o *options) print(out io.Writer, paint kube.Paint, r Report) error {
	if o.output.Structured() {
		return o.output.Print(out, r)
	}
	for i := range r.Items {
		if i > 0 {
			fmt.Fprintln(out)
		}
		if err := r.Items[i].show(out, paint); err != nil {
			return err
		}
	}
	if len(r.Items) > 1 {
		fmt.Fprintf(out, "\nIn all: %s\n", r.Summary)
	}
	for i, n := range r.NotPlanned {
		if i == 0 {
			fmt.Fprintln(out)
		}
		if _, err := fmt.Fprintf(out, "Not planned: %s\n", n); err != nil {
			return err
		}
	}
	return nil
}

func (p *Plan) show(out io.Writer, paint kube.Paint) error {
	fmt.Fprintf(out, "Plan for %s\n\n", p.title())
	printDiff(out, paint, p.TemplateDiff)
	if len(p.Steps) > 0 {
		if err := printSteps(out, paint, p.Steps); err != nil {
			return err
		}
		fmt.Fprintln(out)
	}
	if !p.Complete && p.Native == nil {
		fmt.Fprintln(out, "The forecast was cut off before the fleet came to rest.")
	}
	_, err := fmt.Fprintln(out, p.Summary)
	if n := p.Native; n != nil && p.Waves > 0 {
		_, err = fmt.Fprintf(out, "On the way, at least %d of %d pods are available, and at most %s.\n", n.FewestAvailable, n.Replicas, n.exist())
	}
	if p.Estimate != nil {
		_, err = fmt.Fprintln(out, p.Estimate.Text)
	}
	for _, warning := range p.Warnings {
		_, err = fmt.Fprintf(out, "%s %s.\n", paint.Warn("Warning:"), warning)
	}
	if p.Native == nil {
		return err
	}
	return p.showNotes(out, paint)
}

// exist says how many pods there are at most.
func (n *outlook) exist() string {
	text := view.Count(n.MostPods, "pod") + " exist"
	if n.MostPods == 1 {
		text += "s"
	}
	if n.Overlap > 0 {
		text += fmt.Sprintf(" (for a moment %d, until those that go are gone)", n.MostPods+n.Overlap)
	}
	return text
}

// showNotes prints what is beside the plan of one of Kubernetes' own kinds.
func (p *Plan) showNotes(out io.Writer, paint kube.Paint) error {
	if p.Kind == configMap || p.Kind == secret {
		p.showReaders(out)
	}
	for _, note := range p.Native.Warnings {
		fmt.Fprintf(out, "%s %s [%s]\n", paint.Warn("Warning:"), note.Text, note.Code)
	}
	var err error
	for _, text := range p.Native.Unknown {
		_, err = fmt.Fprintf(out, "%s %s\n", paint.Soft("Unknown:"), text)
	}
	if c := p.Native.Comparison; c != nil {
		_, err = fmt.Fprintln(out, c.Text)
	}
	return err
}

func printDiff(out io.Writer, paint kube.Paint, diff string) {
	if diff == "" {
		return
	}
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "-"):
			line = paint.Bad(line)
		case strings.HasPrefix(line, "+"):
			line = paint.Good(line)
		case strings.HasPrefix(line, "@@"):
			line = paint.Soft(line)
		}
		fmt.Fprintln(out, line)
	}
	fmt.Fprintln(out)
}

func (p *Plan) title() string {
	title := fmt.Sprintf("%s %s/%s", p.Kind, p.Namespace, p.Name)
	switch {
	case p.GenerateName != "":
		title += fmt.Sprintf(", which is new; the API server will complete the name %s anew", p.GenerateName)
	case p.New:
		title += ", which is new"
	}
	return title
}

func printSteps(out io.Writer, paint kube.Paint, steps []view.Step) error {
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintf(w, "WAVE\tPOD\t%s\tREASON\tWHY\n", paint.Plain("ACTION"))
	for _, step := range steps {
		wave := "-"
		if step.Wave > 0 {
			wave = strconv.Itoa(step.Wave)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", wave, podsOf(step), actionColour(paint, step.What), step.Reason, step.Why)
	}
	return w.Flush()
}

func podsOf(step view.Step) string {
	switch {
	case step.Pod == "":
		return view.Count(step.Count, "pod")
	case step.Count > 1:
		return fmt.Sprintf("%s and %d more", step.Pod, step.Count-1)
	}
	return step.Pod
}

func actionColour(paint kube.Paint, what string) string {
	switch what {
	case view.Recreate, view.Delete, view.Evict:
		return paint.Bad(what)
	case view.Held:
		return paint.Warn(what)
	}
	return paint.Good(what)
}
