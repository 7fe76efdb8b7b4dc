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
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Screen is where the verbs print. Names and messages come from the cluster, and
// a user who may write an event there would retitle, wipe or rewrite the terminal
// of those who read it: a control character is replaced by a mark. Only the
// colours of a Paint with the Screen's key pass; the key is drawn for each run,
// so that no text can hold it.
type Screen struct {
	out io.Writer
	key string
	// rest is the beginning of a rune or a colour, whose end comes with the
	// next write.
	rest []byte
}

const (
	// mark stands for a control character.
	mark   = string(utf8.RuneError)
	escape = '\x1b'
)

func newScreen(out io.Writer) *Screen {
	const digits = 1e8
	var drawn [8]byte
	_, _ = rand.Read(drawn[:]) // it never fails
	return &Screen{out: out, key: fmt.Sprintf("%08d;", binary.BigEndian.Uint64(drawn[:])%digits)}
}

// Unwrap is what the Screen prints on.
func (s *Screen) Unwrap() io.Writer { return s.out }

// Write implements io.Writer.
func (s *Screen) Write(p []byte) (int, error) {
	text := slices.Concat(s.rest, p)
	clean := make([]byte, 0, len(text))
	for len(text) > 0 {
		if text[0] == escape {
			colour, length := s.colour(text)
			if length == 0 {
				break // more of it may come
			}
			clean, text = append(clean, colour...), text[length:]
			continue
		}
		if !utf8.FullRune(text) {
			break
		}
		r, length := utf8.DecodeRune(text)
		clean, text = append(clean, cleanRune(r)...), text[length:]
	}
	s.rest = bytes.Clone(text)
	if _, err := s.out.Write(clean); err != nil {
		return 0, err
	}
	return len(p), nil
}

// colour reads a colour of ours at the beginning of a text. It is a mark where
// it is none, and has no length where the text ends too early to tell.
func (s *Screen) colour(text []byte) (string, int) {
	start := string(escape) + "[" + s.key
	if len(text) < len(start) && strings.HasPrefix(start, string(text)) {
		return "", 0
	}
	code, ours := bytes.CutPrefix(text, []byte(start))
	if !ours {
		return mark, 1
	}
	end := bytes.IndexByte(code, 'm')
	if end < 0 {
		return "", 0
	}
	return string(escape) + "[" + string(code[:end+1]), len(start) + end + 1
}

func cleanRune(r rune) string {
	const firstC1, lastC1 = 0x80, 0x9f
	control := r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r >= firstC1 && r <= lastC1
	if control || reorders(r) {
		return mark
	}
	return string(r)
}

// reorders: it makes what follows look as if it stood elsewhere.
func reorders(r rune) bool { return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' }

// Clean replaces the control characters of a text, for what does not go through
// a Screen.
func Clean(text string) string {
	var clean strings.Builder
	for _, r := range text {
		clean.WriteString(cleanRune(r))
	}
	return clean.String()
}
