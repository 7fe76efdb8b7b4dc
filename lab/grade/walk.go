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

package grade

import (
	"fmt"
	"strings"

	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// walk draws a failure: one step of the walk for each step of the schedule.
func (e *Exercise) walk(f *sim.Failure) *trace.Walk {
	promise := e.Say(f.Promise)
	w := &trace.Walk{
		Title:     trace.Text{EN: "Exercise " + e.Number, ZH: "练习 " + e.Number},
		Violation: &trace.Text{EN: promise.EN + " Broken: " + f.Message, ZH: promise.ZH + " 违反：" + f.Message},
	}
	for i := range f.Steps {
		w.Steps = append(w.Steps, e.step(&f.Steps[i]))
	}
	return w
}

func (e *Exercise) step(s *sim.Step) trace.Step {
	text := e.happened(s)
	text = join(text, outcome(s))
	verb := s.Verb
	if verb == "" {
		verb = string(s.Kind)
	}
	if s.Kind == sim.StepFault {
		verb = string(s.Fault)
	}
	step := trace.Step{
		Box: box(s), Verb: verb, Object: s.Object, Text: text, Process: s.Process,
		Stored: s.Stored, Cached: s.Cached, At: s.At.Milliseconds(),
	}
	if s.Process != "" {
		step.Queue = &trace.Queue{
			Waiting: s.Queue.Waiting, Dirty: s.Queue.Dirty, Processing: s.Queue.Processing, Delayed: s.Queue.BackingOff,
		}
	}
	return step
}

func join(a, b trace.Text) trace.Text {
	if b.EN == "" {
		return a
	}
	return trace.Text{EN: a.EN + " " + b.EN, ZH: a.ZH + b.ZH}
}

func say(en, zh string, args ...any) trace.Text {
	return trace.Text{EN: fmt.Sprintf(en, args...), ZH: fmt.Sprintf(zh, args...)}
}

func box(s *sim.Step) string {
	switch s.Kind {
	case sim.StepDeliver:
		if s.Watched {
			return trace.BoxHandlers
		}
		return trace.BoxIndexer
	case sim.StepRelist:
		return trace.BoxReflector
	case sim.StepReconcile:
		return trace.BoxReconcile
	case sim.StepCall:
		return trace.BoxWrites
	case sim.StepTime:
		return trace.BoxQueue
	case sim.StepFault:
		return trace.BoxFault
	case sim.StepOther:
		return trace.BoxAPI
	}
	return trace.BoxUser
}

// happened explains a step.
func (e *Exercise) happened(s *sim.Step) trace.Text {
	switch s.Kind {
	case sim.StepDeliver:
		return delivered(s)
	case sim.StepRelist:
		return say("The cache lists all objects of kind %[1]s again and sees only the newest state.", "缓存重新 list 所有 %[1]s，只看到最新状态。", s.Object)
	case sim.StepReconcile:
		return say("A reconcile of %[1]s starts and reads the cache.", "开始调谐 %[1]s，读取缓存。", s.Object)
	case sim.StepCall:
		if s.Error != "" {
			return say("The API server refuses to %[1]s %[2]s: %[3]s.", "API server 拒绝 %[1]s %[2]s：%[3]s。", s.Verb, s.Object, s.Error)
		}
		return say("The API server carries out: %[1]s %[2]s.", "API server 执行：%[1]s %[2]s。", s.Verb, s.Object)
	case sim.StepAction:
		text := e.Say(s.Verb)
		if s.Error != "" {
			return say("%[1]s The API server refuses: %[3]s.", "%[2]s API server 拒绝：%[3]s。", text.EN, text.ZH, s.Error)
		}
		return text
	case sim.StepOther:
		return e.others(s)
	case sim.StepTime:
		return say("Time passes until the timer of %[1]s is due.", "时间流逝，直到 %[1]s 的定时器到期。", s.Object)
	}
	return faulted(s)
}

func delivered(s *sim.Step) trace.Text {
	text := say("The watch delivers %[1]s %[2]s to the cache.", "watch 把 %[1]s %[2]s 送达缓存。", s.Verb, s.Object)
	keys := strings.Join(s.Enqueued, ", ")
	switch {
	case !s.Watched:
		return join(text, say("The controller does not watch this kind, so nothing is queued.", "控制器没有监听这个 kind，没有任何 key 入队。"))
	case s.Dropped:
		return join(text, say("A predicate drops the event, so nothing is queued.", "predicate 丢弃了该事件，没有任何 key 入队。"))
	case keys == "":
		return join(text, say("The handler finds no owner to wake, so nothing is queued.", "handler 找不到要唤醒的 owner，没有任何 key 入队。"))
	}
	return join(text, say("The handler adds %[1]s to the queue.", "handler 把 %[1]s 加入队列。", keys))
}

func (e *Exercise) others(s *sim.Step) trace.Text {
	switch s.Verb {
	case "garbage collector deletes":
		return say("The garbage collector deletes %[1]s, because its owner is gone.", "owner 已不存在，垃圾回收删除 %[1]s。", s.Object)
	case "kubelet runs":
		return say("The kubelet reports that %[1]s runs and is ready.", "kubelet 上报 %[1]s 已运行并就绪。", s.Object)
	case "kubelet ends":
		return say("The kubelet has ended %[1]s, and the object is gone.", "kubelet 已停止 %[1]s，对象被移除。", s.Object)
	}
	name, does := e.Say(s.Verb), e.Say(s.Object)
	return trace.Text{EN: name.EN + ": " + does.EN, ZH: name.ZH + "：" + does.ZH}
}

func faulted(s *sim.Step) trace.Text {
	switch s.Fault {
	case sim.Conflict:
		return say("Fault: the API server answers %[1]s %[2]s with 409, because someone else was faster.", "故障：API server 对 %[1]s %[2]s 返回 409，有其他写入抢先了。", s.Verb, s.Object)
	case sim.Throttle:
		return say("Fault: the API server answers %[1]s %[2]s with 429. Nothing was done.", "故障：API server 对 %[1]s %[2]s 返回 429，什么都没做。", s.Verb, s.Object)
	case sim.LostAnswer:
		return say("Fault: the API server carries out %[1]s %[2]s, but the answer is lost and the client sees a time-out.",
			"故障：API server 执行了 %[1]s %[2]s，但响应丢失，客户端看到的是超时。", s.Verb, s.Object)
	case sim.CutWatch:
		return say("Fault: the watch of %[1]s is cut. The cache keeps its old state until it lists again.", "故障：%[1]s 的 watch 断开，在重新 list 之前缓存保持旧状态。", s.Object)
	case sim.SecondLeader:
		return say("Fault: the process pauses for so long that its lease expires. A second leader starts, and the first one does not know.",
			"故障：进程暂停过久，租约过期。第二个 leader 启动，而第一个并不知情。")
	case sim.ClockJump:
		return say("Fault: the clock jumps forward.", "故障：时钟向前跳。")
	}
	switch s.Verb {
	case "crash before":
		return say("Fault: the operator crashes before %[1]s. A new process starts.", "故障：operator 在 %[1]s 之前崩溃，新进程启动。", s.Object)
	case "crash after":
		return say("Fault: the operator crashes right after %[1]s. A new process starts.", "故障：operator 在 %[1]s 之后立即崩溃，新进程启动。", s.Object)
	}
	return say("Fault: the operator crashes. A new process starts.", "故障：operator 崩溃，新进程启动。")
}

// outcome is what the reconcile does next.
func outcome(s *sim.Step) trace.Text {
	var text trace.Text
	if s.Next != "" {
		text = say("It asks the API server to %[1]s.", "它请求 API server：%[1]s。", s.Next)
	}
	for _, r := range s.Recorded {
		text = add(text, say("It records the event %[1]s: %[2]s.", "它记录事件 %[1]s：%[2]s。", r.Reason, r.Note))
	}
	switch r := s.Returned; {
	case r == nil:
		return text
	case r.Error != "":
		return add(text, say("The reconcile returns an error and is retried after a backoff: %[1]s.", "调谐返回错误，退避后重试：%[1]s。", r.Error))
	case r.RequeueAfter > 0:
		return add(text, say("The reconcile ends and asks to run again after %[1]s.", "调谐结束，要求 %[1]s 后再次运行。", trace.Brief(r.RequeueAfter)))
	}
	return add(text, say("The reconcile ends without an error.", "调谐结束，没有错误。"))
}

func add(a, b trace.Text) trace.Text {
	if a.EN == "" {
		return b
	}
	return join(a, b)
}
