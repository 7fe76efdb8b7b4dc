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
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/pod-operator/internal/native"
)

// Read are the ConfigMaps and Secrets that a pod reads only when a container
// starts, as "ConfigMap/web".
func Read(spec *corev1.PodSpec) []string {
	var names []string
	for _, u := range atStart(spec) {
		names = append(names, u.Kind+"/"+u.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// atStart are the readers by environment and by subPath. A whole volume is updated
// while the container runs.
func atStart(spec *corev1.PodSpec) []native.Use {
	return slices.DeleteFunc(native.Uses(spec), func(u native.Use) bool { return u.How != native.ByEnvironment && u.How != native.BySubPath })
}

// configs are containers that run with an older version of what they read.
func configs(f *Facts) []Answer {
	changed := map[string]edit{}
	for i := range f.Configs {
		c := &f.Configs[i]
		if e, ok := lastEdit(c); ok {
			changed[c.Kind+"/"+c.Meta.Name] = e
		}
	}
	var answers []Answer
	for i := range f.Pods {
		p := &f.Pods[i]
		if p.DeletionTimestamp != nil {
			continue
		}
		started := runningSince(p)
		said := map[string]bool{}
		for _, u := range atStart(&p.Spec) {
			e, ok := changed[u.Kind+"/"+u.Name]
			since, runs := started[u.Container]
			if key := u.Kind + u.Name + u.How; ok && runs && !said[key] && e.at.After(since) {
				said[key] = true
				answers = append(answers, Answer{
					Time: e.at, Pods: []string{p.Name}, Cause: ConfigNotRead, Certainty: e.certainty,
					Text:     fmt.Sprintf("container %s runs with an older %s %s: it reads it by %s, when it starts", u.Container, u.Kind, u.Name, u.How),
					Evidence: fmt.Sprintf("%s changed %s %s at %s, after the container started", e.by, u.Kind, u.Name, stamp(e.at)),
				})
			}
		}
	}
	return answers
}

// edit is the last change of what a ConfigMap or Secret holds.
type edit struct {
	at        time.Time
	by        string
	certainty Certainty
}

// lastEdit is the last write of a manager that owns some of the content. If it owns
// labels or annotations too, the write may have been of those.
func lastEdit(c *Config) (edit, bool) {
	var last edit
	for _, w := range writers(&c.Meta) {
		content := slices.DeleteFunc(slices.Clone(w.fields), func(field string) bool {
			return !within(field, "data") && !within(field, "binaryData") && !within(field, "stringData")
		})
		others := slices.ContainsFunc(w.fields, func(field string) bool { return strings.HasPrefix(field, "metadata.") })
		if len(content) == 0 || !w.at.After(last.at) {
			continue
		}
		last = edit{at: w.at, by: w.String(), certainty: Sure}
		if others {
			last.certainty = Likely
		}
	}
	return last, !last.at.IsZero()
}

// runningSince is when the containers of a pod started that run.
func runningSince(p *corev1.Pod) map[string]time.Time {
	started := map[string]time.Time{}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if s.State.Running != nil {
			started[s.Name] = s.State.Running.StartedAt.Time
		}
	}
	return started
}
