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

package plugin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// scribe writes down what the verbs say and compares it with testdata/.
type scribe struct {
	plugin
}

// transcript runs a verb and compares what it says, and its exit code, with
// testdata/NAME.golden.
func (s scribe) transcript(t *testing.T, name string, args ...string) {
	t.Helper()
	out, err := s.try(t, args...)
	said := fmt.Sprintf("$ kubectl podmanager %s\n%s", strings.Join(args, " "), out)
	if code := kube.ExitCode(err); code == kube.ExitFailed {
		said += fmt.Sprintf("error: %v\n(exit code %d)\n", err, code)
	} else if code != 0 {
		said += fmt.Sprintf("(exit code %d)\n", code)
	}
	t.Log(said)
	got := normal(said)
	file := filepath.Join(testkit.Root(), "test", "plugin", "testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); go test ./test/plugin -update writes it anew:\n%s", file, diff)
	}
}

// moving is what no two runs have in common, and what stands for it.
var moving = []struct {
	pattern *regexp.Regexp
	stands  string
}{
	{regexp.MustCompile(`shop-\d{4}`), "shop-0000"},
	{regexp.MustCompile(`web-[0-9a-z]{8,10}\b`), "web-REVISION"},
	{regexp.MustCompile(`(?m)^(<invalid>|\d[\dsmhd]*) ago {0,8}`), "AGE ago  "},
	{regexp.MustCompile(`\b\d+[smh](\d+[smh])?(  +)`), "AGE  "},
	{regexp.MustCompile(`record   .*`), "record   ID, waited TIME, took TIME"},
	{regexp.MustCompile(`after [\d.]+m?s`), "after TIME"},
	{regexp.MustCompile(`in about \S+: pods were ready \S+ after`), "in about TIME: pods were ready TIME after"},
	{regexp.MustCompile(`node node-\d+`), "node NODE"},
	{regexp.MustCompile(`\d\d:\d\d:\d\d`), "HH:MM:SS"},
	{regexp.MustCompile(`v1\.\d+\.\d+\S* at https://127.0.0.1:\d+`), "VERSION at ADDRESS"},
	{regexp.MustCompile(`https://127.0.0.1:\d+`), "ADDRESS"},
	{regexp.MustCompile(`answers at 127.0.0.1:\d+`), "answers at ADDRESS"},
	{regexp.MustCompile(`\d+ objects? can be decoded`), "N objects can be decoded"},
	{regexp.MustCompile(`plugin       .*`), "plugin       VERSION"},
	{regexp.MustCompile(`valid for \S+`), "valid for TIME"},
	{regexp.MustCompile(`latest spec of \d+ PodManagers?`), "latest spec of N PodManagers"},
	// Both are deleted at the same time.
	{regexp.MustCompile(`delete Pod web-\d`), "delete Pod web-N"},
	{regexp.MustCompile(`events      \d+: .*`), "events      N: ..."},
	{regexp.MustCompile(`reconciles  \d+.*`), "reconciles  N"},
	{regexp.MustCompile(`writes      \d+`), "writes      N"},
	{regexp.MustCompile(`None of the \d+`), "None of the N"},
	// On the screen of top, whatever came together with the change that is shown.
	{regexp.MustCompile(`(?m)^ {9}because .*`), "         because ..."},
	{regexp.MustCompile(`\d+ decisions decided again, \d+ the same.*`), "N decisions decided again, N the same."},
}

func normal(text string) string {
	for _, m := range moving {
		text = m.pattern.ReplaceAllString(text, m.stands)
	}
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(line, " \n"))
	}
	return strings.Join(lines, "\n") + "\n"
}

// One story, told by each verb as it goes.
func TestTranscripts(t *testing.T) {
	// Its name is as long in every run, or the columns would not be.
	namespace := fmt.Sprintf("shop-%04d", rand.IntN(10000))
	testkit.Eventually(t, "there is a namespace "+namespace, func() error {
		return suite.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	})
	t.Cleanup(func() {
		_ = suite.Client.Delete(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	})
	s := scribe{as(t, namespace, "ada")}
	t.Chdir(t.TempDir())
	if err := os.WriteFile("web.yaml", []byte(changedYAML), 0o600); err != nil {
		t.Fatal(err)
	}
	fleet(t, namespace, 3)
	s.transcript(t, "status", "status", "web")
	s.transcript(t, "status-all", "status")
	s.transcript(t, "plan-in-place", "plan", "web", "--set-image", "nginx:1.28")
	s.transcript(t, "plan-recreate", "plan", "-f", "web.yaml")
	s.transcript(t, "plan-nothing", "plan", "web", "--replicas", "3")

	s.expectQuiet(t)
	patch(t, namespace, `{"spec":{"replicas":1}}`)
	expectSettled(t, namespace)
	s.expectQuiet(t)
	s.transcript(t, "why", "why", "web", "--limit", "1")
	s.transcript(t, "why-pod", "why", "pod/web-2", "--limit", "1")
	s.transcript(t, "events", "events", "web", "--for", "replicas=3:1")
	s.transcript(t, "events-none", "events", "web", "--for", "replicas=7:8")
	scribe{s.with("--no-recorder")}.transcript(t, "why-no-recorder", "why", "web", "--limit", "1")
	scribe{admin(namespace)}.transcript(t, "why-no-token", "why", "web", "--limit", "1")

	s.transcript(t, "rollout-pause", "rollout", "pause", "web")
	s.expectQuiet(t)
	patch(t, namespace, `{"spec":{"image":"nginx:1.28"}}`)
	s.expectHeld(t)
	s.transcript(t, "why-not", "why-not", "web")
	s.transcript(t, "status-held", "status", "web")
	s.transcript(t, "rollout-resume", "rollout", "resume", "web")
	expectSettled(t, namespace)
	s.transcript(t, "rollout-status", "rollout", "status", "web")
	s.transcript(t, "rollout-history", "rollout", "history", "web")
	s.transcript(t, "why-not-nothing", "why-not", "web")

	s.expectQuiet(t)
	s.transcript(t, "reconcile", "reconcile", "web")
	s.transcript(t, "why-reconcile", "why", "web", "--limit", "1")
	s.transcript(t, "top", "top", "--once")
	s.transcript(t, "doctor", "doctor")
	scribe{admin(namespace)}.transcript(t, "doctor-admin", "doctor")
	s.transcript(t, "replay-save", "replay", "web", "--save", "web.jsonl")
	s.transcript(t, "replay", "replay", "-f", "web.jsonl")
	s.transcript(t, "delete-pod", "delete-pod", "web-0")
	s.transcript(t, "error-no-such-podmanager", "status", "nothing")
	s.transcript(t, "error-no-such-format", "plan", "web", "-o", "xml")
}

// expectQuiet waits until the operator has done all that followed from what
// was done so far, so that the next record is about the next command.
func (s scribe) expectQuiet(t *testing.T) {
	t.Helper()
	last, since := "", time.Now()
	testkit.Eventually(t, "the operator is quiet", func() error {
		now, err := s.try(t, "why", "web", "--all", "--limit", "1", "-o", "json")
		if err != nil {
			return err
		}
		if now != last {
			last, since = now, time.Now()
		}
		if time.Since(since) < 500*time.Millisecond {
			return errors.New("a record came a moment ago")
		}
		return nil
	})
}

func (s scribe) expectHeld(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "the rollout is held back", func() error {
		out, err := s.try(t, "why-not", "web")
		if err == nil && !strings.Contains(out, "Paused") {
			err = errors.New(out)
		}
		return err
	})
	s.expectQuiet(t)
}
