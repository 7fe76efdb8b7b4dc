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

package browser

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/mycompany/pod-operator/internal/testkit/project"
)

// Widths are those of a phone, a laptop and a large screen.
var Widths = []int64{390, 1280, 1920}

// violation is a rule of axe-core that something on the page breaks.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

const shownNodes = 3

// Barriers fails the test where axe-core finds that the page keeps people from using
// it: colours that cannot be told apart, a button without a name. It looks at each
// width. Where axe-core has not been fetched, the test is skipped with a sentence.
func (b *Tab) Barriers(what string) {
	b.Helper()
	script, err := os.ReadFile(filepath.Join(project.Root(), "bin", "axe", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		b.Skip("there is no axe-core here: make chromium fetches it, with npm, and lets this test look for barriers on the page")
	}
	for _, width := range Widths {
		var raw string
		b.Do("run axe-core", chromedp.EmulateViewport(width, 900), chromedp.Evaluate(string(script)+";0", nil),
			chromedp.Evaluate(`axe.run(document, {resultTypes: ['violations']}).then((r) => JSON.stringify(r.violations))`, &raw,
				func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		var found []violation
		if err := json.Unmarshal([]byte(raw), &found); err != nil {
			b.Fatal(err)
		}
		for _, v := range found {
			text := []string{fmt.Sprintf("%s, %d wide: %s: %s (%d places)", what, width, v.ID, v.Help, len(v.Nodes))}
			for _, node := range v.Nodes[:min(shownNodes, len(v.Nodes))] {
				text = append(text, node.HTML, node.Summary)
			}
			b.Error(strings.Join(text, "\n"))
		}
	}
}
