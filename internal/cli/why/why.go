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

// Package why is "kubectl podmanager why": the story of a PodManager or of one
// pod, newest first, from whatever knows it: the object's own history and its
// events. It works for pods that are gone.
package why

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/view"
)

// New makes the verb.
func New(s *kube.Session) *cobra.Command {
	return &cobra.Command{
		Use:     "why (NAME | pod/POD)",
		Short:   "Tell why pods were touched, newest first",
		Example: "  kubectl podmanager why web\n  kubectl podmanager why pod/web-2",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), s, args[0]) },
	}
}

// moment is one line of the story.
type moment struct {
	at   time.Time
	text string
}

func run(ctx context.Context, s *kube.Session, what string) error {
	c, err := s.Client()
	if err != nil {
		return err
	}
	namespace, err := s.Namespace()
	if err != nil {
		return err
	}
	pod, isPod := strings.CutPrefix(what, "pod/")
	story, err := tell(ctx, c, namespace, what, pod, isPod)
	if err != nil {
		return err
	}
	return Print(s.Out, what, story, time.Now())
}

// tell collects the story of a PodManager, or what the stories of all
// PodManagers in the namespace say of one pod: whose the pod was, nobody can
// ask it when it is gone.
func tell(ctx context.Context, c client.Client, namespace, name, pod string, isPod bool) ([]moment, error) {
	var managers appsv1.PodManagerList
	if isPod {
		if err := c.List(ctx, &managers, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("list the PodManagers of %s: %w", namespace, err)
		}
	} else {
		pm := appsv1.PodManager{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pm); err != nil {
			return nil, fmt.Errorf("read PodManager %s/%s: %w", namespace, name, err)
		}
		managers.Items = append(managers.Items, pm)
	}
	var story []moment
	for i := range managers.Items {
		for _, entry := range managers.Items[i].Status.History {
			if !isPod || slices.Contains(entry.Pods, pod) {
				story = append(story, moment{entry.Time.Time, view.Sentence(entry)})
			}
		}
	}
	told, err := fromEvents(ctx, c, namespace, name, pod, isPod)
	if err != nil {
		return nil, err
	}
	for _, m := range told {
		// What the history tells as well, it tells better.
		if !slices.ContainsFunc(story, func(known moment) bool { return strings.HasPrefix(m.text, sentence(known.text)) }) {
			story = append(story, m)
		}
	}
	slices.SortStableFunc(story, func(a, b moment) int { return b.at.Compare(a.at) })
	return slices.CompactFunc(story, func(a, b moment) bool { return a.text == b.text }), nil
}

// sentence is a line of the history without the rule it names.
func sentence(line string) string {
	text, _, _ := strings.Cut(line, " [")
	return text
}

func fromEvents(ctx context.Context, c client.Client, namespace, name, pod string, isPod bool) ([]moment, error) {
	var events eventsv1.EventList
	if err := c.List(ctx, &events, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the events of %s: %w", namespace, err)
	}
	var story []moment
	for i := range events.Items {
		e := &events.Items[i]
		about := e.Regarding.Kind == "PodManager" && e.Regarding.Name == name
		if isPod {
			about = e.Regarding.Kind == "Pod" && e.Regarding.Name == pod || e.Related != nil && e.Related.Name == pod
		}
		if !about {
			continue
		}
		at := e.EventTime.Time
		if at.IsZero() {
			at = e.CreationTimestamp.Time
		}
		story = append(story, moment{at, fmt.Sprintf("%s (event %s of %s %s)", e.Note, e.Reason, e.Regarding.Kind, e.Regarding.Name)})
	}
	return story, nil
}

// Print prints the story.
func Print(out io.Writer, what string, story []moment, now time.Time) error {
	if len(story) == 0 {
		_, err := fmt.Fprintf(out, "Nobody knows of anything that happened to %s.\n", what)
		return err
	}
	for _, m := range story {
		if _, err := fmt.Fprintf(out, "%s ago  %s\n", kube.Age(m.at, now), m.text); err != nil {
			return err
		}
	}
	return nil
}
