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

// Package exercises lists the exercises of the lab. Each is a folder below this one with
// a small reconciler that has a classic mistake (reconciler.go, the file to edit), the
// texts (README.md, README.zh.md), a grader (exercise.go) and a solution. The page draws
// its map from this list; lab/check grades them.
package exercises

import (
	"path"

	"github.com/mycompany/pod-operator/lab/trace"
)

// Exercise is one entry of the map.
type Exercise struct {
	// Number is "01" to "16": `make lab CHECK=01` grades it.
	Number string `json:"number"`
	// Slug follows the number in the name of the folder.
	Slug  string     `json:"slug"`
	Title trace.Text `json:"title"`
	// About says in a sentence what goes wrong.
	About trace.Text `json:"about"`
	// Box is the box of the picture that the exercise is about.
	Box string `json:"box"`
}

// Folder is where the exercise is, from the root of the repository.
func (e Exercise) Folder() string { return path.Join("lab", "exercises", e.Number+"-"+e.Slug) }

// File is the file that the learner edits.
func (e Exercise) File() string { return path.Join(e.Folder(), "reconciler.go") }

// Readme is the text of the exercise in a language, "en" or "zh".
func (e Exercise) Readme(language string) string {
	if language == "zh" {
		return path.Join(e.Folder(), "README.zh.md")
	}
	return path.Join(e.Folder(), "README.md")
}

// Walk is where a failed check leaves the shortest schedule that breaks the reconciler,
// as the JSON of a trace.Walk. A check that passes removes it.
func (e Exercise) Walk() string { return path.Join(".lab", "walk-"+e.Number+".json") }

// ProgressFile is where the results of the checks are kept, as the JSON of a Progress.
const ProgressFile = ".lab/progress.json"

// Progress is what the learner has reached, by the number of the exercise.
type Progress struct {
	Exercises map[string]Result `json:"exercises"`
}

// Result is the last check of one exercise.
type Result struct {
	Passed bool `json:"passed"`
	// At is the time of the last check, in RFC 3339.
	At    string `json:"at"`
	Tries int    `json:"tries"`
}

// All lists the exercises in their order.
func All() []Exercise {
	return []Exercise{
		{
			Number: "01", Slug: "stale-read", Box: trace.BoxIndexer,
			Title: trace.Text{EN: "A stale read makes two pods", ZH: "读到旧缓存，多建一个 Pod"},
			About: trace.Text{
				EN: "The cache does not show the pod that the last reconcile created, so the next one creates another.",
				ZH: "缓存里还没有上一次调谐创建的 Pod，于是下一次调谐又建了一个。",
			},
		},
		{
			Number: "02", Slug: "hot-loop", Box: trace.BoxWrites,
			Title: trace.Text{EN: "Status written in a hot loop", ZH: "不停写 status 的死循环"},
			About: trace.Text{
				EN: "Each status write causes an event, and each event causes a status write.",
				ZH: "每次写 status 都会触发事件，每个事件又触发一次写 status。",
			},
		},
		{
			Number: "03", Slug: "delete-without-uid", Box: trace.BoxWrites,
			Title: trace.Text{EN: "Delete without a UID", ZH: "删除时不带 UID"},
			About: trace.Text{
				EN: "A delete by name hits the new object that has taken over the name.",
				ZH: "只按名称删除，删掉的可能是同名的新对象。",
			},
		},
		{
			Number: "04", Slug: "owner-reference", Box: trace.BoxAPI,
			Title: trace.Text{EN: "An owner reference forgotten", ZH: "忘了设置 ownerReference"},
			About: trace.Text{
				EN: "Without an owner reference, the garbage collector leaves the children behind and their events wake no one.",
				ZH: "没有 ownerReference，垃圾回收不会清理子对象，子对象的事件也唤不醒控制器。",
			},
		},
		{
			Number: "05", Slug: "finalizer", Box: trace.BoxReconcile,
			Title: trace.Text{EN: "A finalizer that wedges", ZH: "卡住删除的 finalizer"},
			About: trace.Text{
				EN: "The cleanup fails when there is nothing left to clean up, so the object can never be deleted.",
				ZH: "要清理的东西已经不在，清理逻辑却报错，对象永远删不掉。",
			},
		},
		{
			Number: "06", Slug: "predicate", Box: trace.BoxHandlers,
			Title: trace.Text{EN: "A predicate that drops what matters", ZH: "过滤掉关键事件的 predicate"},
			About: trace.Text{
				EN: "A filter that makes the operator quiet also hides the event that it had to act on.",
				ZH: "为了减少调谐而加的过滤器，把必须处理的事件也丢掉了。",
			},
		},
		{
			Number: "07", Slug: "lost-answer", Box: trace.BoxAPI,
			Title: trace.Text{EN: "generateName and a lost answer", ZH: "generateName 与丢失的响应"},
			About: trace.Text{
				EN: "The create was carried out, its answer was lost, and the retry creates a second object.",
				ZH: "创建已经成功，但响应丢了，重试又建了一个对象。",
			},
		},
		{
			Number: "08", Slug: "swallowed-error", Box: trace.BoxQueue,
			Title: trace.Text{EN: "An error swallowed", ZH: "被吞掉的错误"},
			About: trace.Text{
				EN: "An error that is logged but not returned is never retried.",
				ZH: "错误只写日志而不返回，就不会重试。",
			},
		},
		{
			Number: "09", Slug: "requeue-storm", Box: trace.BoxQueue,
			Title: trace.Text{EN: "Requeue storm", ZH: "重新入队风暴"},
			About: trace.Text{
				EN: "A reconcile that always asks to run again keeps the API server busy although nothing changes.",
				ZH: "每次调谐都要求再次入队，什么都没变，API server 却一直忙。",
			},
		},
		{
			Number: "10", Slug: "conversion", Box: trace.BoxAPI,
			Title: trace.Text{EN: "A conversion that loses a field", ZH: "丢字段的版本转换"},
			About: trace.Text{
				EN: "A client of the old version reads and writes an object, and a field of the new version is gone.",
				ZH: "旧版本的客户端读出对象再写回，新版本的字段就没了。",
			},
		},
		{
			Number: "11", Slug: "webhook", Box: trace.BoxAPI,
			Title: trace.Text{EN: "A webhook that blocks its own operator", ZH: "挡住自己 operator 的 webhook"},
			About: trace.Text{
				EN: "The operator needs a write in order to serve its webhook, and the API server calls that webhook for the write.",
				ZH: "operator 要先写一个对象才能提供 webhook，而这次写入又要先调用该 webhook。",
			},
		},
		{
			Number: "12", Slug: "fence", Box: trace.BoxFault,
			Title: trace.Text{EN: "Leader election without a fence", ZH: "没有 fencing 的选主"},
			About: trace.Text{
				EN: "A leader that was paused does not know that it has been replaced, and its last write destroys newer data.",
				ZH: "被暂停的旧 leader 不知道自己已被取代，它的最后一次写入覆盖了新数据。",
			},
		},
		{
			Number: "13", Slug: "imoocpod", Box: trace.BoxReconcile,
			Title: trace.Text{EN: "ImoocPod, from the first listing to production", ZH: "ImoocPod：从第一版代码到生产可用"},
			About: trace.Text{
				EN: "Keep N busybox pods: count only the own ones, watch them, survive stale reads and lost answers.",
				ZH: "维持 N 个 busybox Pod：只统计自己的 Pod，监听它们，并经得起旧缓存和响应丢失。",
			},
		},
		{
			Number: "14", Slug: "helloworld", Box: trace.BoxHandlers,
			Title: trace.Text{EN: "HelloWorld, from the first listing to production", ZH: "HelloWorld：从第一版代码到生产可用"},
			About: trace.Text{
				EN: "Keep an nginx Deployment at a size, put drift right, and list its pods in the status.",
				ZH: "让 nginx Deployment 保持指定规模，纠正偏差，并在 status 中列出它的 Pod。",
			},
		},
		{
			Number: "15", Slug: "podmanager", Box: trace.BoxReconcile,
			Title: trace.Text{EN: "PodManager, from the first listing to production", ZH: "PodManager：从第一版代码到生产可用"},
			About: trace.Text{
				EN: "Pods with a finalizer, a status that tells the truth, and an event for what was really done.",
				ZH: "带 finalizer 的一组 Pod，如实的 status，只为真正完成的操作记录事件。",
			},
		},
		{
			Number: "16", Slug: "collector", Box: trace.BoxReflector,
			Title: trace.Text{EN: "Collector, from the first listing to production", ZH: "Collector：从第一版代码到生产可用"},
			About: trace.Text{
				EN: "Count events: a level-triggered reconcile cannot do it, and a status that is overwritten forgets them.",
				ZH: "统计事件：水平触发的调谐做不到，被覆盖的 status 会丢计数。",
			},
		},
	}
}
