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

package check

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mycompany/pod-operator/lab/exercises"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/lab/trace"
)

// words are what a report says, in one language.
type words struct {
	pick                                     func(trace.Text) string
	tried, complete, partly, kept            string
	broken, schedule, shortest, shown        string
	real, reached, missed, without, noServer string
	next, last, again, operators             string
	counted                                  func(n int, noun string) string
}

func wordsOf(language string) words {
	if language == "zh" {
		return words{
			pick:     func(t trace.Text) string { return t.ZH },
			tried:    "模拟器：%s个调度，%s步，%s个不同状态%s。\n",
			complete: "，已穷尽全部可能", partly: "，其余为随机调度",
			kept: "所有承诺都成立。\n", broken: "违反的承诺：%s\n  %s\n", schedule: "%s共 %s步：\n", shortest: "最短的调度，", shown: "已写入 %s，页面会画出这段过程。\n",
			real: "真实的 API server：", reached: "达到目标。\n", missed: "没有达到目标：%v\n", without: "本练习不需要。\n",
			noServer: "尚未构建控制面（make build 会构建），只用模拟器评分。\n",
			next:     "\n已通过。下一个：%s %s\n%s，然后 make lab CHECK=%s\n", last: "\n已通过。这是最后一个练习。\n",
			again:     "\n尚未通过。修改 %s，然后再次运行 make lab CHECK=%s。\n",
			operators: "a 是第一个 operator，b 是第二个 leader。\n",
			counted:   func(n int, _ string) string { return fmt.Sprintf("%d ", n) },
		}
	}
	return words{
		pick:     func(t trace.Text) string { return t.EN },
		tried:    "Simulator: %s, %s, %s%s.\n",
		complete: ", which is everything that can happen", partly: ", some of the schedules random",
		kept: "All promises hold.\n", broken: "Broken promise: %s\n  %s\n", schedule: "%s%s:\n", shortest: "The shortest schedule that breaks it, ", shown: "Written to %s; the page draws it.\n",
		real: "Real API server: ", reached: "the goal is reached.\n", missed: "the goal is not reached: %v\n", without: "not needed for this exercise.\n",
		noServer: "the control plane is not built (make build does it), so only the simulator grades.\n",
		next:     "\nPassed. Next: %s %s\n%s, then make lab CHECK=%s\n", last: "\nPassed. This was the last exercise.\n",
		again:     "\nNot passed yet. Edit %s, then run make lab CHECK=%s again.\n",
		operators: "a is the first operator, b the second leader.\n",
		counted:   trace.Counted[int],
	}
}

// report prints a verdict.
func (w words) report(out io.Writer, entry exercises.Exercise, e *grade.Exercise, v *grade.Verdict) {
	fmt.Fprintf(out, "%s %s\n%s\n\n", entry.Number, w.pick(entry.Title), entry.File())
	scope := ""
	switch {
	case v.Broken != "":
	case v.Complete:
		scope = w.complete
	case e.Simulate == nil:
		scope = w.partly
	}
	fmt.Fprintf(out, w.tried, w.counted(v.Schedules, "schedule"), w.counted(v.Steps, "step"), w.counted(v.States, "different state"), scope)
	if v.Broken == "" {
		fmt.Fprint(out, w.kept)
		return
	}
	fmt.Fprintf(out, "\n"+w.broken, w.pick(e.Say(v.Broken)), v.Message)
	shortest := ""
	if v.Shortest {
		shortest = w.shortest
	}
	fmt.Fprintf(out, "\n"+w.schedule, shortest, w.counted(len(v.Walk.Steps), "step"))
	several := slices.ContainsFunc(v.Walk.Steps, func(s trace.Step) bool { return s.Process == second })
	for i, step := range v.Walk.Steps {
		whose := ""
		if several {
			whose = step.Process
		}
		fmt.Fprintf(out, "%3d  %-9s %-2s %s\n", i+1, step.Box, whose, wrap(w.pick(step.Text)))
	}
	if several {
		fmt.Fprint(out, w.operators)
	}
}

// second is the letter of a second operator in a walk.
const second = "b"

// goOn says what to do now.
func (w words) goOn(out io.Writer, entry exercises.Exercise, passed bool) {
	all := exercises.All()
	at := slices.IndexFunc(all, func(e exercises.Exercise) bool { return e.Number == entry.Number }) + 1
	switch {
	case !passed:
		fmt.Fprintf(out, w.again, entry.File(), entry.Number)
	case at == len(all):
		fmt.Fprint(out, w.last)
	default:
		fmt.Fprintf(out, w.next, all[at].Number, w.pick(all[at].Title), all[at].File(), all[at].Number)
	}
}

// wrap breaks a sentence into lines that stay in their column.
func wrap(text string) string {
	const width = 100
	var b strings.Builder
	line := 0
	for _, word := range strings.Fields(text) {
		if line > 0 && line+len(word) > width {
			b.WriteString("\n" + strings.Repeat(" ", 18))
			line = 0
		} else if line > 0 {
			b.WriteString(" ")
		}
		b.WriteString(word)
		line += len(word) + 1
	}
	return b.String()
}
