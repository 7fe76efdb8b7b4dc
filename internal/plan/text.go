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

package plan

import (
	"strconv"
	"strings"
)

// podsAre counts pods with a verb: 1 pod is, 2 pods are.
func podsAre(n int) string {
	if n == 1 {
		return "1 pod is"
	}
	return NumberOf(n, "pod") + " are"
}

// NumberOf is a number and a noun: 1 pod, 2 pods.
func NumberOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func describeChange(c *Change) string {
	var parts []string
	if len(c.Images) > 0 {
		parts = append(parts, "image of "+strings.Join(c.Images, ", "))
	}
	if len(c.Resize) > 0 {
		parts = append(parts, "size of "+strings.Join(c.Resize, ", "))
	}
	if c.Metadata {
		parts = append(parts, "labels or annotations")
	}
	return "in place: " + strings.Join(parts, "; ")
}
