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
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func TestAScreenShowsControlCharactersAsMarks(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"plain text":              {"web-0\tready\n└─ ok\n", "web-0\tready\n└─ ok\n"},
		"a colour of another":     {"\x1b[31mred\x1b[0m", "\ufffd[31mred\ufffd[0m"},
		"the title of the window": {"\x1b]0;owned\x07", "\ufffd]0;owned\ufffd"},
		"back in the line":        {"bad\rgood\b", "bad\ufffdgood\ufffd"},
		"an old control":          {"\u009b2J\x7f", "\ufffd2J\ufffd"},
		"text from right to left": {"\u202etxt.exe", "\ufffdtxt.exe"},
		"half a rune":             {"\xe2\x94", ""},
		"no rune":                 {"\xff!", "\ufffd!"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			s := newScreen(&out)
			if n, err := s.Write([]byte(c.text)); n != len(c.text) || err != nil {
				t.Errorf("%d, %v", n, err)
			}
			if out.String() != c.want {
				t.Errorf("%q, want %q", &out, c.want)
			}
		})
	}
}

// What is written in pieces is shown as what is written at once.
func TestAScreenShowsItsOwnColours(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(&out)
	paint := Paint{on: true, key: s.key}
	for _, b := range []byte(paint.Bad("└ x") + "\x1b[" + paint.Good("y")) {
		if _, err := s.Write([]byte{b}); err != nil {
			t.Fatal(err)
		}
	}
	if want := "\x1b[31m└ x\x1b[0m\ufffd[\x1b[32my\x1b[0m"; out.String() != want {
		t.Errorf("%q, want %q", &out, want)
	}
}

func TestASessionPrintsOnScreens(t *testing.T) {
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	s := NewSession(streams)
	_, _ = s.Out.Write([]byte("\x1bc"))
	_, _ = s.ErrOut.Write([]byte("\x1bc"))
	for _, w := range []*bytes.Buffer{out, errOut} {
		if w.String() != "\ufffdc" {
			t.Errorf("%q", w)
		}
	}
}
