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

package examples

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/localkube/kubetest"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// patience bounds one example; each of them has a shorter one of its own.
const patience = 3 * time.Minute

func tour() string { return filepath.Join(testkit.Root(), "docs", "tour.md") }

// elsewhere are examples that have no transcript in the tour, but a test of their own.
var elsewhere = []string{"flightrecorder", "curl-trigger"}

// alone are examples that change what others see: a CRD shows in discovery.
var alone = []string{"conversion"}

// A transcript is the command, and what it printed, between two fences.
var transcript = regexp.MustCompile("```console\n\\$ go run \\./examples/([a-z-]+)\n((?s:.*?))```")

// varying is what differs from run to run, in all examples.
var varying = []struct {
	pattern *regexp.Regexp
	as      string
}{
	{regexp.MustCompile(`\bdemo-[a-z0-9]{5}\b`), "demo-xxxxx"},
	{regexp.MustCompile(`(resourceVersion(?: is)?) \d+`), "$1 N"},
	{regexp.MustCompile(`\d+\.\d s\b`), "N s"},
	{regexp.MustCompile(`\d+ objects in \d+ KiB`), "N objects in N KiB"},
	// A watch that a busy server turns away is asked for again.
	{regexp.MustCompile(`\d+ (requests until the caches are filled)`), "N $1"},
}

func normal(text string) string {
	for _, v := range varying {
		text = v.pattern.ReplaceAllString(text, v.as)
	}
	return text
}

func TestTheTourShowsEveryExample(t *testing.T) {
	folders, err := filepath.Glob(filepath.Join(testkit.Root(), "examples", "*", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, folder := range folders {
		if name := filepath.Base(filepath.Dir(folder)); !slices.Contains(elsewhere, name) {
			want = append(want, name)
		}
	}
	got := []string{}
	for _, match := range transcript.FindAllStringSubmatch(read(t, tour()), -1) {
		got = append(got, match[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("examples (-) and transcripts (+) in docs/tour.md:\n%s", diff)
	}
}

func TestExamples(t *testing.T) {
	printed := &outputs{byName: map[string]string{}}
	matches := transcript.FindAllStringSubmatch(read(t, tour()), -1)
	show := func(t *testing.T, name, want string) {
		got := runExample(t, name, suite.Cluster.KubeconfigPath())
		printed.add(name, got)
		if check, ok := checks[name]; ok {
			check(t, got)
		}
		if diff := cmp.Diff(normal(want), normal(got)); diff != "" && !*update {
			t.Errorf("docs/tour.md (-) and what %s printed (+); -update writes it down:\n%s", name, diff)
		}
	}
	t.Run("together", func(t *testing.T) {
		for _, match := range matches {
			if !slices.Contains(alone, match[1]) {
				t.Run(match[1], func(t *testing.T) {
					t.Parallel()
					show(t, match[1], match[2])
				})
			}
		}
	})
	for _, match := range matches {
		if slices.Contains(alone, match[1]) {
			t.Run(match[1], func(t *testing.T) { show(t, match[1], match[2]) })
		}
	}
	if *update && !t.Failed() {
		rewrite(t, tour(), func(name, said string) string {
			if now, ok := printed.byName[name]; ok && normal(now) != normal(said) {
				return now
			}
			return said
		})
	}
}

// The playground's API server has the feature gate off, as others do. Where it
// is on, the same program lets the server do the work.
func TestShardedInformerWhereTheServerKnowsShards(t *testing.T) {
	t.Parallel()
	cluster := kubetest.Start(t, localkube.Options{
		Components:   []localkube.Component{localkube.Etcd, localkube.APIServer, localkube.ControllerManager},
		FeatureGates: map[string]bool{"ShardedListAndWatch": true},
	})
	got := runExample(t, "sharded-informer", cluster.KubeconfigPath())
	if !strings.Contains(got, "\nby hash, in the server (shardSelector)\n") {
		t.Errorf("the server was not asked to share:\n%s", got)
	}
	checkShards(t, got)
}

// curl-trigger reconciles for each request, until it is stopped.
func TestCurlTrigger(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(binaries, "curl-trigger"), "-address=127.0.0.1:0")
	command.Env = append(os.Environ(), "KUBECONFIG="+suite.Cluster.KubeconfigPath(), "HOME="+t.TempDir())
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	next := func() string {
		lines.Scan() // ends with the program, which the context ends
		return lines.Text()
	}
	url, ok := strings.CutPrefix(next(), "curl -X POST ")
	if !ok {
		t.Fatalf("it printed %q (%v)", lines.Text(), lines.Err())
	}
	for _, want := range []string{"1", "2"} {
		response, err := http.Post(url, "text/plain", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil || response.StatusCode != http.StatusAccepted {
			t.Errorf("the answer is %s, %v", response.Status, err)
		}
		if diff := cmp.Diff("GenericFunc puts page into the queue\nreconcile page number "+want, next()+"\n"+next()); diff != "" {
			t.Errorf("printed (-want +got):\n%s", diff)
		}
	}
	if err := errors.Join(command.Process.Signal(os.Interrupt), command.Wait()); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
}

func TestAnExampleWithoutAClusterSaysWhatToDo(t *testing.T) {
	t.Parallel()
	command := exec.CommandContext(t.Context(), filepath.Join(binaries, "clientset"))
	command.Dir, command.Env = t.TempDir(), []string{"KUBECONFIG="}
	out, err := command.CombinedOutput()
	want := "error: no cluster: set KUBECONFIG, or start the playground with make up\n"
	if err == nil || string(out) != want {
		t.Errorf("got %v and %q, want a failure and %q", err, out, want)
	}
}

// runExample returns what the example printed. Its namespace has to be gone
// afterwards, or going.
func runExample(t *testing.T, name, kubeconfig string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, filepath.Join(binaries, name))
	command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+t.TempDir())
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", name, err, stdout.String(), stderr.String())
	}
	if strings.Contains(stderr.String(), "ERROR") {
		t.Errorf("%s prints errors, and nothing failed:\n%s", name, stderr.String())
	}
	return stdout.String()
}

// checks go beyond what the transcripts can say, because it varies.
var checks = map[string]func(t *testing.T, printed string){
	"sharded-informer": checkShards,
	"leader-election":  checkHandOver,
}

// checkShards: the informers' shares add up to all objects, every time, and
// every informer of two to four has some.
func checkShards(t *testing.T, printed string) {
	t.Helper()
	share, lines := regexp.MustCompile(`(\d+) objects in`), 0
	objects := 60
	for line := range strings.Lines(printed) {
		shares := share.FindAllStringSubmatch(line, -1)
		if shares == nil {
			continue
		}
		lines++
		objects += 5
		sum := 0
		for _, s := range shares {
			n, err := strconv.Atoi(s[1])
			if err != nil || n == 0 {
				t.Errorf("an informer with nothing to do: %s", line)
			}
			sum += n
		}
		if sum != objects {
			t.Errorf("the shares add up to %d of %d: %s", sum, objects, line)
		}
	}
	if lines != 8 {
		t.Errorf("%d lines tell shares, want 8:\n%s", lines, printed)
	}
}

// checkHandOver: no candidate leads before a killed leader's Lease has run out.
// It was last renewed less than the renew deadline (6 s) before, and lasts 8 s.
func checkHandOver(t *testing.T, printed string) {
	t.Helper()
	match := regexp.MustCompile(`killed, another leads after (\d+\.\d) s`).FindStringSubmatch(printed)
	if match == nil {
		t.Fatalf("no second hand-over:\n%s", printed)
	}
	if seconds, err := strconv.ParseFloat(match[1], 64); err != nil || seconds < 1 {
		t.Errorf("the killed leader's Lease was taken after %s s", match[1])
	}
}

// outputs are what the examples printed.
type outputs struct {
	mu     sync.Mutex
	byName map[string]string
}

func (o *outputs) add(name, printed string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.byName[name] = printed
}

// rewrite replaces what the transcripts say.
func rewrite(t *testing.T, path string, with func(name, said string) string) {
	t.Helper()
	text := transcript.ReplaceAllStringFunc(read(t, path), func(block string) string {
		match := transcript.FindStringSubmatch(block)
		return fmt.Sprintf("```console\n$ go run ./examples/%s\n%s```", match[1], with(match[1], match[2]))
	})
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
