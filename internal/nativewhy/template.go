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
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// restartField is the annotation of the template by which kubectl rollout restart
// makes a new revision.
const restartField = "spec.template.metadata.annotations.kubectl.kubernetes.io/restartedAt"

// creation is the beginning of the workload.
func creation(f *Facts) []Answer {
	if f.Workload == nil {
		return nil
	}
	born := f.Workload.Meta.CreationTimestamp.Time
	a := Answer{Time: born, Cause: Created, Text: f.Workload.Kind + " created", Certainty: Sure, Evidence: "its creation timestamp"}
	for _, w := range writers(&f.Workload.Meta) {
		if w.subresource == "" && w.owns("spec.selector") {
			a.Text += " by " + w.String()
			a.Evidence += ", and the owner of spec.selector"
			break
		}
	}
	return []Answer{a}
}

// templates are the changes of the template: two neighbouring revisions, and who
// owns the fields in which they differ.
func templates(f *Facts) []Answer {
	var answers []Answer
	for i := 1; i < len(f.Revisions); i++ {
		answers = append(answers, f.newTemplate(&f.Revisions[i-1], &f.Revisions[i]))
	}
	return answers
}

func (f *Facts) newTemplate(older, newer *Revision) Answer {
	changes := differences(older.Template, newer.Template)
	a := Answer{Time: f.since(newer), Cause: NewTemplate, Certainty: Sure}
	what := fmt.Sprintf("%s %s, which is revision %d", newer.Kind, newer.Meta.Name, newer.Number)
	switch {
	case cameBack(older, newer):
		a.Cause = RolledBack
		a.Text = fmt.Sprintf("went back to an older template, now revision %d: %s", newer.Number, sentence(changes))
		a.Evidence = fmt.Sprintf("%s, was there before %s, which is revision %d", what, older.Meta.Name, older.Number)
	case len(changes) == 1 && changes[0].field == restartField:
		a.Cause = Restarted
		a.Text = fmt.Sprintf("restarted (revision %d)", newer.Number)
		a.Evidence = what + ", differs from the one before in the annotation restartedAt only"
		if at, err := time.Parse(time.RFC3339, fmt.Sprint(changes[0].to)); err == nil {
			a.Evidence += ", " + stamp(at)
		}
	default:
		a.Text = fmt.Sprintf("new template (revision %d): %s", newer.Number, sentence(changes))
		a.Evidence = what + ", was created at " + stamp(newer.Meta.CreationTimestamp.Time)
	}
	by, how := f.whoChanged(changes, a.Time, newer)
	a.Text += by
	a.Evidence += how
	return a
}

// numbersBefore is where a Deployment's controller writes the numbers that a
// ReplicaSet had before.
const numbersBefore = "deployment.kubernetes.io/revision-history"

// cameBack reports whether a revision was there before the one that it follows.
func cameBack(older, newer *Revision) bool {
	return newer.Meta.CreationTimestamp.Before(&older.Meta.CreationTimestamp) || newer.Meta.Annotations[numbersBefore] != ""
}

// whoChanged finds the field manager that made the changes: it owns one of them,
// and its last write is the one that the revision followed.
func (f *Facts) whoChanged(changes []change, at time.Time, r *Revision) (by, how string) {
	if f.Workload == nil {
		return "", ""
	}
	var owners []writer
	for _, w := range writers(&f.Workload.Meta) {
		if w.subresource == "" && slices.ContainsFunc(changes, func(c change) bool { return c.to != nil && w.owns(c.field) }) {
			owners = append(owners, w)
		}
	}
	exact := slices.DeleteFunc(slices.Clone(owners), func(w writer) bool { return !follows(at, w.at) })
	newest := f.newest()
	switch {
	case len(exact) > 0:
		return ", by " + names(exact), fmt.Sprintf("; %s owns what changed and wrote at %s", names(exact), stamp(exact[0].at))
	case len(owners) == 1 && newest != nil && newest.Meta.UID == r.Meta.UID:
		return ", probably by " + names(owners), fmt.Sprintf("; %s owns what changed, and wrote again at %s", names(owners), stamp(owners[0].at))
	}
	return "", "; who wrote it is not recorded"
}

// since is when a revision became the newest. One that came back was created long
// before: then the write of the template says when, or the controller's event.
func (f *Facts) since(r *Revision) time.Time {
	born := r.Meta.CreationTimestamp.Time
	at := slices.IndexFunc(f.Revisions, func(other Revision) bool { return other.Meta.UID == r.Meta.UID })
	if at < 1 || !cameBack(&f.Revisions[at-1], r) {
		return born
	}
	previous := f.Revisions[at-1].Meta.CreationTimestamp.Time
	if f.Workload != nil && at == len(f.Revisions)-1 {
		changes := differences(f.Revisions[at-1].Template, r.Template)
		var last time.Time
		for _, w := range writers(&f.Workload.Meta) {
			if w.subresource == "" && !w.at.Before(previous) && slices.ContainsFunc(changes, func(c change) bool { return w.owns(c.field) }) {
				last = latest(last, w.at)
			}
		}
		if !last.IsZero() {
			return last
		}
	}
	for _, e := range f.of(f.Kind, f.Name) {
		if strings.Contains(e.Message, "Scaled up replica set "+r.Meta.Name+" ") && !e.Last.Before(previous) {
			return e.Last
		}
	}
	return time.Time{}
}

// making is whom the pod that is asked for was made by.
func making(f *Facts) []Answer {
	if f.Pod == "" {
		return nil
	}
	for i := range f.Pods {
		p := &f.Pods[i]
		if p.Name != f.Pod || f.Kind == "" {
			continue
		}
		a := Answer{Time: p.CreationTimestamp.Time, Pods: []string{p.Name}, Cause: Made, Certainty: Sure, Evidence: "its owner reference"}
		a.Text = "made for " + f.Kind + " " + f.Name
		if r := f.revisionOf(p); r != nil {
			a.Text += fmt.Sprintf(", revision %d", r.Number)
			if newest := f.newest(); newest.Number != r.Number {
				a.Text += fmt.Sprintf(" (the newest is %d)", newest.Number)
			}
		}
		return []Answer{a}
	}
	for _, m := range f.made() {
		if m.pod == f.Pod {
			return []Answer{{
				Time: m.at, Pods: []string{f.Pod}, Cause: Made, Certainty: Sure, Text: "made by " + m.owner,
				Evidence: "its event SuccessfulCreate",
			}}
		}
	}
	return nil
}

func names(writers []writer) string {
	var words []string
	for _, w := range writers {
		words = append(words, w.String())
	}
	slices.Sort(words)
	return strings.Join(slices.Compact(words), " and ")
}

func stamp(at time.Time) string { return at.UTC().Format(time.RFC3339) }

func number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
