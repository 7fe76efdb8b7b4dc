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

package oracle

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// TestForeseen holds previews against what happened.
func TestForeseen(t *testing.T) {
	created := func(pod string, wave int) Foretold { return Foretold{appsv1.ReasonCreated, pod, wave} }
	deleted := func(pod string, wave int) Foretold { return Foretold{appsv1.ReasonDeleted, pod, wave} }
	for name, c := range map[string]struct {
		said      []Foretold
		anonymous bool
		broken    int
	}{
		"as it was":                    {[]Foretold{deleted("web-1", 1), created("web-1", 2)}, false, 0},
		"told in another order":        {[]Foretold{created("web-1", 2), deleted("web-1", 1)}, false, 0},
		"recreated":                    {[]Foretold{{Recreated, "web-1", 1}}, false, 0},
		"recreated, without names":     {[]Foretold{{Recreated, "x", 1}, created("y", 1)}, true, 0},
		"two recreated, without names": {[]Foretold{{Recreated, "x", 1}, {Recreated, "y", 1}}, true, 1},
		"nothing was said":             {nil, false, 1},
		"another pod":                  {[]Foretold{deleted("web-0", 1), created("web-0", 2)}, false, 2},
		"another pod, without names":   {[]Foretold{deleted("x", 1), created("y", 2)}, true, 0},
		"one more, without names":      {[]Foretold{deleted("x", 1), created("y", 1), created("z", 1)}, true, 1},
		"the other way round":          {[]Foretold{created("web-1", 1), deleted("web-1", 2)}, false, 1},
		"changed in place, it was not": {[]Foretold{{appsv1.ReasonUpdated, "web-1", 1}}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := two(recreate)
			from := s.version()
			image(s)
			s.delete(Operator, "web-1")
			s.ends("web-1")
			s.create(1, "web-b", func(*corev1.Pod) {})
			found := Foreseen(s.history, s.web().UID, from, s.version(), c.said, c.anonymous)
			if len(found) != c.broken {
				t.Errorf("the judge finds %v, and %d are broken", found, c.broken)
			}
		})
	}
}
