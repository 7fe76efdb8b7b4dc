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
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Recreated is what a preview says of a pod that gets a successor. With random names the
// successor has a name of its own, and the preview may or may not list it.
const Recreated = "Recreated"

// Foretold is one thing that a preview said would be done to a pod, in the words of
// status.history: Created, Deleted, Updated, Adopted or Released; or Recreated.
type Foretold struct {
	What, Pod string
	// Wave is when: "the pods of a wave change together, and the next wave begins when
	// they are available".
	Wave int
}

// Foreseen is T of previews: what plan said before a change that nothing disturbed is what
// happened between two versions, to each pod the same things one after the other.
// anonymous: the names are not known beforehand, and only how often counts.
func Foreseen(history []Revision, owner types.UID, from, to int64, said []Foretold, anonymous bool) []Violation {
	said = slices.Clone(said)
	slices.SortStableFunc(said, func(a, b Foretold) int { return a.Wave - b.Wave })
	foretold, happened := map[string][]string{}, map[string][]string{}
	successors := false
	for _, f := range said {
		words := []string{f.What}
		if f.What == Recreated {
			words = []string{appsv1.ReasonDeleted, appsv1.ReasonCreated}
			successors = successors || anonymous
		}
		foretold[f.Pod] = append(foretold[f.Pod], words...)
	}
	for _, a := range newChronicle(history).touches() {
		half := a.what == appsv1.ReasonUpdated && a.before.Labels[appsv1.LabelRevision] == a.pod.Labels[appsv1.LabelRevision]
		if a.owner == owner && a.Version > from && a.Version <= to && !half && !a.forced() {
			happened[a.pod.Name] = append(happened[a.pod.Name], a.what)
		}
	}
	if anonymous {
		foretold, happened = together(foretold, successors), together(happened, successors)
	}
	var found []Violation
	for _, pod := range slices.Sorted(maps.Keys(merged(foretold, happened))) {
		if !slices.Equal(foretold[pod], happened[pod]) {
			found = append(found, Violation{Rule: "T", Version: to, Message: fmt.Sprintf(
				"plan said that %s would be %s, and it was %s", pod, list(foretold[pod]), list(happened[pod]))})
		}
	}
	return found
}

func list(words []string) string {
	if len(words) == 0 {
		return "left alone"
	}
	return strings.Join(words, ", then ")
}

// together is what was done to all pods, in no order. Where successors may or may not
// be listed, creates do not count: at rest there are as many pods as asked for.
func together(byPod map[string][]string, successors bool) map[string][]string {
	var all []string
	for _, words := range byPod {
		all = append(all, words...)
	}
	all = slices.DeleteFunc(all, func(word string) bool { return successors && word == appsv1.ReasonCreated })
	slices.Sort(all)
	return map[string][]string{"the pods": all}
}

func merged(a, b map[string][]string) map[string]bool {
	all := map[string]bool{}
	for _, m := range []map[string][]string{a, b} {
		for key := range m {
			all[key] = true
		}
	}
	return all
}
