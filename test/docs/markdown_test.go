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
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// A document is a markdown file, as far as links are concerned.
type document struct {
	anchors map[string]bool
	links   []link
}

type link struct {
	line   int
	target string
}

// written finds anchors and links in HTML that a markdown file has in it.
var written = regexp.MustCompile(`\b(id|name|href|src)="([^"]*)"`)

func parse(source []byte) document {
	d := document{anchors: map[string]bool{}}
	seen := map[string]int{}
	root := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	// The walker returns no error of its own.
	_ = ast.Walk(root, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := node.(type) {
		case *ast.Heading:
			d.anchors[unique(slug(plain(n, source)), seen)] = true
		case *ast.Link:
			d.links = append(d.links, link{lineOf(n, source), string(n.Destination)})
		case *ast.Image:
			d.links = append(d.links, link{lineOf(n, source), string(n.Destination)})
		case *ast.RawHTML:
			d.html(string(n.Segments.Value(source)), lineOf(n, source))
		case *ast.HTMLBlock:
			d.html(string(n.Lines().Value(source)), lineOf(n, source))
		}
		return ast.WalkContinue, nil
	})
	return d
}

func (d *document) html(tag string, line int) {
	for _, attribute := range written.FindAllStringSubmatch(tag, -1) {
		switch attribute[1] {
		case "id", "name":
			d.anchors[attribute[2]] = true
		default:
			d.links = append(d.links, link{line, attribute[2]})
		}
	}
}

// plain is the text of a node without its markup.
func plain(node ast.Node, source []byte) string {
	var words strings.Builder
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		switch c := child.(type) {
		case *ast.Text:
			words.Write(c.Segment.Value(source))
		case *ast.String:
			words.Write(c.Value)
		default:
			words.WriteString(plain(child, source))
		}
	}
	return words.String()
}

// slug is the anchor that GitHub, and Hugo when told to, give a heading.
func slug(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-', r == '_', unicode.IsLetter(r), unicode.IsNumber(r), unicode.Is(unicode.M, r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

// unique tells headings of the same text apart: the second gets a 1.
func unique(anchor string, seen map[string]int) string {
	n := seen[anchor]
	seen[anchor]++
	if n == 0 {
		return anchor
	}
	return fmt.Sprintf("%s-%d", anchor, n)
}

// lineOf is where the paragraph or the cell begins that a node is in.
func lineOf(node ast.Node, source []byte) int {
	for node != nil && (node.Type() == ast.TypeInline || node.Lines().Len() == 0) {
		node = node.Parent()
	}
	if node == nil {
		return 1
	}
	return 1 + strings.Count(string(source[:node.Lines().At(0).Start]), "\n")
}

// A repository is searched for links that lead nowhere.
type repository struct {
	files fs.FS
	known map[string]document
}

func newRepository(files fs.FS) *repository {
	return &repository{files: files, known: map[string]document{}}
}

// made are the folders that a fresh clone does not have.
var made = map[string]bool{
	"bin": true, "dist": true, "test-output": true, ".playground": true, ".git": true,
	"headlamp/node_modules": true, "headlamp/dist": true,
}

// documents are the paths of all markdown files.
func (r *repository) documents() ([]string, error) {
	var paths []string
	err := fs.WalkDir(r.files, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (made[file] || path.Base(file) == "testdata"):
			return fs.SkipDir
		case !entry.IsDir() && path.Ext(file) == ".md":
			paths = append(paths, file)
		}
		return nil
	})
	return paths, err
}

func (r *repository) document(file string) (document, error) {
	if known, ok := r.known[file]; ok {
		return known, nil
	}
	source, err := fs.ReadFile(r.files, file)
	if err != nil {
		return document{}, err
	}
	r.known[file] = parse(source)
	return r.known[file], nil
}

// deadLinks says of each link of a file that leads nowhere why it does.
func (r *repository) deadLinks(file string) ([]string, error) {
	d, err := r.document(file)
	if err != nil {
		return nil, err
	}
	var dead []string
	for _, l := range d.links {
		if why := r.follow(file, l.target); why != "" {
			dead = append(dead, fmt.Sprintf("%s:%d: %s: %s", file, l.line, l.target, why))
		}
	}
	return dead, nil
}

// lines is how a link names lines of a file that has no headings.
var lines = regexp.MustCompile(`^L[0-9]+(-L[0-9]+)?$`)

// follow says why a link leads nowhere, and nothing when it leads somewhere.
func (r *repository) follow(from, target string) string {
	u, err := url.Parse(target)
	switch {
	case err != nil:
		return err.Error()
	case u.Scheme != "":
		return ""
	case strings.HasPrefix(u.Path, "/"):
		return "begins with a slash, which means something else on every server"
	}
	to := from
	if u.Path != "" {
		to = path.Join(path.Dir(from), u.Path)
	}
	top, _, _ := strings.Cut(to, "/")
	switch {
	case top == "..":
		return "is outside of the repository"
	case made[top]:
		return "is not in a fresh clone"
	}
	info, err := fs.Stat(r.files, to)
	if err != nil {
		return "there is no such file"
	}
	return r.followAnchor(to, info, u.Fragment)
}

func (r *repository) followAnchor(file string, info fs.FileInfo, anchor string) string {
	switch {
	case anchor == "":
		return ""
	case info.IsDir():
		file = path.Join(file, "README.md")
	case path.Ext(file) != ".md" && lines.MatchString(anchor):
		return ""
	case path.Ext(file) != ".md":
		return "only markdown files have headings"
	}
	d, err := r.document(file)
	if err != nil || !d.anchors[anchor] {
		return fmt.Sprintf("%s has no heading #%s", file, anchor)
	}
	return ""
}
