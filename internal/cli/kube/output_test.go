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

package kube

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestExitCodes(t *testing.T) {
	for want, err := range map[int]error{0: nil, ExitNo: fmt.Errorf("pods would go: %w", ErrNo), ExitFailed: errors.New("no route to host")} {
		if got := ExitCode(err); got != want {
			t.Errorf("%v exits with %d, want %d", err, got, want)
		}
	}
}

func TestColoursAreForTerminalsOnly(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for name, out := range map[string]any{"a buffer": &bytes.Buffer{}, "a file": file, "nothing": null} {
		if Terminal(out) {
			t.Errorf("%s is no terminal", name)
		}
	}
	s := NewSession(genericiooptions.IOStreams{Out: file})
	if got := s.Paint().Bad("x"); got != "x" {
		t.Errorf("a file gets %q", got)
	}
	if got := NewPaint(true).Bad("x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("a terminal gets %q", got)
	}
}

// A coloured column stays as straight as a plain one.
func TestColouredColumnsAreStraight(t *testing.T) {
	p := NewPaint(true)
	var out bytes.Buffer
	w := tabwriter.NewWriter(&out, 0, 0, 1, ' ', 0)
	for _, cell := range []string{p.Plain("STATE"), p.Good("ready"), p.Busy("going"), p.Warn("wait"), p.Bad("bad"), p.Soft("soft"), p.Strong("bold")} {
		fmt.Fprintf(w, "%s\t|\n", cell)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		for _, code := range []string{"39", "32", "36", "33", "31", "90", "01", "0"} {
			line = strings.ReplaceAll(line, "\x1b["+code+"m", "")
		}
		if strings.Index(line, "|") != len("STATE ") {
			t.Errorf("%q is crooked", line)
		}
	}
}

func TestFormatsForPrograms(t *testing.T) {
	for format, want := range map[string]string{"json": "{\n  \"a\": 1\n}\n", "yaml": "a: 1\n"} {
		o, out := &Output{}, &bytes.Buffer{}
		cmd := &cobra.Command{}
		o.Bind(cmd)
		if err := cmd.ParseFlags([]string{"-o", format}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(o.Check(), o.Print(out, map[string]int{"a": 1})); err != nil || out.String() != want || !o.Structured() {
			t.Errorf("%s prints %q: %v", format, out, err)
		}
	}
	if err := (&Output{format: "xml"}).Check(); err == nil {
		t.Error("xml is no format")
	}
}

func TestOutputFormats(t *testing.T) {
	value := map[string]any{"items": []map[string]any{{"name": "web"}, {"name": "db"}}}
	for name, test := range map[string]struct {
		args          []string
		want, refused string
	}{
		"json":               {args: []string{"-o", "json"}, want: `"name": "web"`},
		"yaml":               {args: []string{"-o", "yaml"}, want: "- name: web"},
		"an expression":      {args: []string{"-o", "jsonpath={.items[*].name}"}, want: "web db\n"},
		"a missing field":    {args: []string{"-o", "jsonpath={.nothing}"}, refused: "nothing is not found"},
		"a broken one":       {args: []string{"-o", "jsonpath={.items["}, refused: "-o jsonpath: "},
		"a table of another": {args: []string{"-o", "name"}, refused: "leave it out, or say wide, json, yaml or jsonpath=EXPRESSION"},
	} {
		t.Run(name, func(t *testing.T) {
			var o Output
			var out bytes.Buffer
			cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
				if err := o.Check(); err != nil {
					return err
				}
				return o.Print(&out, value)
			}}
			o.Bind(cmd, "wide")
			cmd.SetArgs(test.args)
			err := cmd.Execute()
			if err != nil && (test.refused == "" || !strings.Contains(err.Error(), test.refused)) || err == nil && test.refused != "" {
				t.Errorf("error %v, want %q", err, test.refused)
			}
			if !strings.Contains(out.String(), test.want) {
				t.Errorf("printed %q, want %q", out.String(), test.want)
			}
		})
	}
}

func TestATableIsNotForPrograms(t *testing.T) {
	for format, want := range map[string]bool{"": false, "wide": false, "json": true, "jsonpath={.x}": true} {
		if o := (Output{format: format, tables: []string{"wide"}}); o.Structured() != want {
			t.Errorf("-o %q is for programs: %t, want %t", format, o.Structured(), want)
		}
	}
}
