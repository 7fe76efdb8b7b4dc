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

package oracle_test

import (
	"testing"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// TestRemovedBehindADeadPod: a higher pod that is dead is not gone.
func TestRemovedBehindADeadPod(t *testing.T) {
	held := func(s *story) {
		s.label("web-2", appsv1.LabelHoldDelete, "backup")
		s.scale(1)
		s.fails("web-2")
		s.look()
	}
	judge(t, "Q", map[string]verdict{
		"a higher one has failed and is held": {want: 1, story: tell(3, ordered), do: func(s *story) {
			held(s)
			s.deletes("web-1")
		}},
		"it is gone": {story: tell(3, ordered), do: func(s *story) {
			held(s)
			s.gone("web-2")
			s.look()
			s.deletes("web-1")
		}},
		"the dead one waits for nothing": {story: tell(3, ordered), do: func(s *story) {
			s.scale(1)
			s.fails("web-2")
			s.unready("web-0")
			s.look()
			s.deletes("web-2")
		}},
	})
}
