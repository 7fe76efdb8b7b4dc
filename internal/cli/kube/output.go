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
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"
)

// Paint colours words for a terminal. All colours are equally long, so that a
// column in which every cell has one stays straight.
type Paint struct {
	on bool
	// key is that of the Screen that is painted on.
	key string
}

// NewPaint makes a Paint that colours, or one that leaves words as they are.
func NewPaint(on bool) Paint { return Paint{on: on} }

// Paint colours only if the output is a terminal, and NO_COLOR is not set.
func (s *Session) Paint() Paint {
	p := s.RawPaint()
	if screen, ok := s.Out.(*Screen); ok {
		p.key = screen.key
	}
	return p
}

// RawPaint is a Paint for what does not go through the Screen.
func (s *Session) RawPaint() Paint {
	return NewPaint(Terminal(s.Out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

func (p Paint) colour(code, text string) string {
	if !p.on {
		return text
	}
	return "\x1b[" + p.key + code + "m" + text + "\x1b[" + p.key + "0m"
}

// Good is for what is as it should be.
func (p Paint) Good(text string) string { return p.colour("32", text) }

// Busy is for what is under way.
func (p Paint) Busy(text string) string { return p.colour("36", text) }

// Warn is for what needs a look.
func (p Paint) Warn(text string) string { return p.colour("33", text) }

// Bad is for what is broken or goes away.
func (p Paint) Bad(text string) string { return p.colour("31", text) }

// Soft is for what matters less.
func (p Paint) Soft(text string) string { return p.colour("90", text) }

// Strong is for titles.
func (p Paint) Strong(text string) string { return p.colour("01", text) }

// Plain keeps a cell in a coloured column straight.
func (p Paint) Plain(text string) string { return p.colour("39", text) }

// Output is the flag -o.
type Output struct {
	format string
	// tables are the formats for people that a verb has beside its own.
	tables []string
}

// jsonPath begins the format that picks fields by an expression.
const jsonPath = "jsonpath="

// Bind adds the flag. Some verbs have more tables than one, such as wide.
func (o *Output) Bind(cmd *cobra.Command, tables ...string) {
	o.tables = tables
	known := append(slices.Clone(tables), "json", "yaml", jsonPath)
	cmd.Flags().StringVarP(&o.format, "output", "o", "", strings.Join(slices.Concat(tables, []string{"json", "yaml"}), ", ")+" or jsonpath=EXPRESSION.")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp))
}

// Check rejects an unknown format before any request is sent.
func (o *Output) Check() error {
	if expression, ok := strings.CutPrefix(o.format, jsonPath); ok {
		_, err := parsePath(expression)
		return err
	}
	if o.Is("") || o.Is("json") || o.Is("yaml") || slices.Contains(o.tables, o.format) {
		return nil
	}
	return fmt.Errorf("-o %s is not known: leave it out, or say %s", o.format, strings.Join(append(slices.Clone(o.tables), "json", "yaml or jsonpath=EXPRESSION"), ", "))
}

// Is reports whether a format was asked for by name.
func (o *Output) Is(format string) bool { return o.format == format }

// Structured reports whether a program reads the output.
func (o *Output) Structured() bool { return o.format != "" && !slices.Contains(o.tables, o.format) }

func parsePath(expression string) (*jsonpath.JSONPath, error) {
	path := jsonpath.New("output")
	if err := path.Parse(expression); err != nil {
		return nil, fmt.Errorf("-o jsonpath: %w", err)
	}
	return path, nil
}

// printPath prints what an expression picks of a value, by the names of its JSON.
func printPath(out io.Writer, expression string, value any) error {
	path, err := parsePath(expression)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err
	}
	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		return err
	}
	if err := path.Execute(out, plain); err != nil {
		return fmt.Errorf("-o jsonpath: %w", err)
	}
	_, err = fmt.Fprintln(out)
	return err
}

// Print prints a value for programs.
func (o *Output) Print(out io.Writer, value any) error {
	if expression, ok := strings.CutPrefix(o.format, jsonPath); ok {
		return printPath(out, expression, value)
	}
	if o.format == "yaml" {
		raw, err := yaml.Marshal(value)
		if err == nil {
			_, err = out.Write(raw)
		}
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
