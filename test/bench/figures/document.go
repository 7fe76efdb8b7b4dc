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

package figures

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// What is between the markers in the document is ours to replace.
const (
	beginMark = "<!-- Written by make bench: begin. Edits between these lines are lost. -->"
	endMark   = "<!-- Written by make bench: end. -->"
)

// replaceBetweenMarks puts text between the markers of a document.
func replaceBetweenMarks(document, text string) (string, error) {
	return replaceBetween(document, beginMark, endMark, text)
}

func replaceBetween(document, begin, end, text string) (string, error) {
	before, rest, ok := strings.Cut(document, begin)
	if !ok {
		return "", fmt.Errorf("no line %q", begin)
	}
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("no line %q after the first marker", end)
	}
	return before + begin + "\n\n" + strings.TrimSpace(text) + "\n\n" + end + after, nil
}

// WriteDocument replaces the measured part of a Markdown document and draws
// the plots into a folder beside it.
func (r *Results) WriteDocument(path, images string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	folder, err := filepath.Rel(filepath.Dir(path), images)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(images, 0o755); err != nil {
		return err
	}
	var links []string
	for _, p := range r.plots() {
		if len(p.panels) == 0 {
			continue
		}
		name := "bench-" + p.name + ".svg"
		if err := os.WriteFile(filepath.Join(images, name), []byte(drawBars(p.title, p.panels)), 0o644); err != nil {
			return err
		}
		links = append(links, fmt.Sprintf("![%s](%s)", p.title, filepath.ToSlash(filepath.Join(folder, name))))
	}
	text, err := replaceBetweenMarks(string(raw), r.markdown(links))
	if err != nil {
		return fmt.Errorf("update %s: %w", path, err)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// repetitions is how often the step that was run most often was run.
func (r *Results) repetitions() int {
	most := 0
	for i := range r.Steps {
		for j := range r.Steps[i].Samples {
			most = max(most, r.Steps[i].Samples[j].Repetition)
		}
	}
	return most
}

func (r *Results) markdown(links []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Kubernetes %s on %d CPUs. A cell is the median, with the range in brackets where repetitions differ.\n", r.Kubernetes, r.CPUs)
	b.WriteString("A ratio compares runs of the same repetition.\n")
	if r.repetitions() == 1 {
		b.WriteString("There was one repetition: times are no more than a hint.\n")
	}
	if r.FullSize {
		b.WriteString("\n### Targets\n\n" + markdown(verdictRows(r.Verdicts())))
	}
	for _, link := range links {
		b.WriteString("\n" + link + "\n")
	}
	for i := range r.Steps {
		step := &r.Steps[i]
		if len(step.Samples) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s) %s\n\n%s. Measured on %s%s, %s.\n\n%s", step.Name, step.Title, capital(step.Goal),
			step.Time.UTC().Format("2006-01-02"), step.at(), repetitions(step), markdown(rows(step)))
		if share := step.others(); share.Median >= noise {
			fmt.Fprintf(&b, "\nThe machine was not idle: other programs took %s %% of it, so the times are rough.\n", share.digits(0))
		}
		if text := step.writes(); text != "" {
			b.WriteString("\nWhat was written and read, in the first repetition:\n\n" + text)
		}
	}
	if len(r.Planner) > 0 {
		b.WriteString("\n### Planner\n\nOne pass over a fleet, per pod.\n\n" + markdown(plannerRows(r.Planner)))
	}
	if r.CacheBytesPerPod > 0 {
		fmt.Fprintf(&b, "\nA pod in the cache takes %s bytes of heap, with its places in the indexes.\n", Thousands(int(r.CacheBytesPerPod)))
	}
	return b.String()
}

// at names the commit.
func (s *Step) at() string {
	if s.Commit == "" {
		return ""
	}
	return " at commit `" + s.Commit + "`"
}

func capital(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func repetitions(step *Step) string {
	most := 0
	for _, contender := range step.Contenders() {
		most = max(most, len(step.Of(contender)))
	}
	if most == 1 {
		return "once"
	}
	return fmt.Sprintf("%d repetitions", most)
}

// noise is from which share of the machine on others are mentioned, in percent.
const noise = 5

// others is what other programs took of the machine, in percent.
func (s *Step) others() Summary {
	var shares []float64
	for i := range s.Samples {
		shares = append(shares, 100*s.Samples[i].Others)
	}
	return Summarize(shares)
}

// writes lists what every contender wrote.
func (s *Step) writes() string {
	var b strings.Builder
	for _, contender := range order(s.Contenders()) {
		if sample, ok := s.Of(contender)[1]; ok && len(sample.Writes) > 0 {
			fmt.Fprintf(&b, "- %s: %s", Title(contender), inWords(sample.Writes))
			if len(sample.Reads) > 0 {
				fmt.Fprintf(&b, "; read: %s", inWords(sample.Reads))
			}
			if sample.DryRuns > 0 {
				fmt.Fprintf(&b, "; tried: %s dry runs", Thousands(sample.DryRuns))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// plot is one picture.
type plot struct {
	name, title string
	panels      []panel
}

func (r *Results) plots() []plot {
	return []plot{
		r.plot("time", "Seconds to the goal of each step", Seconds, 2),
		r.plot("writes", "Writes that the controller sent", Writes, 0),
		r.plot("controller-cpu", "CPU seconds of the controller", ControllerCPU, 2),
		r.plot("apiserver-cpu", "CPU seconds of the API server", APIServerCPU, 2),
		r.plot("memory", "Peak memory of the controller, MB", PeakMB, 0),
	}
}

// plot has one panel a step; the quiet minute has nothing to show.
func (r *Results) plot(name, title string, m Measure, precision int) plot {
	p := plot{name: name, title: title}
	for i := range r.Steps {
		step := &r.Steps[i]
		if len(step.Samples) == 0 || step.Name == "f" && name != "memory" {
			continue
		}
		panel := panel{title: step.Name + ") " + step.Title}
		for _, contender := range order(step.Contenders()) {
			s := step.Summary(contender, m)
			panel.bars = append(panel.bars, bar{
				label: Title(contender), summary: s, text: s.digits(precision),
				ours: strings.HasPrefix(contender, PodManager),
			})
		}
		p.panels = append(p.panels, panel)
	}
	return p
}
