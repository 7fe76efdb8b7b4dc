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
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/desired"
)

const (
	// mostFound is how many pods a search shows.
	mostFound = 50
	// leastSearched is how many letters it needs: fewer find almost all pods.
	leastSearched = 2
)

// Found is a pod of a fleet that a search found by its name or its node.
type Found struct {
	Resource  string `json:"resource"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Fleet     string `json:"fleet"`
	Pod       string `json:"pod"`
	Node      string `json:"node,omitempty"`
}

// search finds pods by the words of their names and nodes, in the fleets that the
// visitor may list.
func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	words := strings.Fields(strings.ToLower(r.URL.Query().Get("q")))
	if len(strings.Join(words, "")) < leastSearched {
		answer(w, http.StatusOK, map[string]any{"items": []Found{}, "more": false})
		return
	}
	var pods corev1.PodList
	if err := s.Cache.List(r.Context(), &pods, client.UnsafeDisableDeepCopy); err != nil {
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("list the pods: %v", err))
		return
	}
	found, more, err := s.found(r.Context(), pods.Items, words)
	if err != nil {
		admitted(w, false, err, "", visitor(r.Context()))
		return
	}
	answer(w, http.StatusOK, map[string]any{"items": found, "more": more})
}

// found are the first of those pods that the visitor may see.
func (s *Server) found(ctx context.Context, pods []corev1.Pod, words []string) (found []Found, more bool, err error) {
	found = []Found{}
	reach := map[string]func(string) (bool, error){}
	for i := range pods {
		pod := &pods[i]
		kind, owner, ok := s.ownerOf(pod)
		if !ok || !hasAll(strings.ToLower(pod.Namespace+"/"+pod.Name+" "+pod.Spec.NodeName), words) {
			continue
		}
		if reach[kind.Kind] == nil {
			if reach[kind.Kind], err = s.reach(ctx, "list", kind); err != nil {
				return nil, false, err
			}
		}
		switch may, err := reach[kind.Kind](pod.Namespace); {
		case err != nil:
			return nil, false, err
		case may && len(found) == mostFound:
			return found, true, nil
		case may:
			found = append(found, Found{
				Resource: kind.Resource.Resource, Kind: kind.Kind, Namespace: pod.Namespace, Fleet: owner, Pod: pod.Name, Node: pod.Spec.NodeName,
			})
		}
	}
	return found, false, nil
}

func hasAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
}

// ownerOf is the fleet of a pod.
func (s *Server) ownerOf(pod *corev1.Pod) (kind Kind, name string, ok bool) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return Kind{}, "", false
	}
	kind, ok = s.kindOf(owner.Kind)
	group, err := schema.ParseGroupVersion(owner.APIVersion)
	return kind, owner.Name, ok && err == nil && group.Group == kind.Resource.Group
}

// running are the images that the pods of a fleet have now.
func (s *Server) running(ctx context.Context, fleet desired.Fleet) ([]Image, error) {
	pods, err := s.podsOf(ctx, fleet)
	var images []Image
	for i := range pods {
		for j := range pods[i].Spec.Containers {
			image := Image{Container: pods[i].Spec.Containers[j].Name, Image: pods[i].Spec.Containers[j].Image}
			if !slices.Contains(images, image) {
				images = append(images, image)
			}
		}
	}
	return images, err
}
