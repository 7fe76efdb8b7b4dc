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

package dashboard

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/pod-operator/internal/change"
	"github.com/mycompany/pod-operator/internal/podrender"
	"github.com/mycompany/pod-operator/internal/view"
)

// How much of a pod is shown at once.
const (
	logLines    = 500
	maxLogLines = 5000
	maxLogBytes = 1 << 20
	maxEvents   = 200
)

// Inside is a pod as the API server shows it to the visitor.
type Inside struct {
	Containers []string              `json:"containers"`
	Conditions []corev1.PodCondition `json:"conditions"`
	YAML       string                `json:"yaml"`
}

// showPod shows a pod as the visitor may read it.
func (s *Server) showPod(w http.ResponseWriter, r *http.Request) {
	v := s.viewer(w, r)
	if v == nil {
		return
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
	if err := v.Get(r.Context(), podKey(r), object); err != nil {
		refuseAs(w, err)
		return
	}
	pod, err := inside(object)
	if err != nil {
		refuseAs(w, err)
		return
	}
	answer(w, http.StatusOK, pod)
}

func podKey(r *http.Request) client.ObjectKey {
	return client.ObjectKey{Namespace: r.PathValue("namespace"), Name: r.PathValue("pod")}
}

func inside(object *unstructured.Unstructured) (Inside, error) {
	object.SetManagedFields(nil)
	raw, err := yaml.Marshal(object.Object)
	if err != nil {
		return Inside{}, fmt.Errorf("print the pod: %w", err)
	}
	var pod corev1.Pod
	if err := yaml.Unmarshal(raw, &pod); err != nil {
		return Inside{}, fmt.Errorf("read the pod: %w", err)
	}
	shown := Inside{Containers: []string{}, Conditions: append([]corev1.PodCondition{}, pod.Status.Conditions...), YAML: string(raw)}
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			shown.Containers = append(shown.Containers, list[i].Name)
		}
	}
	return shown, nil
}

// Event is an event of a pod.
type Event struct {
	Time    time.Time `json:"time"`
	Type    string    `json:"type"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Count   int32     `json:"count"`
}

// showEvents shows the events of a pod, newest first, as the visitor may read them.
func (s *Server) showEvents(w http.ResponseWriter, r *http.Request) {
	v := s.viewer(w, r)
	if v == nil {
		return
	}
	key := podKey(r)
	list, err := v.core.Events(key.Namespace).List(r.Context(), metav1.ListOptions{
		FieldSelector: fields.SelectorFromSet(fields.Set{"involvedObject.kind": "Pod", "involvedObject.name": key.Name}).String(), Limit: maxEvents,
	})
	if err != nil {
		refuseAs(w, err)
		return
	}
	events := []Event{}
	for i := range list.Items {
		e := &list.Items[i]
		shown := Event{Time: e.LastTimestamp.Time, Type: e.Type, Reason: e.Reason, Message: e.Message, Count: max(1, e.Count)}
		if e.LastTimestamp.IsZero() {
			shown.Time = e.EventTime.Time
		}
		if e.Series != nil {
			shown.Time, shown.Count = e.Series.LastObservedTime.Time, e.Series.Count
		}
		events = append(events, shown)
	}
	slices.SortStableFunc(events, func(a, b Event) int { return b.Time.Compare(a.Time) })
	answer(w, http.StatusOK, map[string]any{"items": events})
}

// showLog shows the end of a container's log, as the visitor may read it:
// container=, previous=true and lines=.
func (s *Server) showLog(w http.ResponseWriter, r *http.Request) {
	lines := logLines
	if text := r.URL.Query().Get("lines"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxLogLines {
			refuse(w, http.StatusBadRequest, fmt.Sprintf("lines=%q is not a number from 1 to %d", text, maxLogLines))
			return
		}
		lines = n
	}
	v := s.viewer(w, r)
	if v == nil {
		return
	}
	key := podKey(r)
	log, err := v.core.Pods(key.Namespace).GetLogs(key.Name, &corev1.PodLogOptions{
		Container: r.URL.Query().Get("container"), Previous: r.URL.Query().Get("previous") == "true",
		TailLines: ptr.To(int64(lines)), LimitBytes: ptr.To[int64](maxLogBytes),
	}).Stream(r.Context())
	if err != nil {
		refuseAs(w, err)
		return
	}
	defer log.Close()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.Copy(newStream(w, listPatience), io.LimitReader(log, maxLogBytes)) // a visitor who left needs no answer
}

// Revision is a stored revision, with what changed since the one before.
type Revision struct {
	Number  int64     `json:"number"`
	Name    string    `json:"name"`
	Images  []string  `json:"images"`
	Created time.Time `json:"created"`
	// Diff is what the revision changed in the pod template; empty for the oldest.
	Diff string `json:"diff,omitempty"`
}

// showRevisions shows the revisions, newest first, as the visitor may read them: a
// template has what is in the pods, also what no one but their owners should see.
func (s *Server) showRevisions(w http.ResponseWriter, r *http.Request) {
	pm := s.enter(w, r, "get")
	if pm == nil {
		return
	}
	v := s.viewer(w, r)
	if v == nil {
		return
	}
	stored, err := change.Revisions(r.Context(), v, pm)
	if err != nil {
		refuseAs(w, err)
		return
	}
	revisions := []Revision{}
	var before *corev1.PodTemplateSpec
	for i := range stored {
		template, err := podrender.Decode(&stored[i])
		if err != nil {
			refuse(w, http.StatusInternalServerError, err.Error())
			return
		}
		shown := Revision{Number: stored[i].Revision, Name: stored[i].Name, Images: []string{}, Created: stored[i].CreationTimestamp.Time}
		for _, container := range template.Spec.Containers {
			shown.Images = append(shown.Images, container.Name+"="+container.Image)
		}
		if before != nil {
			if shown.Diff, err = view.TemplateDiff(before, template); err != nil {
				refuse(w, http.StatusInternalServerError, err.Error())
				return
			}
		}
		before = template
		revisions = append(revisions, shown)
	}
	slices.Reverse(revisions)
	answer(w, http.StatusOK, map[string]any{"items": revisions})
}
