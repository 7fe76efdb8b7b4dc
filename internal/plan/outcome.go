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

import "k8s.io/apimachinery/pkg/types"

// Result says what became of an action.
type Result string

const (
	// Done: the API server has it.
	Done Result = "Done"
	// Refused: the API server said no and will say so again until something
	// outside changes; Cause says what.
	Refused Result = "Refused"
	// Failed: it did not work this time.
	Failed Result = "Failed"
	// Outdated: the pod has changed since it was read, so the action may no
	// longer be right; the next look decides anew.
	Outdated Result = "Outdated"
	// Skipped: an earlier action failed, or the owner asks for something else
	// by now, so this one was not tried.
	Skipped Result = "Skipped"
)

// Outcome is what became of one action.
type Outcome struct {
	Action Action `json:"action"`
	Result Result `json:"result"`
	// Cause is the documented reason of a refusal.
	Cause   string `json:"cause,omitempty"`
	Message string `json:"message,omitempty"`
	// Node is the node on whose account a resize was refused; empty where any node
	// would do as little.
	Node string `json:"node,omitempty"`
	// Recalled: it was refused in an earlier pass, and not asked for again.
	Recalled bool `json:"recalled,omitempty"`
	// UID is the UID of a pod that was created.
	UID types.UID `json:"uid,omitempty"`
}
