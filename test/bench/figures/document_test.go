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
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// full is a run in which PodManager sends few writes and takes its time.
func full() *Results {
	writes := func(pods, status int) map[string]int {
		return map[string]int{"create pods": pods, "patch podmanagers/status": status}
	}
	return &Results{
		Kubernetes: "v1.37.1", CPUs: 2, FullSize: true,
		Steps: []Step{
			{
				Name: "a", Title: "0 to 1,000 pods", Goal: "until all are ready", Time: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), Commit: "0123abc",
				Samples: []Sample{
					{Contender: "raw-8", Repetition: 1, Seconds: 5, Writes: writes(1000, 0)},
					{Contender: ReplicaSet, Repetition: 1, Seconds: 10, ControllerCPU: 1, APIServerCPU: 4, Writes: writes(1000, 258), PeakMemory: 140e6},
					{Contender: PodManager, Repetition: 1, Seconds: 9, ControllerCPU: 0.5, APIServerCPU: 3, Writes: writes(1000, 10), PeakMemory: 70e6},
					{Contender: ReplicaSet, Repetition: 2, Seconds: 20, ControllerCPU: 2, APIServerCPU: 8, Writes: writes(1000, 258), PeakMemory: 142e6},
					{Contender: PodManager, Repetition: 2, Seconds: 22, ControllerCPU: 1, APIServerCPU: 6, Writes: writes(1000, 13), PeakMemory: 71e6},
				},
			},
			{Name: "b", Title: "was not run"},
		},
		Planner: []PlannerCost{
			{Fleet: "at rest", Pods: 10, NanosPerPod: 100},
			{Fleet: "at rest", Pods: 100, NanosPerPod: 40},
			{Fleet: "at rest", Pods: 1000, NanosPerPod: 100},
		},
	}
}

func TestVerdicts(t *testing.T) {
	want := []Verdict{
		{"a", "time until all are ready, to ReplicaSet's", "≤ 1.10", "1.00 (0.90–1.10) ×", true},
		{"a", "controller CPU, to ReplicaSet's", "≤ 1.00", "0.50 ×", true},
		{"a", "writes", "≤ 1,020", "1,012 (1,010–1,013)", true},
		{"a", "status writes", "≤ 12", "12 (10–13)", false}, // once is too often
		{"a", "peak memory at 1,000 pods, to ReplicaSet's", "≤ 0.75", "0.50 ×", true},
		{"planner", "growth of the time per pod, 10 to 100,000 pods (worst: at rest)", "≤ 3.00", "2.50 ×", true},
	}
	if diff := cmp.Diff(want, full().Verdicts()); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}

func TestWhatWasNotMeasuredHasNoVerdict(t *testing.T) {
	if got := (&Results{}).Verdicts(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	r := &Results{Steps: []Step{{Name: "a", Samples: []Sample{{Contender: Deployment, Repetition: 1, Seconds: 1}}}}}
	if got := r.Verdicts(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}

func TestTheTableOfAStep(t *testing.T) {
	want := [][]string{
		{"", "time, to ReplicaSet's", "writes", "of status", "409s", "seconds", "controller CPU s", "API server CPU s", "peak MB", "of it private"},
		{"PodManager", "1.00 (0.90–1.10) ×", "1,012 (1,010–1,013)", "12 (10–13)", "0", "15.50 (9.00–22.00)", "0.75 (0.50–1.00)", "4.50 (3.00–6.00)", "71 (70–71)", "0"},
		{"ReplicaSet", "1.00 ×", "1,258", "258", "0", "15.00 (10.00–20.00)", "1.50 (1.00–2.00)", "6.00 (4.00–8.00)", "141 (140–142)", "0"},
		{"bare loop, 8 workers", "0.50 ×", "1,000", "0", "0", "5.00", "0.00", "0.00", "0", "0"},
	}
	if diff := cmp.Diff(want, rows(&full().Steps[0])); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestTheTableOfAQuietStepShowsNoTimes(t *testing.T) {
	quiet := &Step{Name: "f", Samples: []Sample{{Contender: PodManager, Repetition: 1, Seconds: 60, Lists: 1}}}
	want := [][]string{
		{"", "LISTs", "writes", "of status", "409s", "controller CPU s", "API server CPU s", "peak MB", "of it private"},
		{"PodManager", "1", "0", "0", "0", "0.00", "0.00", "0", "0"},
	}
	if diff := cmp.Diff(want, rows(quiet)); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestTheDocumentKeepsWhatOthersWrote(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "performance.md")
	before := "# Title\n\nBy hand.\n\n" + beginMark + "\nold\n" + endMark + "\n\n## After\n"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing
		if err := full().WriteDocument(path, filepath.Join(dir, "images")); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(raw)
	if !strings.HasPrefix(text, "# Title\n\nBy hand.\n\n"+beginMark+"\n\nKubernetes v1.37.1 on 2 CPUs.") ||
		!strings.HasSuffix(text, "\n\n"+endMark+"\n\n## After\n") || strings.Contains(text, "old") {
		t.Errorf("got:\n%s", text)
	}
	for _, part := range []string{
		"| a       | status writes ", "### a) 0 to 1,000 pods\n\nUntil all are ready. Measured on 2026-03-01 at commit `0123abc`, 2 repetitions.\n",
		"![Seconds to the goal of each step](images/bench-time.svg)", "- PodManager: 1,000 create pods, 10 patch podmanagers/status\n",
	} {
		if strings.Count(text, part) != 1 {
			t.Errorf("%q is there %d times in:\n%s", part, strings.Count(text, part), text)
		}
	}
	if strings.Contains(text, "was not run") {
		t.Error("a step that was not run is in the document")
	}
}

func TestTheDocumentSaysWhenTheMachineWasNotIdle(t *testing.T) {
	r := full()
	if text := r.markdown(nil); strings.Contains(text, "not idle") {
		t.Error("an idle machine is called busy")
	}
	for i := range r.Steps[0].Samples {
		r.Steps[0].Samples[i].Others = 0.2
	}
	if text := r.markdown(nil); !strings.Contains(text, "The machine was not idle: other programs took 20 % of it, so the times are rough.") {
		t.Errorf("a busy machine is not mentioned:\n%s", text)
	}
}

func TestADocumentWithoutMarkersIsLeftAlone(t *testing.T) {
	for name, text := range map[string]string{"none": "# Title\n", "one": beginMark + "\n", "in the wrong order": endMark + beginMark} {
		if _, err := replaceBetweenMarks(text, "new"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// drawn is what a picture says, as far as a reader can see it.
func drawn(t *testing.T, svg string) (texts []string, widths []float64, lines int) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(svg))
	inText := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return texts, widths, lines
		}
		if err != nil {
			t.Fatalf("not XML: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			inText = e.Name.Local == "text"
			lines += map[bool]int{true: 1}[e.Name.Local == "line"]
			for _, a := range e.Attr {
				if e.Name.Local == "rect" && a.Name.Local == "width" {
					w, err := strconv.ParseFloat(a.Value, 64)
					if err != nil {
						t.Fatal(err)
					}
					widths = append(widths, w)
				}
			}
		case xml.CharData:
			if inText {
				texts = append(texts, string(e))
			}
		case xml.EndElement:
			inText = false
		}
	}
}

func TestBarsAreToScale(t *testing.T) {
	svg := drawBars("Time & <more>", []panel{{title: "a", bars: []bar{
		{label: "ours", summary: Summarize([]float64{1, 2, 3}), text: "2", ours: true},
		{label: "theirs", summary: Summarize([]float64{4}), text: "4"},
		{label: "nothing", summary: Summarize([]float64{0}), text: "0"},
	}}, {title: "b", bars: []bar{{label: "zero", summary: Summarize([]float64{0}), text: "0"}}}})
	texts, widths, lines := drawn(t, svg)
	if diff := cmp.Diff([]string{"Time & <more>", "a", "ours", "2", "theirs", "4", "nothing", "0", "b", "zero", "0"}, texts); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{990, 240, 480, 0, 0}, widths); diff != "" {
		t.Errorf("widths (-want +got):\n%s", diff)
	}
	if lines != 1 {
		t.Errorf("%d ranges are drawn, and one has a range", lines)
	}
}

// A label ends beside its bar. One that is too long begins outside of the picture.
func TestLabelsFit(t *testing.T) {
	const letter = 0.6 * 12 // of a wide font, in pixels
	for _, contender := range []string{
		PodManager, PodManagerRecreate, ReplicaSet, Deployment, StatefulSet, CloneSet, CloneSetRecreate,
		RawLoop + "1", RawLoop + "8", RawLoop + "32", RawOpen, RawTyped, RawServed,
	} {
		if title := Title(contender); letter*float64(len(title)) > labelWidth-8 {
			t.Errorf("%q may be wider than the %d pixels that it has", title, labelWidth-8)
		}
	}
}

func TestPrint(t *testing.T) {
	var b strings.Builder
	if err := full().Print(&b); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"a) 0 to 1,000 pods: until all are ready\n", "targets\n", "not met\n", "planner, per pod\n"} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%q is missing in:\n%s", part, b.String())
		}
	}
}
