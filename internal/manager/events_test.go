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

package manager

import (
	"strings"
	"testing"
	"unicode/utf8"

	eventsv1 "k8s.io/api/events/v1"
)

// A note is cut to what the API server takes, between characters.
func TestALongNoteIsCut(t *testing.T) {
	for name, note := range map[string]string{
		"as long as it may be": strings.Repeat("x", maxNote),
		"one byte too long":    strings.Repeat("x", maxNote+1),
		"of two bytes each":    "x" + strings.Repeat("ü", maxNote),
	} {
		got := coreEvent(&eventsv1.Event{Note: note}).Message
		if len(note) <= maxNote && got != note || len(note) > maxNote && !strings.HasSuffix(got, "...") {
			t.Errorf("%s: %q", name, got)
		}
		if len(got) > maxNote || len(got) < maxNote-4 || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes: %q", name, len(got), got)
		}
	}
}
