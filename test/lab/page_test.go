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
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/mycompany/pod-operator/lab"
	"github.com/mycompany/pod-operator/lab/check"
	"github.com/mycompany/pod-operator/lab/exercises"
	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/test/browser"
)

// visit opens the page of a lab.
func visit(t *testing.T, options lab.Options) (*room, *browser.Tab) {
	t.Helper()
	r := open(t, options)
	b := browser.Open(t, r.origin, r.token, browser.Prefer("light"))
	b.Album("lab")
	english(b)
	b.See("the token is out of the address", `!location.href.includes('token')`)
	b.See("the page has followed the lab", `document.querySelectorAll('#steps li').length > 10 && document.getElementById('forward').disabled`)
	return r, b
}

func english(b *browser.Tab) {
	b.Do("speak English", chromedp.Evaluate(`document.documentElement.lang === 'en' || document.getElementById('language').click()`, nil))
}

func click(b *browser.Tab, id string) {
	b.Helper()
	b.See(id+" can be pressed", fmt.Sprintf(`(() => { const b = document.getElementById(%q); return b && !b.disabled; })()`, id))
	b.Do("press "+id, chromedp.Evaluate(fmt.Sprintf(`document.getElementById(%q).dispatchEvent(new MouseEvent('click', {bubbles: true}))`, id), nil))
}

// reads waits until an element has a text.
func reads(b *browser.Tab, selector, text string) {
	b.Helper()
	b.See(selector+" says "+text, fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.textContent.includes(%q))`, selector, text))
}

// TestThePageAsksForItsLink: a browser without the token is told what to open.
func TestThePageAsksForItsLink(t *testing.T) {
	r := open(t, lab.Options{})
	b := browser.Open(t, r.origin, "")
	english(b)
	reads(b, "#problem", "Open the link that make lab printed")
	b.See("nothing is shown", `document.querySelectorAll('#steps li').length === 0`)
	b.Do("open the link", chromedp.Navigate(r.origin+"/?again#token="+r.token))
	b.See("the page follows the lab", `document.querySelectorAll('#steps li').length > 10 && document.getElementById('problem').hidden`)
	b.Content()
}

// TestTheFirstScreenShowsThePresent: a reload plays no old steps, every box says what it did
// last, and what step 4 of docs/lab.md compares is on the screen.
func TestTheFirstScreenShowsThePresent(t *testing.T) {
	r, b := visit(t, lab.Options{})
	b.Do("reload", chromedp.Reload())
	b.See("the newest step is the first that is drawn", `(() => { const p = document.getElementById('position').textContent.match(/(\d+) \/ (\d+)/);
		if (!p) return false;
		window.first ??= p[1];
		return window.first === p[2]; })()`)
	for _, box := range []string{"reflector", "deltas", "handlers", "reconcile", "writes"} {
		b.See("the box "+box+" says what it did", fmt.Sprintf(`document.querySelector('#box-%s .line').textContent.length > 2`, box))
	}
	b.See("the picture has colours", `new Set(['api', 'indexer', 'queue', 'reconcile'].map((box) => getComputedStyle(document.querySelector('#box-' + box + ' rect')).fill)).size === 4`)
	reads(b, "#queue-delayed", "lab/web")
	b.See("nothing backs off", `document.getElementById('queue-backingOff').textContent.endsWith('–')`)
	b.See("no letter is shown for the one operator", `![...document.querySelectorAll('#steps code')].some((c) => /^[ab]\b/.test(c.textContent))`)
	b.See("no duration has nine digits", `!/\d\.\d{4,}s/.test(document.body.innerText)`)
	b.See("stored and cached are on the screen", `document.querySelectorAll('#compare tbody tr').length > 3 &&
		document.getElementById('compare').getBoundingClientRect().bottom <= window.innerHeight`)
	b.Keep("first")

	from := r.mark()
	click(b, "fault-conflict")
	reads(b, "#fault-conflict", "armed: hits the next one")
	click(b, "change-scale-3")
	r.see(from, trace.BoxAPI, "unchanged", "Web lab/web")
	reads(b, "#now", "Web lab/web is so already")
	reads(b, "#fault-conflict", "armed: hits the next one")
	click(b, "fault-conflict")
	b.Content()
}

// watchToken notes the boxes at which the token is from now on.
func watchToken(b *browser.Tab) {
	b.Helper()
	b.Do("watch the token", chromedp.Evaluate(`window.visited = new Set();
		new MutationObserver(() => visited.add(document.getElementById('token').dataset.box))
			.observe(document.getElementById('token'), {attributes: true})`, nil))
}

func everyBoxIsVisited(b *browser.Tab) {
	b.Helper()
	for _, box := range []string{"user", "api", "reflector", "deltas", "indexer", "handlers", "queue", "reconcile", "writes"} {
		b.See("the token was at "+box, fmt.Sprintf(`visited.has(%q)`, box))
	}
}

// TestABusyPageMissesNoBox: it catches up with a hundred steps one by one.
func TestABusyPageMissesNoBox(t *testing.T) {
	r, b := visit(t, lab.Options{})
	from := r.mark()
	watchToken(b)
	click(b, "change-image-new")
	b.Do("be busy", chromedp.Evaluate(`(() => { for (const end = Date.now() + 8000; Date.now() < end;); })()`, nil))
	r.rest(from)
	if n := r.mark() - from; n < 100 {
		t.Fatalf("the change took %d steps, too few to leave the page behind", n)
	}
	everyBoxIsVisited(b)
	from = r.mark()
	click(b, "change-image-old")
	r.rest(from)
	b.Content()
}

func TestTheTokenVisitsAllBoxesAndThePageSaysWhy(t *testing.T) {
	_, b := visit(t, lab.Options{})
	watchToken(b)
	click(b, "change-scale-1")
	everyBoxIsVisited(b)
	reads(b, "#since", "scale to 1")
	reads(b, "#runs", "spec.replicas ← lab-page")
	reads(b, "#runs", "delete Pod lab/web-2")
	reads(b, "#runs", "Pod lab/web-2 is gone")
	b.See("it is counted", `Number(document.getElementById('count').textContent) >= 2 &&
		Number(document.getElementById('count').textContent) === document.querySelectorAll('#runs > li').length`)

	click(b, "box-queue")
	reads(b, "#about-body", "added while it is processed it becomes dirty")
	reads(b, "#about-body", "examples/workqueue")
	b.See("the code is linked with its version", `/controller-runtime@v\d+\.\d+\.\d+\/pkg\/controller\/priorityqueue#/.test(document.querySelector('#about-body a').href)`)
	click(b, "close")
	click(b, "language")
	reads(b, "#since", "缩容到 1")
	reads(b, "#box-queue", "工作队列")
	click(b, "language")
	reads(b, "#box-queue", "Work queue")
	click(b, "change-scale-3")
	reads(b, "#runs", "create Pod lab/web-2")

	b.Do("hold a phone", chromedp.EmulateViewport(390, 844))
	b.See("the picture is narrow", `document.getElementById('svg').getAttribute('viewBox').startsWith('0 0 360')`)
	b.See("nothing is cut off", `document.documentElement.scrollWidth <= window.innerWidth`)
	b.Keep("phone")
	b.Content()
}

// tokenIsAt waits until the token is at a box, and not on its way.
func tokenIsAt(b *browser.Tab, box string) {
	b.Helper()
	b.See("the token is at "+box, fmt.Sprintf(`(() => {
		const token = document.getElementById('token').getBoundingClientRect(), box = document.getElementById('box-%[1]s').getBoundingClientRect();
		return document.getElementById('token').dataset.box === %[1]q && token.left < box.right && token.right > box.left && token.top < box.bottom && token.bottom > box.top;
	})()`, box))
}

// TestThePageStepsOneThingAtATime is the walk of docs/lab.md: why 3 to 1 reconciles several times.
func TestThePageStepsOneThingAtATime(t *testing.T) {
	r, b := visit(t, lab.Options{})
	click(b, "pause")
	reads(b, "#status", "paused")
	click(b, "change-scale-1")
	b.See("the event is held before the reflector", `document.getElementById('box-reflector').textContent.includes('‖ MODIFIEDWeb lab/web')`)
	b.See("the token rests", `document.getElementById('forward').disabled`)
	tokenIsAt(b, "api")
	b.Keep("event", "#picture", "#now")
	from := r.mark()
	for _, gate := range []struct{ id, box string }{{"event", "reflector"}, {"item", "queue"}, {"reconcile", "reconcile"}, {"write", "writes"}} {
		from := r.mark()
		click(b, "step-"+gate.id)
		r.await(from, "a step at "+gate.box, func(s trace.Step) bool { return s.Box == gate.box })
	}
	b.See("the next write is held in the picture", `document.getElementById('box-writes').textContent.includes('‖ deletePod lab/web-')`)
	b.See("the key is being processed", `document.getElementById('queue-processing').textContent.includes('lab/web')`)
	click(b, "step-event") // the pod that is being deleted
	b.See("the key is dirty", `document.getElementById('queue-dirty').textContent.includes('lab/web')`)
	b.See("the token rests", `document.getElementById('forward').disabled`)
	tokenIsAt(b, "queue")
	b.Keep("dirty", "#picture", "#now")
	if n := count(r.steps(from), trace.BoxWrites, "delete"); n != 1 {
		t.Errorf("%d deletes were sent for one step", n)
	}
	click(b, "run")
	reads(b, "#status", "running")
	r.rest(from)
	reads(b, "#runs", "an echo of the write of reconcile")
	b.See("each reconcile says what led to it and what it did", `[...document.querySelectorAll('#runs > li')].length >= 2 &&
		[...document.querySelectorAll('#runs > li')].every((run) => run.querySelector('ul li') && run.querySelector('.did')?.textContent)`)
	b.Do("show all of the list, which scrolls", chromedp.Evaluate(`document.getElementById('runs').style.maxHeight = 'none'`, nil))
	b.Keep("why", "#since-section", "#runs", "#compare")
	click(b, "change-scale-3")
	r.rest(r.see(from, trace.BoxUser, "scale-3", ""))
	b.Content()
}

func TestThePageExplainsEachFault(t *testing.T) {
	r, b := visit(t, lab.Options{})
	for _, fault := range []struct{ id, change, says string }{
		{"freeze", "scale-1", "The watch is frozen"},
		{"drop", "scale-3", "Each reflector opens a new watch"},
		{"hide", "scale-1", "is hidden from the reflector"},
		{"relist", "", "410 Gone"},
		{"conflict", "scale-3", "gets 409 Conflict"},
		{"toomany", "scale-1", "gets 429 Too Many Requests"},
		{"timeout", "scale-3", "was carried out, but the answer is lost"},
		{"crash-before", "scale-1", "crashes before it sends"},
		{"crash-during", "scale-3", "crashes while it waits for the answer"},
		{"crash-after", "scale-1", "crashes after"},
		{"second", "scale-3", "Each has its own cache, and both write"},
		{"clock", "delete-pod", "turned forward by two hours"},
	} {
		from := r.mark()
		click(b, "fault-"+fault.id)
		if fault.change != "" {
			click(b, "change-"+fault.change)
		}
		reads(b, "#steps .at-fault", fault.says)
		switch fault.id {
		case "freeze":
			b.See("stored and cached differ", `document.querySelector('#compare .differs th')?.textContent === 'Web lab/web'`)
			b.See("the button is on", `document.getElementById('fault-freeze').ariaPressed === 'true'`)
			b.Keep("freeze")
			click(b, "fault-freeze")
		case "hide":
			continue // the relist that follows ends it
		case "second":
			r.await(from, "a reconcile of b", func(s trace.Step) bool { return s.Process == "b" && s.Verb == "end" })
			reads(b, "#status", "operators a, b")
			b.See("the letters are explained", `!document.getElementById('several').hidden`)
			reads(b, "#steps code", "b ")
			r.rest(from)
			click(b, "fault-second")
		}
		r.rest(from)
	}
	b.Content()
}

// walk is what a grader leaves behind.
func walk() trace.Walk {
	queue := &trace.Queue{Processing: []string{"default/app"}}
	return trace.Walk{
		Title:     trace.Text{EN: "A delete by name hits the successor", ZH: "按名称删除，删到了后继者"},
		Violation: &trace.Text{EN: "The new pod was deleted.", ZH: "新的 Pod 被删除了。"},
		Steps: []trace.Step{
			{Box: trace.BoxUser, Verb: "create", Text: trace.Text{EN: "A user creates app.", ZH: "用户创建 app。"}, Stored: []string{"Pod default/app-0"}},
			{Box: trace.BoxQueue, Verb: "Get", Text: trace.Text{EN: "A worker takes it.", ZH: "worker 取走它。"}, Queue: queue, Cached: []string{}},
			{Box: trace.BoxWrites, Verb: "delete", Text: trace.Text{EN: "It deletes by name.", ZH: "它按名称删除。"}, Stored: []string{}},
		},
	}
}

func TestTheMapAndThePlayer(t *testing.T) {
	root := t.TempDir()
	third := exercises.All()[2]
	raw, err := json.Marshal(walk())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		third.Walk():           string(raw),
		exercises.ProgressFile: `{"exercises":{"01":{"passed":true,"at":"2026-01-01T00:00:00Z","tries":2},"03":{"passed":false,"at":"2026-01-01T00:00:00Z","tries":1}}}`,
		third.Readme("en"):     "# Delete without a UID\n\n[中文](README.zh.md)\n\nThe mistake is in [reconciler.go](reconciler.go):\n\n- **one** thing\n- it *writes*, as [the ledger](../../../internal/observe/ledger.go) knows\n\n```sh\n# a comment\n```\n\n<details>\n<summary>Hint</summary>\n\nLook at the UID.\n\n</details>\n",
		third.Readme("zh"):     "# 删除时不带 UID\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, b := visit(t, lab.Options{Root: root})
	b.See("all exercises are on the map", fmt.Sprintf(`document.querySelectorAll('#exercises li').length === %d`, len(exercises.All())))
	reads(b, "#exercise-01.passed", "passed (2 tries)")
	reads(b, "#exercise-03.failed", "make lab CHECK=03")
	reads(b, "#exercise-03 .result", "(1 try)")
	b.Do("read the third", chromedp.Evaluate(`document.querySelector('#exercise-03 button').click()`, nil))
	reads(b, "#about-body code", third.File())
	reads(b, "#about-body code", "internal/observe/ledger.go")
	reads(b, "#about-body em", "writes")
	reads(b, "#about-body pre", "# a comment")
	b.See("the title is there once, and nothing raw", `!document.querySelector('#about-body h2') && !/\]\(|\*writes|中文/.test(document.getElementById('about-body').textContent)`)
	reads(b, "#about-body details", "Look at the UID.")
	click(b, "close")

	b.Do("replay its walk", chromedp.Navigate(r.origin+"/?walk=03"))
	reads(b, "#violation-text", "The new pod was deleted.")
	reads(b, "#now", "A user creates app.")
	b.See("back ends at the beginning", `document.getElementById('back').disabled`)
	click(b, "forward")
	b.See("the token is at the queue", `document.getElementById('token').dataset.box === 'queue'`)
	reads(b, "#queue-processing", "default/app")
	b.See("what is not cached differs", `document.querySelector('#compare .differs th')?.textContent === 'Pod default/app-0'`)
	click(b, "forward")
	reads(b, "#now", "It deletes by name.")
	b.See("forward ends at the end", `document.getElementById('forward').disabled`)
	click(b, "back")
	reads(b, "#now", "A worker takes it.")
	b.Do("a walk that does not exist", chromedp.Navigate(r.origin+"/?walk=07"))
	reads(b, "#problem", ".lab/walk-07.json does not exist")
	b.Content()
}

// TestAFailedCheckIsReplayed plays what the first check makes of the exercise as it is
// handed out, which is a picture of docs/lab.md.
func TestAFailedCheckIsReplayed(t *testing.T) {
	root, first := t.TempDir(), exercises.All()[0]
	exercise := check.All()[first.Number].Exercise()
	verdict, err := exercise.Run()
	if err != nil || verdict.Walk == nil {
		t.Fatalf("the first exercise breaks nothing: %v", err)
	}
	raw, err := json.Marshal(verdict.Walk)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, first.Walk())
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, raw, 0o644)); err != nil {
		t.Fatal(err)
	}
	r, b := visit(t, lab.Options{Root: root})
	b.Do("replay its walk", chromedp.Navigate(r.origin+"/?walk="+first.Number))
	reads(b, "#violation-text", verdict.Walk.Violation.EN)
	for range len(verdict.Walk.Steps) - 1 {
		click(b, "forward")
	}
	b.See("forward ends at the end", `document.getElementById('forward').disabled`)
	b.See("the API server has objects", `/[1-9]\d* objects?/.test(document.getElementById('box-api').textContent)`)
	b.See("the steps are listed", fmt.Sprintf(`document.querySelectorAll('#steps li').length === %d`, len(verdict.Walk.Steps)))
	tokenIsAt(b, verdict.Walk.Steps[len(verdict.Walk.Steps)-1].Box)
	b.Do("show all of the list, which scrolls", chromedp.Evaluate(`document.getElementById('steps').style.maxHeight = 'none'`, nil))
	b.Keep("walk", "#violation", "#picture", "#now", "#steps")
	b.Content()
}
