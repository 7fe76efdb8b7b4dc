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
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/google/go-cmp/cmp"

	"github.com/mycompany/pod-operator/internal/cli/kube"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// after is the screen after messages.
func after(t *testing.T, width, height int, msgs ...tea.Msg) Model {
	t.Helper()
	m := tea.Model(NewModel(kube.NewPaint(false), width, height))
	for _, msg := range msgs {
		m, _ = m.Update(msg)
	}
	return m.(Model)
}

func rows() rowsMsg {
	return rowsMsg{[]Row{
		{Key: "shop/api", Desired: 3, Live: 3, Ready: 3, Updated: 3, Available: 3, State: "Ready", Message: "3 of 3 pods are available"},
		{Key: "shop/web", Desired: 4, Live: 4, Ready: 3, Updated: 2, Available: 3, State: "Reconciling", Message: "rolling out", Rolling: true},
	}}
}

func line(id string, seconds int, key, text string) lineMsg {
	return lineMsg{Line{ID: id, Time: noon.Add(time.Duration(seconds) * time.Second), Key: key, Text: text, Cause: "a user asked"}}
}

func key(code rune, text string) tea.KeyPressMsg { return tea.KeyPressMsg{Code: code, Text: text} }

func TestTheScreenShowsFleetsAndDecisions(t *testing.T) {
	m := after(t, 78, 14, sourceMsg{"from the recorder", true}, rows(), line("a", 0, "shop/api", "Created api-0."), line("b", 5, "shop/web", "Changed in place web-3."))
	want := []string{
		"2 PodManagers, 6 of 7 pods ready",
		"",
		"  PODMANAGER DESIRED  LIVE READY UPDATED  AVAIL  STATE",
		"> shop/api         3     3     3       3      3  Ready 3 of 3 pods are availa…",
		"  shop/web         4     4     3       2      3  Reconciling [#####-----] rol…",
		"",
		"Decisions (from the recorder)",
		"12:00:05 shop/web  Changed in place web-3.",
		"         because a user asked",
		"12:00:00 shop/api  Created api-0.",
		"         because a user asked",
		"",
		"",
		"↑↓ choose  enter only its decisions  space freeze  q quit",
	}
	if diff := cmp.Diff(want, strings.Split(m.Screen(), "\n")); diff != "" {
		t.Errorf("screen (-want +got):\n%s", diff)
	}
}

func TestKeys(t *testing.T) {
	begin := []tea.Msg{rows(), line("a", 0, "shop/api", "Created api-0."), line("b", 5, "shop/web", "Changed web-3.")}
	for name, c := range map[string]struct {
		keys       []tea.Msg
		has, lacks string
	}{
		"down chooses the next":            {[]tea.Msg{key(tea.KeyDown, "")}, "> shop/web", "> shop/api"},
		"down stops at the end":            {[]tea.Msg{key('j', "j"), key('j', "j"), key('j', "j")}, "> shop/web", "> shop/api"},
		"up goes back":                     {[]tea.Msg{key('j', "j"), key(tea.KeyUp, "")}, "> shop/api", "> shop/web"},
		"enter shows only its decisions":   {[]tea.Msg{key(tea.KeyEnter, "")}, "Created api-0.", "Changed web-3."},
		"enter again shows all":            {[]tea.Msg{key(tea.KeyEnter, ""), key(tea.KeyEnter, "")}, "Changed web-3.", "Decisions of"},
		"space freezes the numbers":        {[]tea.Msg{key(tea.KeySpace, " "), rowsMsg{}}, "FROZEN", "0 PodManagers"},
		"a problem is told":                {[]tea.Msg{problemMsg{"no route to host"}}, "no route to host", "FROZEN"},
		"a problem that is over is not":    {[]tea.Msg{problemMsg{"no route to host"}, rows()}, "shop/web", "no route"},
		"a decision is told once":          {[]tea.Msg{line("b", 5, "shop/web", "Changed web-3 AGAIN.")}, "Changed web-3.", "AGAIN"},
		"who is chosen stays chosen":       {[]tea.Msg{key('j', "j"), rowsMsg{append([]Row{{Key: "a/new"}}, rows().rows...)}}, "> shop/web", "> a/new"},
		"nothing is chosen of nothing":     {[]tea.Msg{rowsMsg{}}, "0 PodManagers", "> shop"},
		"the history fills in for records": {[]tea.Msg{lineMsg{Line{ID: "h", Time: noon, History: true, Text: "Deleted 1 pod"}}}, "Deleted 1 pod", "FROZEN"},
	} {
		t.Run(name, func(t *testing.T) {
			screen := after(t, 100, 20, append(begin, c.keys...)...).Screen()
			if !strings.Contains(screen, c.has) || strings.Contains(screen, c.lacks) {
				t.Errorf("it shows %q: %t, and %q: %t\n%s", c.has, strings.Contains(screen, c.has), c.lacks, strings.Contains(screen, c.lacks), screen)
			}
		})
	}
}

func TestTheHistoryDoesNotRepeatTheRecorder(t *testing.T) {
	older := lineMsg{Line{ID: "h1", Time: noon.Add(-time.Hour), History: true, Text: "before the restart"}}
	same := lineMsg{Line{ID: "h2", Time: noon, History: true, Text: "the same in fewer words"}}
	screen := after(t, 100, 20, sourceMsg{"from the recorder", true}, rows(), line("a", 0, "shop/api", "Created api-0."), older, same).Screen()
	if !strings.Contains(screen, "before the restart") || strings.Contains(screen, "fewer words") {
		t.Error(screen)
	}
}

func TestQuitEnds(t *testing.T) {
	for _, msg := range []tea.Msg{key('q', "q"), key(tea.KeyEscape, "")} {
		if _, cmd := NewModel(kube.NewPaint(false), 80, 24).Update(msg); cmd == nil {
			t.Errorf("%v does not end it", msg)
		}
	}
}

func TestALongListKeepsTheChosenOneInSight(t *testing.T) {
	var many []Row
	for i := range 100 {
		many = append(many, Row{Key: "shop/fleet-" + strings.Repeat("x", i%3) + string(rune('a'+i%26)) + strings.Repeat("y", i/26)})
	}
	msgs := []tea.Msg{rowsMsg{many}}
	for range 70 {
		msgs = append(msgs, key('j', "j"))
	}
	m := after(t, 60, 20, msgs...)
	if screen := m.Screen(); !strings.Contains(screen, "> "+many[70].Key) || len(strings.Split(screen, "\n")) > 20 {
		t.Error(screen)
	}
}

func TestTheProgramRunsOnATerminal(t *testing.T) {
	var out strings.Builder
	p := tea.NewProgram(NewModel(kube.NewPaint(true), 80, 24), tea.WithContext(t.Context()), tea.WithInput(strings.NewReader("q")), tea.WithOutput(&out), tea.WithWindowSize(80, 24))
	if _, err := p.Run(); err != nil {
		t.Fatal(err)
	}
}

// The terminal belongs to the one who looks, not to those whose text is shown.
func TestTextDoesNotSteerTheTerminal(t *testing.T) {
	m := tea.Model(NewModel(kube.NewPaint(false), 80, 24))
	evil := "\x1b]0;owned\x07\r\u009b2J"
	for _, msg := range []tea.Msg{
		rowsMsg{[]Row{{Key: "shop/web", State: evil, Message: evil}}},
		sourceMsg{text: evil},
		lineMsg{Line{ID: "1", Key: "shop/web", Text: evil, Cause: evil}},
		problemMsg{evil},
	} {
		m, _ = m.Update(msg)
	}
	for _, c := range m.(Model).Screen() {
		if c < ' ' && c != '\n' || c >= 0x7f && c < 0xa0 {
			t.Fatalf("the screen has %q", c)
		}
	}
}
