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

package bench

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mycompany/pod-operator/test/bench/figures"
)

func TestScaleFlags(t *testing.T) {
	o, err := ParseScaleFlags(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{[]int{1000, 5000, 20000, 50000}, []int{1000, 5000, 20000}, 5, 4}, []any{o.Sizes, o.OneSizes, o.ObjectPods, o.Shards}); diff != "" {
		t.Errorf("by default (-want +got):\n%s", diff)
	}
	var who []string
	for _, g := range o.growers() {
		who = append(who, g.contender.name+" "+string(g.shape))
	}
	want := []string{"podmanager many", "replicaset many", "podmanager one", "replicaset one", "podmanager-shards many"}
	if diff := cmp.Diff(want, who); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	if o, err = ParseScaleFlags([]string{"--sizes=20,10", "--one-sizes=", "--shards=0", "--contenders=replicaset"}, io.Discard); err != nil ||
		len(o.growers()) != 1 || !slices.Equal(o.growers()[0].sizes, []int{10, 20}) {
		t.Errorf("one series in ascending order: %+v, %v", o.growers(), err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no number":             {[]string{"--sizes=many"}, `--sizes: "many" is no number of pods`},
		"half an object":        {[]string{"--sizes=7"}, "--sizes: 7 pods are not whole objects of 5"},
		"an unknown contender":  {[]string{"--contenders=deployment"}, `no contender is called "deployment"`},
		"no time":               {[]string{"--timeout=0s"}, "--timeout is 0s: a step needs time"},
		"fewer than no shards":  {[]string{"--shards=-1"}, "--shards is -1"},
		"an argument":           {[]string{"50000"}, `"50000" is not a flag`},
		"objects without a pod": {[]string{"--object-pods=0"}, "--object-pods is 0"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseScaleFlags(c.args, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to say %s", err, c.want)
			}
		})
	}
}

// TestScale goes through all steps on real control planes: what make scale does,
// with few pods. The counts are exact on every machine.
func TestScale(t *testing.T) {
	o := scaleTestOptions(t)
	o.Sizes, o.Shards, o.Contenders = []int{20, 40}, 2, []string{figures.PodManager}
	if err := Scale(t.Context(), o, t.Output()); err != nil {
		t.Fatal(err)
	}
	results, err := figures.ReadScale(o.Output)
	if err != nil {
		t.Fatal(err)
	}
	for _, contender := range []string{figures.PodManager, figures.PodManagerShards} {
		series := results.Of(contender, figures.Many)
		if series == nil {
			t.Fatalf("%s was not measured", contender)
		}
		made := 0
		for _, g := range series.Step(figures.Grow) {
			made += g.Writes["create pods"]
		}
		if made != 40 {
			t.Errorf("%s created %d pods, want 40", contender, made)
		}
		last := len(series.Samples) - 1
		if n := series.Samples[last].Writes["create pods"]; series.Samples[last].Step != figures.Lost || n != 1 {
			t.Errorf("%s replaced %d of 1 lost pod: %+v", contender, n, series.Samples[last])
		}
		for _, g := range series.Samples {
			if g.Unfinished != "" || g.Seconds <= 0 || g.ControllerCPU <= 0 || g.APIServerCPU <= 0 || g.AllMemory < g.PeakMemory || g.PeakMemory <= 0 ||
				g.APIServerMemory <= 0 || g.EtcdMemory <= 0 || g.Database <= 0 {
				t.Errorf("a figure is missing: %+v", g)
			}
			if g.Step == figures.Restart && (g.Milestones[figures.FirstAction] <= 0 || g.Writes["create pods"] != 1) {
				t.Errorf("the restarted operator did not replace the lost pod: %+v", g)
			}
		}
	}
	if n := results.Of(figures.PodManagerShards, figures.Many).Samples[0].Processes; n != 2 {
		t.Errorf("%d operators had 2 shards", n)
	}
	page, err := os.ReadFile(o.Document)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"### What breaks first", "| 20 to 40 | PodManager ", "| 0 to 40  | PodManager, shards ", "![What grows with the number of pods](images/scale-growth.svg)"} {
		if !strings.Contains(string(page), part) {
			t.Errorf("%q is missing in:\n%s", part, page)
		}
	}
}

// A step that does not reach its goal in its time is a result, with its number:
// here of a contender that is gone.
func TestScaleWritesDownWhatBreaks(t *testing.T) {
	o := ScaleOptions{ObjectPods: 5, Timeout: 3 * time.Minute}
	g := grower{contender: chosen([]string{figures.ReplicaSet})[0], shape: figures.Many, sizes: []int{20}}
	s, err := newScaleStage(t.Context(), o, g, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	var got []figures.Growth
	at := &growth{stage: s, grower: g, each: 5, timeout: o.Timeout, add: func(sample figures.Growth) error {
		got = append(got, sample)
		return nil
	}}
	defer at.end()
	if err := at.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	at.stop()
	at.timeout = 2 * time.Second
	finished, err := at.measure(t.Context(), figures.Grow, 20, at.grow)
	if err != nil || finished || len(got) != 1 {
		t.Fatalf("finished: %v, %v, %+v", finished, err, got)
	}
	if !strings.Contains(got[0].Unfinished, "waited until all pods exist: its 2s were over") || got[0].Ready != 0 || got[0].Pods != 20 || got[0].Seconds < 1 {
		t.Errorf("got %+v", got[0])
	}
}

func scaleTestOptions(t *testing.T) ScaleOptions {
	t.Helper()
	dir := t.TempDir()
	o := ScaleOptions{
		ObjectPods: 5, Timeout: 3 * time.Minute, Manager: buildManager(t),
		Output: filepath.Join(dir, "results", "scale.json"), Document: filepath.Join(dir, "scale.md"), Images: filepath.Join(dir, "images"),
	}
	// The page begins as the real one does.
	page := readFile(t, "docs/scale.md")
	if err := os.WriteFile(o.Document, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	return o
}
