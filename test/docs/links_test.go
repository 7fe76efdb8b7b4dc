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

// Package docs tests that the docs can be read: that every link in every
// markdown file of the repository leads to a file and a heading that are there,
// and that the site which make docs builds of them has no dead link either, needs
// nothing from elsewhere, and lists every page in its menu.
package docs

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// root is the repository, seen from this folder, where tests run.
var root = filepath.Join("..", "..")

func TestLinksOfTheRepository(t *testing.T) {
	r := newRepository(os.DirFS(root))
	files, err := r.documents()
	if err != nil {
		t.Fatal(err)
	}
	for _, known := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/api.md", "docs/zh/README.md"} {
		if !slices.Contains(files, known) {
			t.Errorf("%s was not looked at", known)
		}
	}
	for _, file := range files {
		dead, err := r.deadLinks(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range dead {
			t.Error(link)
		}
	}
}

func TestDeadLinks(t *testing.T) {
	files := fstest.MapFS{
		"README.md":          {Data: []byte("# Top\n\n## `kubectl` & more, twice\n\n## `kubectl` & more, twice\n\n<a id=\"named\"></a>\n")},
		"docs/zh/README.md":  {Data: []byte("# 概览\n\n## 第一步：安装\n")},
		"docs/images/a.png":  {Data: []byte("PNG")},
		"internal/plan.go":   {Data: []byte("package plan\n")},
		"bin/manager":        {Data: []byte("ELF")},
		"docs/testdata/x.md": {Data: []byte("[dead](nowhere.md)\n")},
	}
	for name, tc := range map[string]struct {
		page string
		want []string
	}{
		"a file, a folder, a picture, a line and a server are followed": {
			page: "[a](../README.md) [b](../internal) ![c](images/a.png) [d](../internal/plan.go#L1) [e](https://example.com/#x)",
		},
		"a heading is found by the anchor that GitHub gives it": {
			page: "[a](../README.md#kubectl--more-twice) [b](zh/README.md#第一步安装) [c](zh#概览)",
		},
		"the second heading of the same text has a number": {
			page: "[a](../README.md#kubectl--more-twice-1) [b](../README.md#kubectl--more-twice-2)",
			want: []string{"docs/page.md:1: ../README.md#kubectl--more-twice-2: README.md has no heading #kubectl--more-twice-2"},
		},
		"an anchor may be written as HTML": {
			page: "[a](../README.md#named) <a href=\"gone.md\">b</a>",
			want: []string{"docs/page.md:1: gone.md: there is no such file"},
		},
		"a heading of the page itself": {
			page: "# Here\n\n[a](#here)\n\n[b](#there)\n",
			want: []string{"docs/page.md:5: #there: docs/page.md has no heading #there"},
		},
		"a missing file, a missing picture and a reference": {
			page: "[a](gone.md) ![b](images/gone.png) [c]\n\n[c]: gone/too.md\n",
			want: []string{
				"docs/page.md:1: gone.md: there is no such file",
				"docs/page.md:1: images/gone.png: there is no such file",
				"docs/page.md:1: gone/too.md: there is no such file",
			},
		},
		"links in a table count, those in code do not": {
			page: "```\n[a](gone.md)\n```\n\n`[b](gone.md)`\n\n| c |\n|---|\n| [d](gone.md) |\n",
			want: []string{"docs/page.md:9: gone.md: there is no such file"},
		},
		"what is built is not in the repository": {
			page: "[a](../bin/manager) [b](../../elsewhere) [c](/README.md) [d](../internal/plan.go#plan)",
			want: []string{
				"docs/page.md:1: ../bin/manager: is not in a fresh clone",
				"docs/page.md:1: ../../elsewhere: is outside of the repository",
				"docs/page.md:1: /README.md: begins with a slash, which means something else on every server",
				"docs/page.md:1: ../internal/plan.go#plan: only markdown files have headings",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := fstest.MapFS{"docs/page.md": {Data: []byte(tc.page)}}
			for file, content := range files {
				all[file] = content
			}
			r := newRepository(all)
			documents, err := r.documents()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, file := range documents {
				dead, err := r.deadLinks(file)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, dead...)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("dead links (-want +got):\n%s", diff)
			}
		})
	}
}
