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

package migrate

import (
	"strings"
	"testing"
)

func TestTypeAndName(t *testing.T) {
	for name, test := range map[string]struct {
		args                    []string
		resource, name, refused string
	}{
		"one word":         {args: []string{"deployment/web"}, resource: "deployment", name: "web"},
		"two, as kubectl":  {args: []string{"statefulset", "db"}, resource: "statefulset", name: "db"},
		"a name alone":     {args: []string{"web"}, refused: "give deployment/NAME or statefulset/NAME"},
		"a type alone":     {args: []string{"deployment/"}, refused: `"deployment/" is no TYPE/NAME`},
		"a name after all": {args: []string{"/web"}, refused: `"/web" is no TYPE/NAME`},
	} {
		t.Run(name, func(t *testing.T) {
			resource, got, err := typeAndName(test.args)
			if resource != test.resource || got != test.name || (err != nil) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Errorf("got %s %s, %v", resource, got, err)
			}
		})
	}
}
