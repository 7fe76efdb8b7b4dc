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
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
	"github.com/mycompany/pod-operator/internal/view"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// Fleet is an object of one of our kinds in numbers.
type Fleet struct {
	// Kind is the object's kind and Resource its name in paths.
	Kind            string    `json:"kind"`
	Resource        string    `json:"resource"`
	Namespace       string    `json:"namespace"`
	Name            string    `json:"name"`
	UID             types.UID `json:"uid"`
	Desired         int32     `json:"desired"`
	Live            int32     `json:"live"`
	Ready           int32     `json:"ready"`
	Updated         int32     `json:"updated"`
	Available       int32     `json:"available"`
	Terminating     int32     `json:"terminating"`
	CurrentRevision string    `json:"currentRevision,omitempty"`
	UpdateRevision  string    `json:"updateRevision,omitempty"`
	Paused          bool      `json:"paused,omitempty"`
	Pinned          bool      `json:"pinned,omitempty"`
	// State is the condition that says most: Stalled, Reconciling, Pinned or Ready.
	State   string `json:"state,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Severity is how much the users lose; empty for what the operator has not seen yet.
	Severity Severity `json:"severity,omitempty"`
	// Image is that of the template, or those of its containers.
	Image string `json:"image,omitempty"`
	// Created is when the object was made.
	Created time.Time `json:"created"`
	// Counted is what a Collector counted; it keeps no pods.
	Counted string `json:"counted,omitempty"`

	signs signs
}

// Detail is an object with all that belongs to it.
type Detail struct {
	// Fleet is as the pods below are: both come from one look at them.
	Fleet
	Progress  *report.Progress `json:"progress,omitempty"`
	Pods      []Pod            `json:"pods"`
	Revisions []plan.Revision  `json:"revisions"`
	// Images are those that the object asks for, Running those that the pods of a pinned
	// fleet have instead.
	Images  []Image        `json:"images"`
	Running []Image        `json:"running,omitempty"`
	Blocked []plan.Blocked `json:"blocked"`
	// Held is all that holds the fleet back, with what to do about it.
	Held    []view.Hold `json:"held"`
	History []Entry     `json:"history"`
	// MayReconcile: the visitor may ask for a reconcile.
	MayReconcile bool `json:"mayReconcile"`
}

// Image is the image of a container.
type Image struct {
	Container string `json:"container"`
	Image     string `json:"image"`
}

// Pod is a pod on the page.
type Pod struct {
	Name     string    `json:"name"`
	State    view.Pod  `json:"state"`
	Revision string    `json:"revision,omitempty"`
	Node     string    `json:"node,omitempty"`
	Zone     string    `json:"zone,omitempty"`
	Restarts int       `json:"restarts,omitempty"`
	Created  time.Time `json:"created"`
	// Note is the state in words, with what is known of it and who holds the pod.
	Note string `json:"note"`
}

// Entry is a line of the PodManager's own history, which outlives the
// recorder.
type Entry struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

// fleetOf is a PodManager with a status, its own or that of a look at its pods.
func fleetOf(pm *appsv1.PodManager, st *appsv1.PodManagerStatus) Fleet {
	f := countsOf(pm, st)
	f.Kind, f.Resource, f.Paused = podManagers, "podmanagers", pm.Spec.Paused
	f.Desired = desired.Replicas(pm)
	f.signs = signsOf(&f, st)
	f.Image = imageOf(pm)
	f.signs.pause = time.Duration(pm.Spec.MinReadySeconds) * time.Second
	return f
}

// imageOf is the image of a PodManager in a row, and those of its other containers.
func imageOf(pm *appsv1.PodManager) string {
	var images []string
	if pm.Spec.Image != "" {
		images = append(images, pm.Spec.Image)
	}
	if pm.Spec.Template != nil {
		for i := range pm.Spec.Template.Spec.Containers {
			if image := pm.Spec.Template.Spec.Containers[i].Image; image != "" && !slices.Contains(images, image) {
				images = append(images, image)
			}
		}
	}
	return strings.Join(images, ", ")
}

// countsOf is what all kinds share that keep pods.
func countsOf(obj client.Object, st *appsv1.PodManagerStatus) Fleet {
	f := Fleet{
		Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(), Created: obj.GetCreationTimestamp().Time,
		Live: st.CurrentReplicas, Ready: st.ReadyReplicas,
		Updated: st.UpdatedReplicas, Available: st.AvailableReplicas, Terminating: st.TerminatingReplicas,
		CurrentRevision: st.CurrentRevision, UpdateRevision: st.UpdateRevision,
		Pinned: meta.IsStatusConditionTrue(st.Conditions, appsv1.ConditionPinned),
	}
	f.State, f.Reason, f.Message = view.State(st)
	return f
}

func podOf(p *plan.Pod, minReady time.Duration, now time.Time) Pod {
	pod := Pod{Name: p.Name, Revision: p.Revision, Node: p.Node, Zone: p.Zone, Restarts: p.Restarts, Created: p.Created}
	pod.State, pod.Note = view.PodState(p, minReady, now)
	if p.HoldDelete != nil {
		pod.Note += ", held from deletion by " + *p.HoldDelete
	} else if p.HoldUpdate != nil {
		pod.Note += ", held from changes by " + *p.HoldUpdate
	}
	return pod
}

// podManagers are all that the cache has.
func (s *Server) podManagers(ctx context.Context) ([]appsv1.PodManager, error) {
	if !s.PodManagers.Served() {
		return nil, nil
	}
	var list appsv1.PodManagerList
	if err := s.Cache.List(ctx, &list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the PodManagers: %w", err)
	}
	return list.Items, nil
}

// listFleets lists the PodManagers that the visitor may list: all of them, or those
// of the namespaces in which they may.
func (s *Server) listFleets(w http.ResponseWriter, r *http.Request) {
	s.list(w, r, []Kind{s.PodManagers})
}

// reach returns a function that says whether the visitor has the verb in a
// namespace. It asks once per namespace, or only once if they have it in all.
func (s *Server) reach(ctx context.Context, verb string, kind Kind) (func(namespace string) (bool, error), error) {
	everywhere, err := s.mayOn(ctx, verb, kind, "", "")
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	return func(namespace string) (bool, error) {
		if everywhere {
			return true, nil
		}
		if ok, asked := known[namespace]; asked {
			return ok, nil
		}
		ok, err := s.mayOn(ctx, verb, kind, namespace, "")
		if err == nil {
			known[namespace] = ok
		}
		return ok, err
	}, nil
}

// enter finds the PodManager of a request for a visitor who has the verb on it.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, verb string) *appsv1.PodManager {
	done, err := s.looks.enter(r.Context())
	if err != nil {
		refuse(w, http.StatusTooManyRequests, err.Error())
		return nil
	}
	defer done()
	if pm, ok := s.find(w, r, verb, s.PodManagers).(*appsv1.PodManager); ok {
		return pm
	}
	return nil
}

// find finds the object of a request for a visitor who has the verb on it. Rights
// are checked first, so that a visitor without them cannot learn what exists. It
// returns nil where it has answered.
func (s *Server) find(w http.ResponseWriter, r *http.Request, verb string, kind Kind) client.Object {
	key := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	ok, err := s.mayOn(r.Context(), verb, kind, key.Namespace, key.Name)
	if !admitted(w, ok, err, fmt.Sprintf("%s the %s %s", verb, kind.Kind, key), visitor(r.Context())) {
		return nil
	}
	obj := readers[kind.Kind].new()
	if kind.Served() {
		err = s.Cache.Get(r.Context(), key, obj)
	} else {
		err = apierrors.NewNotFound(kind.Resource.GroupResource(), key.Name)
	}
	switch {
	case apierrors.IsNotFound(err):
		refuse(w, http.StatusNotFound, fmt.Sprintf("There is no %s %s.", kind.Kind, key))
		return nil
	case err != nil:
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("read %s %s: %v", kind.Kind, key, err))
		return nil
	}
	return obj
}

// showFleet shows an object. Those that keep pods are looked at as the planner does.
func (s *Server) showFleet(w http.ResponseWriter, r *http.Request) {
	if d := s.detail(w, r); d != nil {
		answer(w, http.StatusOK, d)
	}
}

// detail returns nil where it has answered. It ends before the answer is sent: one who
// does not read it keeps no one from looking.
func (s *Server) detail(w http.ResponseWriter, r *http.Request) *Detail {
	kind, ok := s.kindAt(w, r)
	if !ok {
		return nil
	}
	done, err := s.looks.enter(r.Context())
	if err != nil {
		refuse(w, http.StatusTooManyRequests, err.Error())
		return nil
	}
	defer done()
	obj := s.find(w, r, "get", kind)
	if obj == nil {
		return nil
	}
	d := &Detail{Pods: []Pod{}, Revisions: []plan.Revision{}, Blocked: []plan.Blocked{}, Held: []view.Hold{}, History: []Entry{}, Images: []Image{}}
	d.Fleet = readers[kind.Kind].row(obj)
	d.judge(s.Clock.Now())
	if fleet, keeps := s.fleetFor(obj); keeps {
		if err := s.look(r.Context(), d, fleet); err != nil {
			refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("look at %s %s/%s: %v", kind.Kind, obj.GetNamespace(), obj.GetName(), err))
			return nil
		}
	}
	if kind.Tap != nil {
		may, err := s.mayOn(r.Context(), "update", kind, obj.GetNamespace(), obj.GetName())
		if err != nil {
			admitted(w, false, err, "", visitor(r.Context()))
			return nil
		}
		d.MayReconcile = may && kind.Kind == podManagers
	}
	return d
}

// look fills in what one look at the pods shows.
func (s *Server) look(ctx context.Context, d *Detail, fleet desired.Fleet) error {
	seen, err := s.observer.Observe(ctx, fleet)
	if err != nil {
		return err
	}
	now := s.Clock.Now()
	decision := plan.Plan(fleet.Desired, seen.Observed, now)
	look := report.Look(fleet.Desired, seen.Observed, decision, now)
	if pm, ok := fleet.Owner.(*appsv1.PodManager); ok {
		d.Fleet = fleetOf(pm, &look.Status)
		d.judge(now)
	}
	d.Progress = look.Progress
	for _, container := range fleet.Template.Spec.Containers {
		d.Images = append(d.Images, Image{Container: container.Name, Image: container.Image})
	}
	if d.Pinned {
		if d.Running, err = s.running(ctx, fleet); err != nil {
			return err
		}
	}
	d.Revisions = append(d.Revisions, seen.Observed.Revisions...)
	d.Blocked = append(d.Blocked, decision.Blocked...)
	subject := view.Subject{Name: d.Name, Flags: " -n " + d.Namespace}
	d.Held = append(d.Held, view.Holds(&look.Status, look.Causes, decision.Blocked, subject, now)...)
	d.Pods = make([]Pod, len(seen.Observed.Pods))
	for i := range seen.Observed.Pods {
		d.Pods[i] = podOf(&seen.Observed.Pods[i], fleet.Desired.MinReady, now)
	}
	for _, entry := range fleet.Status.History {
		d.History = append(d.History, Entry{Time: entry.Time.Time, Text: view.Sentence(entry)})
	}
	return nil
}

func (s *Server) showSamples(w http.ResponseWriter, r *http.Request) {
	if pm := s.enter(w, r, "get"); pm != nil {
		answer(w, http.StatusOK, map[string]any{"items": s.samples.of(pm.UID)})
	}
}

// reconcile asks for one, in the visitor's name.
func (s *Server) reconcile(w http.ResponseWriter, r *http.Request) {
	pm := s.enter(w, r, "update")
	if pm == nil {
		return
	}
	err := s.PodManagers.Tap.Enqueue(flightrecorder.Manual{
		Request: reconcile.Request{NamespacedName: client.ObjectKeyFromObject(pm)},
		User:    visitor(r.Context()).GetName(),
		Reason:  "asked for over HTTP",
	})
	switch {
	case errors.Is(err, flightrecorder.ErrNotStarted):
		refuse(w, http.StatusServiceUnavailable, "This replica of the operator is not the one that works. Ask the leader.")
	case err != nil:
		refuse(w, http.StatusInternalServerError, err.Error())
	default:
		answer(w, http.StatusAccepted, map[string]string{"message": "asked for"})
	}
}
