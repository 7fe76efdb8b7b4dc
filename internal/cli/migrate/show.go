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
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/migrate"
	"github.com/mycompany/pod-operator/internal/view"
)

// show prints what a migration would do, and reports whether that was all that
// was asked for.
func (m *migrator) show(ctx context.Context, c client.Client, w *migrate.Workload) (done bool, err error) {
	p, err := migrate.Look(ctx, c, w)
	if err != nil {
		return false, err
	}
	switch {
	case m.output.Structured():
		return true, m.output.Print(m.Out, printable(w.Manager()))
	case m.gitops:
		return true, printCommit(m.Out, p)
	}
	printPreview(m.Out, p)
	if obstacle := w.Obstacle(); obstacle != "" {
		return false, fmt.Errorf("%s cannot be taken over: %s", w, obstacle)
	}
	if restarting := p.Restarting(); len(restarting) > 0 {
		fmt.Fprintf(m.Out, "\nDelete those pods, or bring the template to what they are, then run migrate again.\n")
		return false, kube.ErrNo
	}
	if p.Tool != nil && !m.suspended {
		return false, errors.New(refusal(p, m.Hint()))
	}
	if m.dry.Suffix() != "" {
		return true, m.mover(c).Try(ctx, w)
	}
	fmt.Fprintln(m.Out)
	return false, nil
}

// printable is the PodManager without what only the API server fills in.
func printable(pm *appsv1.PodManager) map[string]any {
	raw, err := yaml.Marshal(pm)
	object := map[string]any{}
	if err == nil {
		err = yaml.Unmarshal(raw, &object)
	}
	if err != nil {
		panic(err) // it is a known type
	}
	delete(object, "status")
	if meta, ok := object["metadata"].(map[string]any); ok {
		delete(meta, "creationTimestamp")
	}
	return object
}

func printPreview(out io.Writer, p *migrate.Preview) {
	pm := p.Manager()
	fmt.Fprintf(out, "%s becomes podmanager/%s: identity %s, %s, %s\n", p, pm.Name, pm.Spec.Identity,
		view.Count(int(*pm.Spec.Replicas), "replica"), view.Count(len(p.Pods), "pod"))
	fmt.Fprintf(out, "%d of %d pods restart\n", len(p.Restarting()), len(p.Pods))
	section(out, "In the way", differences(p.Differences, false))
	section(out, "Differs, and is left alone", differences(p.Differences, true))
	section(out, "Has no counterpart", p.Losses)
	var follows []string
	for _, name := range p.Autoscalers {
		follows = append(follows, "HorizontalPodAutoscaler "+name+" will scale the PodManager")
	}
	if n := len(p.History); n > 0 {
		follows = append(follows, view.Count(n, "earlier revision")+", for kubectl podmanager rollout undo")
	}
	if p.Spec.Update.Strategy == "" {
		follows = append(follows, "images, cpu and memory are changed in place from now on; spec.update.strategy: Recreate does it the old way")
	}
	section(out, "Comes along", follows)
	section(out, "New pods will have", p.NewPodsDiffer())
	section(out, "For you to change", p.Others)
}

// maxLines is how many differences are listed.
const maxLines = 10

func differences(all []migrate.Difference, harmless bool) []string {
	var lines []string
	for _, d := range all {
		if d.Harmless == harmless {
			lines = append(lines, d.String())
		}
	}
	if len(lines) > maxLines {
		more := len(lines) - maxLines
		lines = append(lines[:maxLines:maxLines], fmt.Sprintf("and %d more", more))
	}
	return lines
}

func section(out io.Writer, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(out, "%s:\n", title)
	for _, line := range lines {
		fmt.Fprintf(out, "  %s\n", line)
	}
}

// refusal says what to do with a workload that a GitOps tool keeps.
func refusal(p *migrate.Preview, hint string) string {
	return fmt.Sprintf("%s is managed by %s (%s), which would make it again:\n  %s", p, p.Tool.Name, p.Tool.Owner, strings.Join(steps(p, hint), "\n  "))
}

func steps(p *migrate.Preview, hint string) []string {
	command := "kubectl podmanager migrate " + p.String()
	return []string{
		"1. " + p.Tool.Suspend,
		"2. " + command + " --gitops" + hint + " > " + p.Name + ".yaml",
		"3. " + command + " --suspended" + hint,
		"4. in the repository, put " + p.Name + ".yaml in the place of the " + p.Kind.Kind + autoscalers(p),
		"5. " + p.Tool.Resume,
	}
}

// autoscalers says what else to change in the repository.
func autoscalers(p *migrate.Preview) string {
	if len(p.Autoscalers) == 0 {
		return ""
	}
	return fmt.Sprintf(", and have HorizontalPodAutoscaler %s name apiVersion %s, kind PodManager in its scaleTargetRef",
		strings.Join(p.Autoscalers, ", "), appsv1.GroupVersion)
}

// printCommit prints the PodManager to commit, with what to do before and after.
func printCommit(out io.Writer, p *migrate.Preview) error {
	raw, err := yaml.Marshal(printable(p.Manager()))
	if err != nil {
		return fmt.Errorf("print the PodManager: %w", err)
	}
	fmt.Fprintf(out, "# Takes the place of %s.\n", p)
	if p.Tool != nil {
		for _, step := range steps(p, "") {
			fmt.Fprintf(out, "# %s\n", step)
		}
	}
	_, err = out.Write(raw)
	return err
}
