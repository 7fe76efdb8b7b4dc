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

import appsv1 "github.com/mycompany/pod-operator/api/apps/v1"

// addFinalizer adds the finalizer before anything else is made.
func addFinalizer(s *scene) bool {
	if s.desired.Finalizer == FinalizerMissing {
		s.act(Action{Verb: AddFinalizer, Slot: NoSlot}, appsv1.WhyFinalizerMissing,
			"the finalizer has to be there before the first pod", nil)
	}
	return false
}
