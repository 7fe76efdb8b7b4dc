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

package main

import (
	"cmp"
	"fmt"
	"html"
	"maps"
	"slices"
	"strings"
)

// house is the rooms and which of them import which.
type house struct {
	imports map[string]map[string]bool
	doc     map[string]string
	// levels are the rooms by the length of the longest way down from them.
	levels [][]string
	level  map[string]int
}

func newHouse(packages []goPackage) (*house, error) {
	h := &house{imports: map[string]map[string]bool{}, doc: folders(), level: map[string]int{}}
	for _, p := range packages {
		name := room(p.ImportPath)
		if h.imports[name] == nil {
			h.imports[name] = map[string]bool{}
		}
		if p.ImportPath == module+name {
			h.doc[name] = sentence(p.Doc)
		}
		for _, path := range p.Imports {
			if to := room(path); strings.HasPrefix(path, module) && to != name {
				h.imports[name][to] = true
			}
		}
	}
	for _, name := range h.names() {
		if err := h.measure(name, nil); err != nil {
			return nil, err
		}
	}
	h.levels = make([][]string, slices.Max(slices.Collect(maps.Values(h.level)))+1)
	for _, name := range h.names() {
		h.levels[h.level[name]] = append(h.levels[h.level[name]], name)
	}
	h.arrange()
	return h, nil
}

// folders are the rooms that have no package of their own.
func folders() map[string]string {
	return map[string]string{
		"api":                 "defines the kinds, their conditions and their reasons",
		"internal/cli":        "is the verbs of the kubectl plugin, one package each",
		"internal/controller": "is the controllers: fleet for all kinds that keep pods, collector, helloworld, and what they share",
		"internal/webhook":    "is the admission and conversion webhooks: defaults, validation, warnings",
	}
}

func (h *house) names() []string { return slices.Sorted(maps.Keys(h.imports)) }

// sentence is the predicate of a package's first sentence: "Package plan is the core.
// It …" gives "is the core".
func sentence(doc string) string {
	first, _, _ := strings.Cut(strings.Join(strings.Fields(doc), " "), ". ")
	words := strings.SplitN(strings.TrimSuffix(first, "."), " ", 3)
	if len(words) < 3 {
		return ""
	}
	return strings.ReplaceAll(words[2], "|", "\\|")
}

// measure finds the level of a room; way are the rooms on the way to it.
func (h *house) measure(name string, way []string) error {
	if slices.Contains(way, name) {
		return fmt.Errorf("imports form a circle: %s", strings.Join(append(way, name), " -> "))
	}
	if _, done := h.level[name]; done {
		return nil
	}
	level := 0
	for _, to := range slices.Sorted(maps.Keys(h.imports[name])) {
		if err := h.measure(to, append(slices.Clone(way), name)); err != nil {
			return err
		}
		level = max(level, h.level[to]+1)
	}
	h.level[name] = level
	return nil
}

// arrange orders the rooms of each level by where the rooms below that they import
// stand, so that few arrows cross.
func (h *house) arrange() {
	place := map[string]float64{}
	for _, row := range h.levels {
		slices.SortStableFunc(row, func(a, b string) int { return cmp.Compare(h.middle(a, place), h.middle(b, place)) })
		for i, name := range row {
			place[name] = (float64(i) + 0.5) / float64(len(row))
		}
	}
}

// middle adds in the order of the names: the last bit of a sum depends on its order,
// and decides between rooms that are tied.
func (h *house) middle(name string, place map[string]float64) float64 {
	if len(h.imports[name]) == 0 {
		return 0.5
	}
	sum := 0.0
	for _, to := range slices.Sorted(maps.Keys(h.imports[name])) {
		sum += place[to]
	}
	return sum / float64(len(h.imports[name]))
}

// direct are the imports that the picture draws: those that no other import implies.
func (h *house) direct(name string) []string {
	var drawn []string
	for _, to := range slices.Sorted(maps.Keys(h.imports[name])) {
		implied := false
		for other := range h.imports[name] {
			implied = implied || other != to && h.reaches(other, to)
		}
		if !implied {
			drawn = append(drawn, to)
		}
	}
	return drawn
}

func (h *house) reaches(from, to string) bool {
	if h.imports[from][to] {
		return true
	}
	for next := range h.imports[from] {
		if h.reaches(next, to) {
			return true
		}
	}
	return false
}

// The measures of the picture.
const (
	width     = 1120
	rowHeight = 92
	boxHeight = 34
	letter    = 8
)

type box struct{ x, y, w int }

func (h *house) boxes() map[string]box {
	all := map[string]box{}
	for i, row := range h.levels {
		y := 20 + (len(h.levels)-1-i)*rowHeight
		free := width
		for _, name := range row {
			free -= boxWidth(name)
		}
		x := 0
		for _, name := range row {
			x += free / (len(row) + 1)
			all[name] = box{x, y, boxWidth(name)}
			x += boxWidth(name)
		}
	}
	return all
}

func label(name string) string { return strings.TrimPrefix(name, "internal/") }
func boxWidth(name string) int { return len(label(name))*letter + 20 }

// svg draws the levels from top to bottom, with a line for each direct import. Lines
// to packages that import nothing of ours are faint: they are many and say little.
func (h *house) svg() []byte {
	var b strings.Builder
	height := len(h.levels)*rowHeight - (rowHeight - boxHeight) + 40
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="monospace" font-size="13">`+"\n", width, height)
	b.WriteString(`<title>The packages and their imports: arrows point down, towards api</title>` + "\n")
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, height)
	b.WriteString(`<g stroke="#8a94a3" stroke-width="1" fill="none">` + "\n")
	boxes := h.boxes()
	for _, name := range h.names() {
		from := boxes[name]
		for _, to := range h.direct(name) {
			t, faint := boxes[to], ""
			if h.level[to] == 0 && to != "api" {
				faint = ` stroke="#d3d9e2"`
			}
			fmt.Fprintf(&b, `<path%s d="M%d %d C%d %d %d %d %d %d"/>`+"\n", faint, from.x+from.w/2, from.y+boxHeight,
				from.x+from.w/2, from.y+boxHeight+28, t.x+t.w/2, t.y-28, t.x+t.w/2, t.y)
		}
	}
	b.WriteString("</g>\n")
	for _, name := range h.names() {
		x := boxes[name]
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d" rx="5" fill="%s" stroke="#30507a"/>`+"\n", x.x, x.y, x.w, boxHeight, colour(name))
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle" fill="#14243a">%s</text>`+"\n", x.x+x.w/2, x.y+22, html.EscapeString(label(name)))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// colour marks the rooms that are pure: values in, values out.
func colour(name string) string {
	switch name {
	case "internal/plan", "internal/podrender", "internal/view":
		return "#d9ead3"
	}
	return "#e8eef7"
}
