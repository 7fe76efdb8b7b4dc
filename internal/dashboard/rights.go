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
	"fmt"
	"net/http"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// What a visitor can do with a fleet.
const (
	scale     = "scale"
	setImage  = "set-image"
	pause     = "pause"
	resume    = "resume"
	restart   = "restart"
	undo      = "undo"
	unpin     = "unpin"
	deletePod = "delete-pod"
)

// What a visitor can see beyond what the planner sees.
const (
	seeYAML      = "yaml"
	seeLogs      = "logs"
	seeEvents    = "events"
	seeRevisions = "revisions"
)

// actionsOf are the actions that a kind knows.
func actionsOf(kind string) []string {
	switch kind {
	case podManagers:
		return []string{scale, setImage, pause, resume, restart, undo, unpin, deletePod}
	case imoocPods, helloWorlds:
		return []string{scale}
	}
	return nil
}

// Rights are what the page offers a visitor.
type Rights struct {
	// Actions and Sights are those that the API server allows.
	Actions []string `json:"actions"`
	Sights  []string `json:"sights"`
	// Missing are the rights whose lack hides something.
	Missing []Missing `json:"missing,omitempty"`
	// Why is why there are none; empty where the API server was asked.
	Why string `json:"why,omitempty"`
}

// Missing is a right that the visitor lacks, and what the page hides for it.
type Missing struct {
	Right string `json:"right"`
	Hides string `json:"hides"`
}

// showRights asks the API server, as the visitor, what the visitor may do. Without
// an answer nothing is offered. What is offered is asked for again when it is done:
// this only spares people buttons that do not work.
func (s *Server) showRights(w http.ResponseWriter, r *http.Request) {
	kind, ok := s.kindAt(w, r)
	if !ok {
		return
	}
	rights := noRights("")
	v, err := s.Viewers.of(r.Context())
	if err == nil {
		err = rights.ask(r.Context(), v, kind, r.PathValue("namespace"), r.PathValue("name"))
	}
	switch {
	case apierrors.IsUnauthorized(err):
		rights = noRights(onlyHere)
	case err != nil:
		rights = noRights(fmt.Sprintf("The API server could not be asked what you may do: %v.", err))
	}
	answer(w, http.StatusOK, rights)
}

func noRights(why string) Rights { return Rights{Actions: []string{}, Sights: []string{}, Why: why} }

func (rights *Rights) ask(ctx context.Context, v *viewer, kind Kind, namespace, name string) error {
	own := authorizationv1.ResourceAttributes{
		Verb: "patch", Group: kind.Resource.Group, Version: kind.Resource.Version, Resource: kind.Resource.Resource, Namespace: namespace, Name: name,
	}
	pods := func(verb, subresource string) authorizationv1.ResourceAttributes {
		return authorizationv1.ResourceAttributes{Verb: verb, Version: "v1", Resource: "pods", Subresource: subresource, Namespace: namespace}
	}
	for _, need := range []struct {
		right   authorizationv1.ResourceAttributes
		actions []string
		sight   string
		hides   string
	}{
		{right: own, actions: []string{scale, setImage, pause, resume, restart, unpin}, hides: "actions"},
		{right: pods("patch", ""), actions: []string{deletePod}, hides: "delete a pod"},
		{right: pods("get", ""), sight: seeYAML, hides: "YAML and conditions of pods"},
		{right: pods("get", "log"), sight: seeLogs, hides: "logs"},
		{right: authorizationv1.ResourceAttributes{Verb: "list", Version: "v1", Resource: "events", Namespace: namespace}, sight: seeEvents, hides: "events"},
		{
			right: authorizationv1.ResourceAttributes{Verb: "list", Group: "apps", Version: "v1", Resource: "controllerrevisions", Namespace: namespace},
			sight: seeRevisions, hides: "images and differences of revisions, undo",
		},
	} {
		if !concerns(kind.Kind, need.sight, need.actions) {
			continue
		}
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &need.right}}
		if err := v.Create(ctx, review); err != nil {
			return err
		}
		if !review.Status.Allowed {
			rights.Missing = append(rights.Missing, Missing{Right: inWords(&need.right), Hides: need.hides})
			continue
		}
		if need.sight != "" {
			rights.Sights = append(rights.Sights, need.sight)
		}
		for _, action := range need.actions {
			if slices.Contains(actionsOf(kind.Kind), action) {
				rights.Actions = append(rights.Actions, action)
			}
		}
	}
	// Going back needs the revisions to go back to.
	if slices.Contains(rights.Sights, seeRevisions) && slices.Contains(rights.Actions, restart) {
		rights.Actions = append(rights.Actions, undo)
	}
	return nil
}

// concerns reports whether a right makes a difference for a kind: only PodManagers have
// revisions to see, and only those that keep pods themselves have pods on the page.
func concerns(kind, sight string, actions []string) bool {
	switch {
	case kind == podManagers:
		return true
	case sight != "":
		return kind == imoocPods && sight != seeRevisions
	}
	return slices.ContainsFunc(actions, func(action string) bool { return slices.Contains(actionsOf(kind), action) })
}

// inWords is a right as kubectl auth can-i takes it: get pods/log.
func inWords(right *authorizationv1.ResourceAttributes) string {
	words := right.Verb + " " + right.Resource
	if right.Group != "" {
		words += "." + right.Group
	}
	if right.Subresource != "" {
		words += "/" + right.Subresource
	}
	return words
}
