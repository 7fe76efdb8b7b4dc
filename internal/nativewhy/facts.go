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
	"slices"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Source is a kind of object that answers are made from.
type Source string

// The sources.
const (
	Events      Source = "events"
	Pods        Source = "pods"
	Owner       Source = "owner"
	Revisions   Source = "revisions"
	Nodes       Source = "nodes"
	Autoscalers Source = "horizontalpodautoscalers"
	Quotas      Source = "resourcequotas"
	PodBudgets  Source = "poddisruptionbudgets"
	ConfigMaps  Source = "configmaps"
	Secrets     Source = "secrets"
)

// Unread is a source that could not be read.
type Unread struct {
	Source Source `json:"source"`
	Why    string `json:"why"`
}

// Facts are what was read, and what could not be.
type Facts struct {
	Now time.Time
	// Kind and Name are the workload's; also where it is gone.
	Kind, Name string
	// Workload is nil where there is none, or it is gone.
	Workload *Workload
	// Gone: the workload does not exist.
	Gone bool
	// Pod is the pod that is asked for; empty where the workload is.
	Pod string
	// LostOwner is what the pod's owner reference names, where that is gone.
	LostOwner string
	Revisions []Revision
	// Pods are the workload's, or the one that is asked for.
	Pods   []corev1.Pod
	Events []Event
	Nodes  []corev1.Node
	// LostNodes do not exist.
	LostNodes   []string
	Autoscalers []autoscalingv2.HorizontalPodAutoscaler
	Quotas      []corev1.ResourceQuota
	Budgets     []policyv1.PodDisruptionBudget
	Configs     []Config
	Unread      []Unread

	// events are the Events by their object, from index.
	events map[string][]Event
}

// Event is an event of either API.
type Event struct {
	Type, Reason, Message string
	Kind, Name            string
	UID                   types.UID
	// Container is the one that the event's field path names.
	Container string
	// Other is the object that the event names besides, a pod in most cases.
	Other       string
	First, Last time.Time
	Count       int
}

// Config is a ConfigMap or a Secret, without what is in it.
type Config struct {
	Kind string
	Meta metav1.ObjectMeta
}

// Could reports whether a source could be read.
func (f *Facts) Could(source Source) bool {
	return !slices.ContainsFunc(f.Unread, func(u Unread) bool { return u.Source == source })
}

// eventTTL is how long an API server keeps events, less a margin: what happened
// longer ago may have left an event that is gone.
const eventTTL = 55 * time.Minute

// recorded reports whether an event of that time would still be there.
func (f *Facts) recorded(at time.Time) bool {
	return f.Could(Events) && !at.IsZero() && f.Now.Sub(at) < eventTTL
}

// index makes the events of an object cheap to find: there may be thousands of each.
func (f *Facts) index() {
	f.events = map[string][]Event{}
	for i := range f.Events {
		key := f.Events[i].Kind + "/" + f.Events[i].Name
		f.events[key] = append(f.events[key], f.Events[i])
	}
}

// of are the events of an object.
func (f *Facts) of(kind, name string) []Event { return slices.Clone(f.events[kind+"/"+name]) }

// ofPod are the events of a pod, and not of another pod that had its name. Those of
// the controller of taints have no UID.
func (f *Facts) ofPod(p *corev1.Pod) []Event {
	return slices.DeleteFunc(f.of("Pod", p.Name), func(e Event) bool {
		return e.UID != p.UID && (e.UID != "" || e.Last.Before(p.CreationTimestamp.Time))
	})
}

func (f *Facts) node(name string) *corev1.Node {
	for i := range f.Nodes {
		if f.Nodes[i].Name == name {
			return &f.Nodes[i]
		}
	}
	return nil
}

// revisionOf is the revision that a pod was made from; nil where that is not known.
func (f *Facts) revisionOf(p *corev1.Pod) *Revision {
	for i := range f.Revisions {
		if f.Revisions[i].made(p) {
			return &f.Revisions[i]
		}
	}
	return nil
}

// newest is the revision with the highest number; nil where there is none.
func (f *Facts) newest() *Revision {
	if len(f.Revisions) == 0 {
		return nil
	}
	newest := slices.MaxFunc(f.Revisions, byNumber)
	return &newest
}

// born is when the pod that is asked for was made; zero where that is not known.
func (f *Facts) born() time.Time {
	for i := range f.Pods {
		if f.Pods[i].Name == f.Pod {
			return f.Pods[i].CreationTimestamp.Time
		}
	}
	for _, m := range f.made() {
		if m.pod == f.Pod {
			return m.at
		}
	}
	return time.Time{}
}

// madeFrom reports whether a change of the workload brought the template of the
// pod that is asked for: it is the last one before its revision.
func (f *Facts) madeFrom(a Answer) bool {
	for i := range f.Pods {
		if r := f.revisionOf(&f.Pods[i]); r != nil && f.Pods[i].Name == f.Pod {
			return a.Time.Equal(f.since(r)) && (a.Cause == NewTemplate || a.Cause == Restarted || a.Cause == RolledBack)
		}
	}
	return false
}

// act is what a controller recorded that it did to a pod. Where it did the same
// several times, to pods of one name, the event has the first and the last time.
type act struct {
	pod, owner string
	first, at  time.Time
}

// made are the pods of whose creation there is an event.
func (f *Facts) made() []act {
	return f.acts("SuccessfulCreate", "Created pod: ", "Create Pod ", "create Pod ")
}

// removed are the pods that a controller deleted, by its event.
func (f *Facts) removed() []act {
	return f.acts("SuccessfulDelete", "Deleted pod: ", "Delete Pod ", "delete Pod ")
}

func (f *Facts) acts(reason string, prefixes ...string) []act {
	var acts []act
	for i := range f.Events {
		e := &f.Events[i]
		if e.Reason != reason {
			continue
		}
		message := strings.TrimPrefix(strings.TrimPrefix(e.Message, combined), " ")
		for _, prefix := range prefixes {
			if rest, ok := strings.CutPrefix(message, prefix); ok {
				pod, _, _ := strings.Cut(rest, " ")
				acts = append(acts, act{pod: pod, owner: e.Kind + " " + e.Name, first: e.First, at: e.Last})
			}
		}
	}
	return acts
}

// combined is how a message begins that stands for ten and more events, of which
// the others are lost.
const combined = "(combined from similar events):"

// tellsAll reports whether the controllers' events about their pods are complete:
// a client sends at most 25 about an object in a row, and combines similar ones.
func (f *Facts) tellsAll() bool {
	const burst, similar = 20, 9
	sent, deleted := map[string]int{}, map[string]int{}
	for i := range f.Events {
		e := &f.Events[i]
		if e.Reason != "SuccessfulCreate" && e.Reason != "SuccessfulDelete" && e.Reason != "FailedCreate" {
			continue
		}
		owner := e.Kind + " " + e.Name
		sent[owner] += max(e.Count, 1)
		if e.Reason == "SuccessfulDelete" {
			deleted[owner] += max(e.Count, 1)
		}
		if strings.HasPrefix(e.Message, combined) && e.Reason == "SuccessfulDelete" || sent[owner] > burst || deleted[owner] > similar {
			return false
		}
	}
	return f.Could(Events)
}
