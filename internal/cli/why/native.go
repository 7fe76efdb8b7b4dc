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

package why

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/cli/workload"
	"github.com/mycompany/pod-operator/internal/nativewhy"
)

// answer is one thing that happened to a built-in workload, for programs.
type answer struct {
	Time      *time.Time          `json:"time,omitempty"`
	Pods      []string            `json:"pods,omitempty"`
	Text      string              `json:"text"`
	Cause     nativewhy.Cause     `json:"cause"`
	Certainty nativewhy.Certainty `json:"certainty"`
	// Evidence is the record that says so.
	Evidence string `json:"evidence"`
}

func answersOf(f *nativewhy.Facts) []answer {
	answers := []answer{}
	for _, a := range nativewhy.Why(f) {
		one := answer{Pods: a.Pods, Text: a.Text, Cause: a.Cause, Certainty: a.Certainty, Evidence: a.Evidence}
		if !a.Time.IsZero() {
			one.Time = &a.Time
		}
		answers = append(answers, one)
	}
	return answers
}

// tellNative prints the story of a built-in workload, or of a pod that is not ours.
func (o *options) tellNative(s *kube.Session, what string, f *nativewhy.Facts) error {
	answers := answersOf(f)
	answers = answers[:min(len(answers), o.limit)]
	if o.output.Structured() {
		envelope := map[string]any{"items": answers}
		if len(f.Unread) > 0 {
			envelope["unread"] = f.Unread
		}
		return o.output.Print(s.Out, envelope)
	}
	workload.PrintUnread(s.ErrOut, f.Unread)
	if f.Gone {
		fmt.Fprintf(s.ErrOut, "%s %s does not exist any more. Its events say:\n", f.Kind, f.Name)
	}
	return PrintNative(s.Out, s.Paint(), what, answers, f.Now)
}

// PrintNative prints what happened to a built-in workload.
func PrintNative(out io.Writer, paint kube.Paint, what string, answers []answer, now time.Time) error {
	if len(answers) == 0 {
		_, err := fmt.Fprintf(out, "No history found for %s.\n", what)
		return err
	}
	for _, a := range answers {
		age := "undated"
		if a.Time != nil {
			age = kube.Age(*a.Time, now) + " ago"
		}
		text := a.Text
		if len(a.Pods) > 0 && "pod/"+a.Pods[0] != what {
			text = podsOf(a.Pods) + ": " + text
		}
		if bad[a.Cause] {
			text = paint.Bad(text)
		}
		if _, err := fmt.Fprintf(out, "%s %s\n", paint.Soft(fmt.Sprintf("%-9s", age)), text); err != nil {
			return err
		}
		for _, d := range []detail{{"cause", string(a.Cause) + ", " + string(a.Certainty)}, {"known by", a.Evidence}} {
			fmt.Fprintf(out, "            %s %s\n", paint.Soft(fmt.Sprintf("%-8s", d.word)), d.text)
		}
	}
	return nil
}

// bad are the causes that a person did not ask for.
var bad = map[nativewhy.Cause]bool{
	nativewhy.NodePressure: true, nativewhy.StorageLimit: true, nativewhy.NodeLost: true, nativewhy.RefusedByNode: true,
	nativewhy.OutOfMemory: true, nativewhy.LivenessProbe: true, nativewhy.StartupProbe: true, nativewhy.Crashed: true,
	nativewhy.Killed: true, nativewhy.ImagePull: true, nativewhy.ContainerConfig: true, nativewhy.Unschedulable: true,
	nativewhy.Quota: true, nativewhy.CreateRefused: true, nativewhy.NodeNotReady: true, nativewhy.FailedPod: true,
}

// podsOf names the first pods of many.
func podsOf(pods []string) string {
	const named = 3
	if len(pods) <= named {
		return strings.Join(pods, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(pods[:named], ", "), len(pods)-named)
}
