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
}

func wordsOf(language string) words {
	if language == "zh" {
		return words{
			pick:     func(t trace.Text) string { return t.ZH },
			tried:    "模拟器：%d 个调度，%d 步，%d 个不同状态%s。\n",
			complete: "，已穷尽全部可能", partly: "，其余为随机调度",
			kept: "所有承诺都成立。\n", broken: "违反的承诺：%s\n  %s\n", schedule: "%s共 %d 步：\n", shortest: "最短的调度，", shown: "已写入 %s，页面会画出这段过程。\n",
			real: "真实的 API server：", reached: "达到目标。\n", missed: "没有达到目标：%v\n", without: "本练习不需要。\n",
			noServer: "尚未构建控制面（make build 会构建），只用模拟器评分。\n",
		}
	}
	return words{
		pick:     func(t trace.Text) string { return t.EN },
		tried:    "Simulator: %d schedules, %d steps, %d different states%s.\n",
		complete: ", which is everything that can happen", partly: ", some of the schedules random",
		kept: "All promises hold.\n", broken: "Broken promise: %s\n  %s\n", schedule: "%s%d steps:\n", shortest: "The shortest schedule that breaks it, ", shown: "Written to %s; the page draws it.\n",
		real: "Real API server: ", reached: "the goal is reached.\n", missed: "the goal is not reached: %v\n", without: "not needed for this exercise.\n",
		noServer: "the control plane is not built (make build does it), so only the simulator grades.\n",
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
	fmt.Fprintf(out, w.tried, v.Schedules, v.Steps, v.States, scope)
	if v.Broken == "" {
		fmt.Fprint(out, w.kept)
		return
	}
	fmt.Fprintf(out, "\n"+w.broken, w.pick(e.Say(v.Broken)), v.Message)
	shortest := ""
	if v.Shortest {
		shortest = w.shortest
	}
	fmt.Fprintf(out, "\n"+w.schedule, shortest, len(v.Walk.Steps))
	for i, step := range v.Walk.Steps {
		fmt.Fprintf(out, "%3d  %-9s %-2s %s\n", i+1, step.Box, step.Process, wrap(w.pick(step.Text)))
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
