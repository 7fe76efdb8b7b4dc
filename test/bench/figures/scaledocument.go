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
	"strconv"
	"strings"
)

// What is between the markers of docs/scale.md is ours to replace.
const (
	scaleBegin = "<!-- Written by make scale: begin. Edits between these lines are lost. -->"
	scaleEnd   = "<!-- Written by make scale: end. -->"
	scalePlot  = "scale-growth.svg"
	scaleTitle = "What grows with the number of pods"
)

// WriteDocument replaces the measured part of a Markdown document and draws the
// curves into a folder beside it.
func (s *Scale) WriteDocument(path, images string) error {
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
	if err := os.WriteFile(filepath.Join(images, scalePlot), []byte(drawCurves(scaleTitle, s.charts())), 0o644); err != nil {
		return err
	}
	text, err := replaceBetween(string(raw), scaleBegin, scaleEnd, s.markdown(filepath.ToSlash(filepath.Join(folder, scalePlot))))
	if err != nil {
		return fmt.Errorf("update %s: %w", path, err)
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func (s *Scale) markdown(plot string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Kubernetes %s on %d CPUs", s.Kubernetes, s.CPUs)
	if s.Memory > 0 {
		fmt.Fprintf(&b, " and %s GB of memory", decimals(float64(s.Memory)/1e9, 0))
	}
	b.WriteString(". Every series was measured once.\n\n")
	b.WriteString(markdown(s.provenance()))
	b.WriteString("\n### What breaks first\n\n" + s.Breaks() + "\n")
	if share := s.share(); share != "" {
		b.WriteString("\n" + share + "\n")
	}
	fmt.Fprintf(&b, "\n![%s](%s)\n", scaleTitle, plot)
	for _, shape := range []Shape{Many, One} {
		sizes := s.sizes(shape)
		if len(sizes) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n### %s\n\n%s", capital(s.shapeName(shape)), markdown(s.growRows(shape, sizes)))
		fmt.Fprintf(&b, "\nAt each size, the controller is then restarted, and after that 1 %% of the pods is lost:\n\n%s", markdown(s.calmRows(shape, sizes)))
	}
	b.WriteString(s.paper())
	return b.String()
}

// shapeName is how a shape is called on the page.
func (s *Scale) shapeName(shape Shape) string {
	if shape == One {
		return "one object with all pods"
	}
	return fmt.Sprintf("objects of %d pods", s.ObjectPods)
}

// provenance says when and at which commit each series was measured.
func (s *Scale) provenance() [][]string {
	table := [][]string{{"series", "pods", "measured on", "commit", "other programs took, on average"}}
	for i := range s.Series {
		series := &s.Series[i]
		most, others, seconds := 0, 0.0, 0.0
		for j := range series.Samples {
			g := &series.Samples[j]
			most, others, seconds = max(most, g.Pods), others+g.Seconds*g.Others, seconds+g.Seconds
		}
		table = append(table, []string{
			Title(series.Contender) + ", " + s.shapeName(series.Shape), "to " + Thousands(most), series.Time.UTC().Format("2006-01-02"),
			"`" + series.Commit + "`", decimals(100*others/max(seconds, 1e-9), 0) + " % of the machine",
		})
	}
	return table
}

// sizes of a shape, in ascending order.
func (s *Scale) sizes(shape Shape) []int {
	var sizes []int
	for i := range s.Series {
		if s.Series[i].Shape != shape {
			continue
		}
		for j := range s.Series[i].Samples {
			sizes = append(sizes, s.Series[i].Samples[j].Pods)
		}
	}
	return sorted(sizes)
}

func (s *Scale) of(shape Shape) []*Series {
	var list []*Series
	for i := range s.Series {
		if s.Series[i].Shape == shape {
			list = append(list, &s.Series[i])
		}
	}
	return list
}

// growRows is the table of the time and the cost of pods that are added.
func (s *Scale) growRows(shape Shape, sizes []int) [][]string {
	table := [][]string{{
		"pods", "", "s until those added exist", "s until ready and reported in status", "ms a pod", "to ReplicaSet's", "writes a pod", "controller CPU, ms a pod", "API server CPU, ms a pod",
		"controller peak MB", "API server peak MB", "etcd's file MB", "other programs, %",
	}}
	base := s.Of(ReplicaSet, shape)
	for _, size := range sizes {
		for _, series := range s.of(shape) {
			g := series.at(Grow, size)
			if g == nil {
				continue
			}
			row := []string{fmt.Sprintf("%s to %s", Thousands(g.Before), Thousands(size)), Title(series.Contender)}
			if g.Unfinished != "" {
				table = append(table, append(row, s.unfinished(g), "–", "–", "–", "–", "–", "–", "–", "–", "–", "–"))
				continue
			}
			added := float64(g.Pods - g.Before)
			ratio := "–"
			if other := base.at(Grow, size); other != nil && other.Unfinished == "" && other.Before == g.Before {
				ratio = decimals(g.Seconds/other.Seconds, 2) + " ×"
			}
			table = append(table, append(row, decimals(g.Milestones[Exist], 1), decimals(g.Seconds, 1), decimals(1000*g.Seconds/added, 1), ratio,
				decimals(float64(g.TotalWrites())/added, 2), decimals(1000*g.ControllerCPU/added, 2), decimals(1000*g.APIServerCPU/added, 2),
				memory(g), decimals(float64(g.APIServerMemory)/1e6, 0), decimals(float64(g.Database)/1e6, 0), decimals(100*g.Others, 0)))
		}
	}
	return table
}

// memory of the controller; of several processes, of each.
func memory(g *Growth) string {
	if g.Processes > 1 {
		return fmt.Sprintf("%s in the largest of %d, %s together", decimals(float64(g.PeakMemory)/1e6, 0), g.Processes, decimals(float64(g.AllMemory)/1e6, 0))
	}
	return decimals(float64(g.PeakMemory)/1e6, 0)
}

func (s *Scale) unfinished(g *Growth) string {
	return fmt.Sprintf("not finished: %s of %s pods ready after %s s", Thousands(g.Ready), Thousands(g.Pods), decimals(g.Seconds, 0))
}

// calmRows is the table of what happens while everything else rests.
func (s *Scale) calmRows(shape Shape, sizes []int) [][]string {
	table := [][]string{{
		"pods", "", "restart to first action, s", "all missed pods replaced, s", "controller CPU, s", "1 % lost to replaced, s", "writes", "controller CPU, s", "API server CPU, s",
	}}
	for _, size := range sizes {
		for _, series := range s.of(shape) {
			restart, lost := series.at(Restart, size), series.at(Lost, size)
			if restart == nil {
				continue
			}
			row := []string{Thousands(size), Title(series.Contender)}
			if restart.Unfinished != "" {
				row = append(row, s.unfinished(restart), "–", "–")
			} else {
				row = append(row, decimals(restart.Milestones[FirstAction], 1), decimals(restart.Seconds, 1), decimals(restart.ControllerCPU, 1))
			}
			switch {
			case lost == nil:
				row = append(row, "–", "–", "–", "–")
			case lost.Unfinished != "":
				row = append(row, s.unfinished(lost), "–", "–", "–")
			default:
				row = append(row, decimals(lost.Seconds, 1), Thousands(lost.TotalWrites()), decimals(lost.ControllerCPU, 2), decimals(lost.APIServerCPU, 2))
			}
			table = append(table, row)
		}
	}
	return table
}

func (s *Scale) charts() []chart {
	looks := map[string]look{
		PodManager + string(Many): {"PodManager, objects of " + strconv.Itoa(s.ObjectPods), true, false},
		ReplicaSet + string(Many): {"ReplicaSet, objects of " + strconv.Itoa(s.ObjectPods), false, false},
		PodManager + string(One):  {"PodManager, one object", true, true},
		ReplicaSet + string(One):  {"ReplicaSet, one object", false, true},
	}
	draw := func(title, step string, value func(sum, now *Growth) float64) chart {
		c := chart{title: title}
		for i := range s.Series {
			look, known := looks[s.Series[i].Contender+string(s.Series[i].Shape)]
			if !known {
				continue // one size is no curve
			}
			var sum Growth
			line := curve{look: look}
			for _, g := range s.Series[i].Step(step) {
				sum.Seconds += g.Seconds
				sum.ControllerCPU += g.ControllerCPU
				sum.APIServerCPU += g.APIServerCPU
				line.points = append(line.points, point{g.Pods, value(&sum, &g)})
			}
			c.curves = append(c.curves, line)
		}
		return c
	}
	return []chart{
		draw("until all are ready, s", Grow, func(sum, _ *Growth) float64 { return sum.Seconds }),
		draw("controller CPU until then, s", Grow, func(sum, _ *Growth) float64 { return sum.ControllerCPU }),
		draw("API server CPU until then, s", Grow, func(sum, _ *Growth) float64 { return sum.APIServerCPU }),
		draw("controller peak memory, MB", Grow, func(_, now *Growth) float64 { return float64(now.AllMemory) / 1e6 }),
		draw("API server peak memory, MB", Grow, func(_, now *Growth) float64 { return float64(now.APIServerMemory) / 1e6 }),
		draw("restart to first action, s", Restart, func(_, now *Growth) float64 { return now.Milestones[FirstAction] }),
	}
}

// decimals writes a number with so many decimals, and commas where there are none.
func decimals(v float64, precision int) string {
	if precision == 0 {
		return Thousands(int(v + 0.5))
	}
	return strconv.FormatFloat(v, 'f', precision, 64)
}
