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

package top

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/view"
)

// keptLines is how many decisions are kept to scroll through.
const keptLines = 500

// Row is a PodManager.
type Row struct {
	Key                                      string // NAMESPACE/NAME
	Desired, Live, Ready, Updated, Available int
	State, Message                           string
	Rolling                                  bool
}

// Line is a decision.
type Line struct {
	ID   string
	Time time.Time
	Key  string
	Text string
	// Cause is why it was looked at, where the recorder says.
	Cause string
	Bad   bool
	// History: it is from the PodManager's history, which says less.
	History bool
}

// The model's messages.
type (
	rowsMsg struct{ rows []Row }
	lineMsg struct{ line Line }
	// sourceMsg says where the decisions come from.
	sourceMsg struct {
		text     string
		recorder bool
	}
	problemMsg struct{ text string }
)

// Model is what the screen shows. Only messages change it, so that a test can
// send messages and read the screen.
type Model struct {
	paint         kube.Paint
	width, height int
	rows          []Row
	lines         []Line // newest first
	chosen        string // the key of the row under the cursor
	only          bool   // only the decisions of the chosen one
	frozen        bool
	source        string
	recorder      bool // the decisions come from the recorder
	problem       string
}

// NewModel makes an empty screen.
func NewModel(paint kube.Paint, width, height int) Model {
	return Model{paint: paint, width: width, height: height, source: "connecting"}
}

// Init implements tea.Model.
func (Model) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		return m.press(msg.String())
	case sourceMsg:
		m.source, m.recorder = msg.text, msg.recorder
	case problemMsg:
		m.problem = msg.text
	case rowsMsg:
		m.problem = ""
		if !m.frozen {
			m.rows = msg.rows
			m.choose(0)
		}
	case lineMsg:
		m.take(msg.line)
	}
	return m, nil
}

func (m Model) press(key string) (tea.Model, tea.Cmd) {
	switch key {
	case "q", "esc", "ctrl+c":
		return m, tea.Quit
	case "down", "j":
		m.choose(1)
	case "up", "k":
		m.choose(-1)
	case "enter":
		m.only = !m.only
	case "space", "p":
		m.frozen = !m.frozen
	}
	return m, nil
}

// choose moves the cursor. The PodManager under it stays under it when others
// come and go.
func (m *Model) choose(step int) {
	if len(m.rows) == 0 {
		m.chosen = ""
		return
	}
	at := slices.IndexFunc(m.rows, func(r Row) bool { return r.Key == m.chosen })
	if at < 0 {
		at, step = 0, 0
	}
	m.chosen = m.rows[min(len(m.rows)-1, max(0, at+step))].Key
}

// take puts a decision in its place. Sources repeat themselves after an
// interruption.
func (m *Model) take(line Line) {
	if slices.ContainsFunc(m.lines, func(l Line) bool { return l.ID == line.ID }) {
		return
	}
	m.lines = append([]Line{line}, m.lines...)
	slices.SortStableFunc(m.lines, func(a, b Line) int { return b.Time.Compare(a.Time) })
	m.lines = m.lines[:min(len(m.lines), keptLines)]
}

// View implements tea.Model.
func (m Model) View() tea.View {
	v := tea.NewView(m.Screen())
	v.AltScreen = true
	v.WindowTitle = "PodManagers"
	return v
}

// Screen is the screen as text.
func (m Model) Screen() string {
	out := m.body()
	for len(out) < m.height-1 {
		out = append(out, "")
	}
	out = append(out, m.paint.Soft(fit("↑↓ choose  enter only its decisions  space freeze  q quit", m.width)))
	return strings.Join(out, "\n")
}

// Paper is the screen without the help for keys, for output that is no terminal.
func (m Model) Paper() string { return strings.Join(m.body(), "\n") }

func (m Model) body() []string {
	out := []string{m.title(), ""}
	out = append(out, m.table(max(3, (m.height-6)/2))...)
	out = append(out, "", m.storyTitle())
	return append(out, m.story(m.height-len(out)-1)...)
}

func (m Model) title() string {
	desired, ready := 0, 0
	for _, r := range m.rows {
		desired += r.Desired
		ready += r.Ready
	}
	text := fmt.Sprintf("%s, %d of %s ready", view.Count(len(m.rows), "PodManager"), ready, view.Count(desired, "pod"))
	if m.frozen {
		text += "  FROZEN"
	}
	if m.problem != "" {
		return m.paint.Bad(fit(text+"  "+m.problem, m.width))
	}
	return m.paint.Strong(fit(text, m.width))
}

func (m Model) table(room int) []string {
	name := len("PODMANAGER")
	for _, r := range m.rows {
		name = max(name, len(r.Key))
	}
	name = min(name, max(10, m.width/3))
	form := fmt.Sprintf("%%s %%-%ds %%7s %%5s %%5s %%7s %%6s  %%s", name)
	lines := []string{m.paint.Soft(fit(fmt.Sprintf(form, " ", "PODMANAGER", "DESIRED", "LIVE", "READY", "UPDATED", "AVAIL", "STATE"), m.width))}
	at := max(0, slices.IndexFunc(m.rows, func(r Row) bool { return r.Key == m.chosen }))
	first := max(0, min(at-room/2, len(m.rows)-room))
	for i := first; i < len(m.rows) && i < first+room; i++ {
		r := m.rows[i]
		mark := " "
		if r.Key == m.chosen {
			mark = ">"
		}
		state := r.State
		if r.Rolling {
			state += fmt.Sprintf(" [%s]", view.Bar(r.Updated, r.Desired, 10))
		}
		if r.Message != "" {
			state += " " + r.Message
		}
		number := func(n int) string { return fmt.Sprint(n) }
		text := fit(fmt.Sprintf(form, mark, fit(r.Key, name), number(r.Desired), number(r.Live), number(r.Ready), number(r.Updated), number(r.Available), state), m.width)
		lines = append(lines, m.colour(r, text))
	}
	if hidden := len(m.rows) - room; hidden > 0 {
		lines = append(lines, m.paint.Soft(fmt.Sprintf("  and %d more", hidden)))
	}
	return lines
}

func (m Model) colour(r Row, text string) string {
	switch {
	case r.State == "Stalled":
		return m.paint.Bad(text)
	case r.State == "Reconciling" || r.State == "new":
		return m.paint.Busy(text)
	case r.State == "Pinned" || r.Ready < r.Desired:
		return m.paint.Warn(text)
	}
	return m.paint.Good(text)
}

func (m Model) storyTitle() string {
	whose := "Decisions"
	if m.only {
		whose += " of " + m.chosen
	}
	return m.paint.Strong(fit(fmt.Sprintf("%s (%s)", whose, m.source), m.width))
}

func (m Model) story(room int) []string {
	var lines []string
	oldest := m.oldestRecord()
	for _, l := range m.lines {
		// The recorder's line says more than the history's.
		if m.only && l.Key != m.chosen || l.History && !oldest.IsZero() && !l.Time.Before(oldest.Truncate(time.Second)) {
			continue
		}
		if len(lines) >= room {
			break
		}
		text := fit(fmt.Sprintf("%s %s  %s", l.Time.Format("15:04:05"), l.Key, l.Text), m.width)
		if l.Bad {
			text = m.paint.Bad(text)
		}
		lines = append(lines, text)
		if l.Cause != "" && len(lines) < room {
			lines = append(lines, m.paint.Soft(fit("         because "+l.Cause, m.width)))
		}
	}
	return lines
}

// oldestRecord is since when the recorder has every decision.
func (m Model) oldestRecord() (oldest time.Time) {
	if !m.recorder {
		return oldest
	}
	for _, l := range m.lines {
		if !l.History {
			oldest = l.Time // the newest come first
		}
	}
	return oldest
}

// fit cuts a text to a width. All text on the screen comes through here, so
// this is where it loses what would steer the terminal.
func fit(text string, width int) string {
	runes := []rune(kube.Clean(strings.ReplaceAll(text, "\n", " ")))
	if width <= 0 || len(runes) <= width {
		return string(runes)
	}
	if width == 1 {
		return "…"
	}
	return string(runes[:width-1]) + "…"
}
