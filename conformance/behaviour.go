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

package conformance

import "slices"

// Profile is a group of behaviours.
type Profile string

// The profiles, in the order in which they run.
const (
	Core    Profile = "core"
	Rollout Profile = "rollout"
	InPlace Profile = "in-place"
	Faults  Profile = "faults"
)

// Profiles lists them all.
func Profiles() []Profile { return []Profile{Core, Rollout, InPlace, Faults} }

// Behaviour is one thing that a controller of pods should do.
type Behaviour struct {
	Name    string
	Profile Profile
	// Title is the behaviour as a sentence without its subject.
	Title string
	// Needs are what a kind has to have for it to apply.
	Needs []Capability

	steps []step
}

// Behaviours lists them all, in the order of the profiles.
func Behaviours() []Behaviour {
	return slices.Concat(scaling(), ownership(), honesty(), deletion(), victims(), rollouts(), inPlace(), underFaults())
}
