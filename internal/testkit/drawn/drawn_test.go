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

package drawn

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type colour string

type part struct {
	Name  string
	Sizes []int
}

type input struct {
	Colour colour
	At     time.Time
	Part   part
	Parts  []part
	Maybe  *part
	Blob   blob
}

type blob struct{ X, Y int }

func TestMissingNamesWhatIsNotDrawn(t *testing.T) {
	full := input{
		At: time.Unix(1, 0), Part: part{Name: "a", Sizes: []int{1, 2}}, Colour: "red",
		Parts: []part{{Name: "b", Sizes: []int{1}}, {Name: "c", Sizes: []int{2, 3}}}, Maybe: &part{Name: "d", Sizes: []int{1, 2}},
	}
	other := input{Colour: "green", Maybe: &part{Name: "e"}, Blob: blob{X: 1}}
	for name, test := range map[string]struct {
		inputs []input
		want   []string
	}{
		"two of everything is enough": {inputs: []input{full, other, {}}},
		"one draw draws one value": {inputs: []input{{}}, want: []string{
			`input.Colour is drawn with one value only, ""`,
			`input.At is drawn with one value only, "\"0001-01-01T00:00:00Z\""`,
			`input.Part.Name is drawn with one value only, ""`,
			`input.Part.Sizes[] is never drawn`,
			`input.Part.Sizes is drawn with one value only, "length 0"`,
			`input.Parts[].Name is never drawn`,
			`input.Parts[].Sizes[] is never drawn`,
			`input.Parts[].Sizes is never drawn`,
			`input.Parts is drawn with one value only, "length 0"`,
			`input.Maybe*.Name is never drawn`,
			`input.Maybe*.Sizes[] is never drawn`,
			`input.Maybe*.Sizes is never drawn`,
			`input.Maybe is drawn with one value only, "nil: true"`,
			`input.Blob is drawn with one value only, "{\"X\":0,\"Y\":0}"`,
		}},
		"a constant that is never drawn": {inputs: []input{full, {Blob: blob{X: 1}}, {Maybe: &part{}}}, want: []string{
			`input.Colour is never drawn as "green"`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			v := New(blob{})
			v.enums["drawn.colour"] = []string{"red", "green"}
			for _, one := range test.inputs {
				v.Add(one)
			}
			if diff := cmp.Diff(test.want, v.Missing(input{})); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnumsReadsConstants(t *testing.T) {
	v := New()
	if err := v.Enums("../../../api/apps/v1"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Retain", "Delete"}, v.enums["v1.ClaimPolicy"]); diff != "" {
		t.Errorf("constants of ClaimPolicy (-want +got):\n%s", diff)
	}
	if err := v.Enums("nowhere"); err == nil {
		t.Error("a folder that is not there has constants")
	}
}
