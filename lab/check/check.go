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

// Package check grades the exercises: first in the simulator, then on a real API server.
package check

import (
	stale "github.com/mycompany/pod-operator/lab/exercises/01-stale-read"
	hotloop "github.com/mycompany/pod-operator/lab/exercises/02-hot-loop"
	withoutuid "github.com/mycompany/pod-operator/lab/exercises/03-delete-without-uid"
	ownerreference "github.com/mycompany/pod-operator/lab/exercises/04-owner-reference"
	finalizer "github.com/mycompany/pod-operator/lab/exercises/05-finalizer"
	predicates "github.com/mycompany/pod-operator/lab/exercises/06-predicate"
	lostanswer "github.com/mycompany/pod-operator/lab/exercises/07-lost-answer"
	swallowed "github.com/mycompany/pod-operator/lab/exercises/08-swallowed-error"
	storm "github.com/mycompany/pod-operator/lab/exercises/09-requeue-storm"
	conversion "github.com/mycompany/pod-operator/lab/exercises/10-conversion"
	webhook "github.com/mycompany/pod-operator/lab/exercises/11-webhook"
	fence "github.com/mycompany/pod-operator/lab/exercises/12-fence"
	imoocpod "github.com/mycompany/pod-operator/lab/exercises/13-imoocpod"
	helloworld "github.com/mycompany/pod-operator/lab/exercises/14-helloworld"
	podmanager "github.com/mycompany/pod-operator/lab/exercises/15-podmanager"
	collector "github.com/mycompany/pod-operator/lab/exercises/16-collector"
	"github.com/mycompany/pod-operator/lab/grade"
)

// Graded is an exercise as the learner has it, and its solution.
type Graded struct{ Exercise, Solution func() grade.Exercise }

// All lists the exercises by their number.
func All() map[string]Graded {
	return map[string]Graded{
		"01": {stale.Exercise, stale.Solution},
		"02": {hotloop.Exercise, hotloop.Solution},
		"03": {withoutuid.Exercise, withoutuid.Solution},
		"04": {ownerreference.Exercise, ownerreference.Solution},
		"05": {finalizer.Exercise, finalizer.Solution},
		"06": {predicates.Exercise, predicates.Solution},
		"07": {lostanswer.Exercise, lostanswer.Solution},
		"08": {swallowed.Exercise, swallowed.Solution},
		"09": {storm.Exercise, storm.Solution},
		"10": {conversion.Exercise, conversion.Solution},
		"11": {webhook.Exercise, webhook.Solution},
		"12": {fence.Exercise, fence.Solution},
		"13": {imoocpod.Exercise, imoocpod.Solution},
		"14": {helloworld.Exercise, helloworld.Solution},
		"15": {podmanager.Exercise, podmanager.Solution},
		"16": {collector.Exercise, collector.Solution},
	}
}
