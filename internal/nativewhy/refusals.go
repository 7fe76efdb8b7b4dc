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

package nativewhy

import (
	"strings"
)

// refusals are pods that the API server did not let be created.
func refusals(f *Facts) []Answer {
	if f.Pod != "" && len(f.Pods) > 0 {
		return nil
	}
	if a, ok := f.refusedNow(); ok {
		return []Answer{a}
	}
	return nil
}

// refusedNow is the last refusal that no later success followed.
func (f *Facts) refusedNow() (Answer, bool) {
	var conditions []Condition
	if f.Workload != nil {
		conditions = f.Workload.Conditions
	}
	if newest := f.newest(); newest != nil {
		conditions = append(conditions[:len(conditions):len(conditions)], newest.Conditions...)
	}
	if c := find(conditions, "ReplicaFailure"); c != nil && c.True {
		a := refused(c.Message)
		a.Time, a.Evidence = c.Time, "condition ReplicaFailure, reason "+c.Reason
		return a, true
	}
	var failed, succeeded Event
	for i := range f.Events {
		e := &f.Events[i]
		switch {
		case !f.ours(e):
		case e.Reason == "FailedCreate" && e.Last.After(failed.Last):
			failed = *e
		case e.Reason == "SuccessfulCreate" && e.Last.After(succeeded.Last):
			succeeded = *e
		}
	}
	if failed.Message == "" || succeeded.Last.After(failed.Last) || f.Workload == nil || f.Workload.Current >= f.Workload.Desired {
		return Answer{}, false
	}
	a := refused(failed.Message)
	a.Time, a.Evidence = failed.Last, "the event FailedCreate of "+failed.Kind+" "+failed.Name
	return a, true
}

// ours: the event is about the workload, or one of its ReplicaSets.
func (f *Facts) ours(e *Event) bool {
	if e.Kind == f.Kind && e.Name == f.Name {
		return true
	}
	if e.Kind != "ReplicaSet" {
		return false
	}
	for i := range f.Revisions {
		if f.Revisions[i].Meta.Name == e.Name {
			return true
		}
	}
	return false
}

func refused(message string) Answer {
	_, reason, ok := strings.Cut(message, " is forbidden: ")
	if !ok {
		reason = message
	}
	a := Answer{Cause: CreateRefused, Certainty: Sure, Text: "pods cannot be created: " + reason}
	if strings.Contains(message, "exceeded quota") || strings.Contains(message, "failed quota") {
		a.Cause = Quota
	}
	return a
}
