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

package lab

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// Since answers "why did this reconcile N times": the last change from outside, and every
// reconcile since.
type Since struct {
	Change *trace.Text `json:"change,omitempty"`
	Runs   []Run       `json:"runs"`
	// object is what a button is changing: its event is no other change.
	object string
	until  time.Time
}

// Run is one reconcile, told from its flight record.
type Run struct {
	Number  int          `json:"number"`
	Process string       `json:"process,omitempty"`
	Key     string       `json:"key"`
	Why     []trace.Text `json:"why"`
	Did     []string     `json:"did"`
	Result  string       `json:"result"`
}

// keptRuns bounds the list. A loop makes more than a page can show.
const keptRuns = 200

// changing starts the count again, because a button changes an object.
func (l *Lab) changing(name trace.Text, object string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	const soon = 10 * time.Second
	l.since = Since{Change: &name, object: object, until: time.Now().Add(soon)}
}

// changedOutside starts the count again where a watch shows a change that no button made:
// kubectl did. It is called with the lock held.
func (l *Lab) changedOutside(object string, deleted bool) {
	if l.since.object == object && time.Now().Before(l.since.until) {
		l.since.object = ""
		return
	}
	change := text("%s was changed from outside", "%s 被外部修改", object)
	if deleted {
		change = text("%s was deleted", "%s 被删除", object)
	}
	l.since = Since{Change: &change}
}

// count adds a finished reconcile.
func (l *Lab) count(p *process, number int, r *flightrecorder.Record) {
	run := Run{
		Number: number, Process: p.name, Key: key(r.Object.Namespace, r.Object.Name), Why: []trace.Text{}, Did: []string{},
		Result: string(r.Outcome),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.runs[r.ID] = number
	for i := range r.Triggers {
		run.Why = append(run.Why, l.because(&r.Triggers[i]))
	}
	for _, w := range r.Writes {
		what := w.Verb + " " + w.Object.String()
		if w.Subresource != "" {
			what += "/" + w.Subresource
		}
		run.Did = append(run.Did, fmt.Sprintf("%s → %s", what, cmp.Or(w.Reason, fmt.Sprint(w.Code))))
	}
	if r.Error != "" {
		run.Result += ": " + r.Error
	}
	if l.since.Runs = append(l.since.Runs, run); len(l.since.Runs) > keptRuns {
		l.since.Runs = slices.Delete(l.since.Runs, 0, 1)
	}
}

// because explains a trigger of the flight recorder.
func (l *Lab) because(t *flightrecorder.Trigger) trace.Text {
	object := ""
	if t.Object != nil {
		object = t.Object.String()
	}
	var why trace.Text
	switch t.Kind {
	case flightrecorder.TriggerRequeueAfter, flightrecorder.TriggerRetry:
		why = after(t)
	case flightrecorder.TriggerCreate:
		why = text("%s is new%s", "%s 是新建的%s", object, by(t))
	case flightrecorder.TriggerUpdate:
		why = text("%s changed%s", "%s 有变化%s", object, by(t))
	case flightrecorder.TriggerDelete:
		why = text("%s is gone", "%s 已消失", object)
	case flightrecorder.TriggerStartup:
		why = text("%s was in the first list after the start", "%s 在启动后的第一次列表中", object)
	case flightrecorder.TriggerResync:
		why = text("%s was repeated by the informer", "informer 重新投递了 %s", object)
	default:
		why = text("%s %s", "%s %s", t.Kind, object)
	}
	if n, ok := l.runs[t.CausedBy]; ok && t.CausedBy != "" {
		echo := text(" (an echo of the write of reconcile #%d)", "（第 %d 次调谐写入的回声）", n)
		why = trace.Text{EN: why.EN + echo.EN, ZH: why.ZH + echo.ZH}
	}
	return why
}

// after explains a delayed add. A queue has one place for a key, so that an event which comes before
// the time uses it up.
func after(t *flightrecorder.Trigger) trace.Text {
	delay := trace.Brief(time.Duration(t.Delay))
	switch {
	case t.Early:
		return text("the key was waiting for its %s (%s); this run replaces that", "该 key 正在等待 %s（%s）；被这次执行取代", t.Kind, delay)
	case t.Kind == flightrecorder.TriggerRetry:
		return text("the run before failed: retry after %s", "上一次调谐失败：%s 后重试", delay)
	}
	return text("the run before asked for it: RequeueAfter %s", "上一次调谐要求：RequeueAfter %s", delay)
}

// by lists the fields that changed, and who wrote them.
func by(t *flightrecorder.Trigger) string {
	const most = 4
	var parts []string
	for _, c := range t.Changes {
		fields := c.Fields
		if len(fields) > most {
			fields = append(slices.Clone(fields[:most]), "…")
		}
		parts = append(parts, strings.TrimSpace(strings.Join(fields, ", ")+" ← "+cmp.Or(c.Manager, "?")))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, "; ")
}

func key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
