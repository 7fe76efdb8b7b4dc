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

package localkube

import (
	"strings"
	"testing"
)

func TestAMarkIsTheEndOfALine(t *testing.T) {
	long := strings.Repeat("x", 1<<17)
	for name, tc := range map[string]struct {
		text string
		want int64
	}{
		"nothing is written yet":             {text: "", want: 0},
		"the first line is being written":    {text: `{"kind":"Ev`, want: 0},
		"all lines are whole":                {text: "a\nbc\n", want: 5},
		"a line is being written":            {text: "a\nbc\nd", want: 5},
		"a line longer than what is read at": {text: "a\n" + long, want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := lastLineEnd(strings.NewReader(tc.text), int64(len(tc.text)))
			if err != nil || got != tc.want {
				t.Errorf("got %d, %v, want %d", got, err, tc.want)
			}
		})
	}
}
