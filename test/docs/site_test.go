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

package docs

import (
	"bytes"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/mycompany/pod-operator/test/browser"
)

// A page of the site, as far as this test is concerned.
type page struct {
	title  string
	h1     int
	source string          // the file it was made from, as its footer says
	ids    map[string]bool // what can be linked to
	links  []string        // where it leads
	loads  []string        // what a browser fetches with it
	menu   []string        // where its menu leads
}

func readPage(content []byte) (page, error) {
	p := page{ids: map[string]bool{}}
	tree, err := html.Parse(bytes.NewReader(content))
	if err != nil {
		return p, err
	}
	for node := range tree.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		if id := attribute(node, "id"); id != "" {
			p.ids[id] = true
		}
		switch node.Data {
		case "title":
			p.title = words(node)
		case "h1":
			p.h1++
		case "footer":
			p.source = strings.TrimPrefix(words(node), "Made from ")
		case "img", "script":
			p.loads = append(p.loads, attribute(node, "src"))
		case "link":
			p.loads = append(p.loads, attribute(node, "href"))
		case "a":
			p.links = append(p.links, attribute(node, "href"))
			if in(node, "nav") {
				p.menu = append(p.menu, attribute(node, "href"))
			}
		}
	}
	return p, nil
}

func attribute(node *html.Node, name string) string {
	for _, a := range node.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func words(node *html.Node) string {
	var text strings.Builder
	for child := range node.Descendants() {
		if child.Type == html.TextNode {
			text.WriteString(child.Data)
		}
	}
	return strings.TrimSpace(text.String())
}

func in(node *html.Node, tag string) bool {
	for parent := range node.Ancestors() {
		if parent.Data == tag {
			return true
		}
	}
	return false
}

// readSite reads all pages, by their paths.
func readSite(site fs.FS) (map[string]page, error) {
	pages := map[string]page{}
	err := fs.WalkDir(site, ".", func(file string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(file) != ".html" {
			return err
		}
		content, err := fs.ReadFile(site, file)
		if err != nil {
			return err
		}
		pages[file], err = readPage(content)
		return err
	})
	return pages, err
}

// judge says what is wrong with a site.
func judge(site fs.FS, pages map[string]page) []string {
	var wrong []string
	for _, file := range sorted(pages) {
		p := pages[file]
		if p.title == "" || p.h1 != 1 {
			wrong = append(wrong, fmt.Sprintf("%s has the title %q and %d first headings", file, p.title, p.h1))
		}
		for _, target := range p.links {
			if why := follow(site, pages, file, target); why != "" {
				wrong = append(wrong, fmt.Sprintf("%s: %s: %s", file, target, why))
			}
		}
		for _, target := range p.loads {
			if target == "data:," {
				continue
			}
			if u, err := url.Parse(target); err != nil || u.Host != "" || u.Scheme != "" {
				wrong = append(wrong, fmt.Sprintf("%s: %s: comes from elsewhere", file, target))
			} else if why := follow(site, pages, file, target); why != "" {
				wrong = append(wrong, fmt.Sprintf("%s: %s: %s", file, target, why))
			}
		}
		listed := map[string]bool{}
		for _, target := range p.menu {
			listed[path.Join(path.Dir(file), target)] = true
		}
		for _, other := range sorted(pages) {
			if !listed[other] {
				wrong = append(wrong, fmt.Sprintf("%s: its menu lacks %s: add it to docs/site/hugo.yaml", file, other))
			}
		}
	}
	return wrong
}

func follow(site fs.FS, pages map[string]page, from, target string) string {
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return err.Error()
	case u.Scheme != "":
		return ""
	case u.Host != "" || strings.HasPrefix(u.Path, "/"):
		return "does not work without a server"
	}
	to := from
	if u.Path != "" {
		to = path.Join(path.Dir(from), u.Path)
	}
	if info, err := fs.Stat(site, to); err != nil || info.IsDir() {
		return "there is no such file"
	}
	if u.Fragment != "" && !pages[to].ids[u.Fragment] {
		return "there is no such heading"
	}
	return ""
}

func sorted(pages map[string]page) []string {
	var files []string
	for file := range pages {
		files = append(files, file)
	}
	slices.Sort(files)
	return files
}

// build builds the site and returns its pages. repository is where files that
// are no pages can be browsed.
func build(t *testing.T, repository string) (fs.FS, map[string]page) {
	t.Helper()
	hugo, err := filepath.Abs(filepath.Join(root, "bin", "hugo"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(hugo); err != nil {
		t.Skip("the site is not built because bin/hugo is not there: make bin/hugo")
	}
	out := t.TempDir()
	command := exec.CommandContext(t.Context(), hugo, "build", "--source", filepath.Join(root, "docs", "site"),
		"--destination", out, "--cacheDir", t.TempDir(), "--noBuildLock", "--panicOnWarning")
	command.Env = append(os.Environ(), "HUGO_PARAMS_REPOSITORY="+repository)
	said, err := command.CombinedOutput()
	if err != nil || bytes.Contains(said, []byte("WARN")) || bytes.Contains(said, []byte("ERROR")) {
		t.Fatalf("hugo: %v\n%s", err, said)
	}
	site := os.DirFS(out)
	pages, err := readSite(site)
	if err != nil {
		t.Fatal(err)
	}
	return site, pages
}

func TestSite(t *testing.T) {
	site, pages := build(t, "")
	for _, wrong := range judge(site, pages) {
		t.Error(wrong)
	}
	if diff := cmp.Diff(sources(t), madeFrom(pages)); diff != "" {
		t.Errorf("files of docs (-) and pages of the site (+):\n%s", diff)
	}
	style, err := fs.ReadFile(site, "style.css")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(style, []byte("url(")) || bytes.Contains(style, []byte("@import")) {
		t.Error("style.css loads something")
	}
}

// The search finds pages by their titles, headings and text, and leads there. The index
// is loaded as a script, so it works without a server, too.
func TestTheSiteCanBeSearched(t *testing.T) {
	site, pages := build(t, "")
	index, err := fs.ReadFile(site, "search-index.js")
	if err != nil {
		t.Fatal(err)
	}
	for file := range pages {
		if !bytes.Contains(index, []byte(`"url":"`+file+`"`)) {
			t.Errorf("the index lacks %s", file)
		}
	}
	server := httptest.NewServer(http.FileServerFS(site))
	t.Cleanup(server.Close)
	b := browser.Open(t, server.URL, "")
	for _, search := range []struct{ words, first, leads string }{
		{"glossary", "Concepts", "concepts.html"},
		{"who may make pods", "Who may make pods", "webhooks.html#who-may-make-pods"},
		{"腾空节点", "", ".html"},
	} {
		b.Do("search", chromedp.SetValue("#search", search.words), chromedp.Evaluate(`document.getElementById('search').dispatchEvent(new Event('input'))`, nil))
		b.See(search.words+" is found", fmt.Sprintf(`(() => { const a = document.querySelector('#found a');
			return a && a.textContent.includes(%q) && a.href.includes(%q); })()`, search.first, search.leads))
	}
	b.Do("search for nothing", chromedp.SetValue("#search", "xyzzy"), chromedp.Evaluate(`document.getElementById('search').dispatchEvent(new Event('input'))`, nil))
	b.See("it says so", `document.getElementById('found').textContent === 'Nothing found'`)
	b.Content()
}

func TestSiteLinksToTheRepositoryWhereItIsKnown(t *testing.T) {
	const browse = "https://example.com/pod-operator/blob/main"
	for repository, want := range map[string]bool{"": false, browse: true} {
		_, pages := build(t, repository)
		if got := slices.Contains(pages["index.html"].links, browse+"/config/samples"); got != want {
			t.Errorf("with the repository %q, that the overview links to the samples is %t, want %t", repository, got, want)
		}
	}
}

// sources are the files that have to be pages: the root's and those in docs.
func sources(t *testing.T) map[string]bool {
	t.Helper()
	all, err := newRepository(os.DirFS(root)).documents()
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	for _, file := range all {
		if !strings.Contains(file, "/") || strings.HasPrefix(file, "docs/") {
			files[file] = true
		}
	}
	return files
}

func madeFrom(pages map[string]page) map[string]bool {
	files := map[string]bool{}
	for _, p := range pages {
		files[p.source] = true
	}
	return files
}

func TestJudge(t *testing.T) {
	frame := func(menu, body string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("<title>T</title><nav>" + menu + "</nav><h1 id=top>T</h1>" + body)}
	}
	menu := `<a href="./index.html">i</a><a href="./zh/a.html">a</a>`
	menuZh := `<a href="../index.html">i</a><a href="./a.html">a</a>`
	for name, tc := range map[string]struct {
		index *fstest.MapFile
		want  []string
	}{
		"a site that is whole": {
			index: frame(menu, `<a href="zh/a.html#top">a</a><a href="#top">t</a><a href="https://example.com">e</a><img src="x.png">`),
		},
		"links to files and headings that are not there": {
			index: frame(menu, `<a href="b.html">b</a><a href="zh/a.html#b">b</a><img src="y.png">`),
			want: []string{
				"index.html: b.html: there is no such file",
				"index.html: zh/a.html#b: there is no such heading",
				"index.html: y.png: there is no such file",
			},
		},
		"links that need a server, and pictures from one": {
			index: frame(menu, `<a href="/zh/a.html">a</a><a href="zh">a</a><script src="https://example.com/x.js"></script>`),
			want: []string{
				"index.html: /zh/a.html: does not work without a server",
				"index.html: zh: there is no such file",
				"index.html: https://example.com/x.js: comes from elsewhere",
			},
		},
		"a page that is not in the menu": {
			index: frame(`<a href="./index.html">i</a>`, ""),
			want:  []string{"index.html: its menu lacks zh/a.html: add it to docs/site/hugo.yaml"},
		},
		"a page without a title": {
			index: &fstest.MapFile{Data: []byte("<nav>" + menu + "</nav>")},
			want:  []string{`index.html has the title "" and 0 first headings`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			site := fstest.MapFS{"index.html": tc.index, "zh/a.html": frame(menuZh, ""), "x.png": {Data: []byte("PNG")}}
			pages, err := readSite(site)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, judge(site, pages)); diff != "" {
				t.Errorf("what is wrong (-want +got):\n%s", diff)
			}
		})
	}
}
