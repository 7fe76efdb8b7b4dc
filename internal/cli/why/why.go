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
// pod, newest first, from whatever knows it: the operator's recorder, the
// object's own history and its events. It works for pods that are gone, and
// after a restart of the operator, which the recorder does not survive.
package why

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/cli/explain"
	"github.com/mycompany/pod-operator/internal/cli/kube"
)

type options struct {
	explain *explain.Options
	output  kube.Output
	all     bool
	limit   int
}

// New makes the verb.
func New(s *kube.Session, e *explain.Options) *cobra.Command {
	o := &options{explain: e}
	cmd := &cobra.Command{
		Use:   "why (NAME | pod/POD)",
		Short: "Tell why pods were touched, newest first",
		Long: "Tell who changed what, which events came in, which rule decided and what was done, newest first. The operator's\n" +
			"recorder knows most; what it has forgotten, the PodManager's history and its events still tell.",
		Example:           "  kubectl podmanager why web\n  kubectl podmanager why pod/web-2",
		Args:              kube.One("NAME or pod/POD"),
		ValidArgsFunction: s.CompleteNameOrPod,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), s, args[0]) },
	}
	o.output.Bind(cmd)
	cmd.Flags().BoolVar(&o.all, "all", false, "Also list reconciles that found nothing to do.")
	cmd.Flags().IntVar(&o.limit, "limit", 20, "How many entries to list at most.")
	return cmd
}

func (o *options) run(ctx context.Context, s *kube.Session, what string) error {
	if err := o.output.Check(); err != nil {
		return err
	}
	if o.limit < 1 {
		return fmt.Errorf("--limit is %d: it must be at least 1", o.limit)
	}
	c, err := s.Client()
	if err != nil {
		return err
	}
	namespace, err := s.Namespace()
	if err != nil {
		return err
	}
	subject, err := subjectOf(namespace, what)
	if err != nil {
		return err
	}
	found, err := collect(ctx, c, subject)
	if err != nil {
		return err
	}
	if found.records, err = o.ask(ctx, s, subject); err != nil && !errors.Is(err, explain.ErrOff) {
		fmt.Fprintf(s.ErrOut, "The operator's recorder could not be asked: %v.\nThis is what the history and the events tell:\n", err)
	}
	story := tell(subject, found, o.all)
	if len(story) == 0 && found.gone != nil {
		return found.gone
	}
	if len(story) > o.limit {
		story = story[:o.limit]
	}
	if o.output.Structured() {
		return o.output.Print(s.Out, map[string]any{"items": story})
	}
	return Print(s.Out, s.Paint(), what, story, time.Now())
}

// recordsAsked is how many records are asked for; the recorder keeps 64 of an
// object.
const recordsAsked = 500

func (o *options) ask(ctx context.Context, s *kube.Session, about subject) (records, error) {
	operator, err := o.explain.Connect(ctx, s)
	if err != nil {
		return nil, err
	}
	defer operator.Close()
	query := explain.Query{Object: about.namespace + "/" + about.name, Limit: recordsAsked}
	if about.pod != "" {
		query = explain.Query{Pod: about.namespace + "/" + about.pod, Limit: recordsAsked}
	}
	return operator.Records(ctx, query)
}

// subject is the object that the story is about.
type subject struct {
	namespace, name string
	// pod is set for the story of a pod; then name is not.
	pod string
}

func subjectOf(namespace, what string) (subject, error) {
	ref, err := kube.ParseRef(what, kube.PodManagers, kube.Pods)
	if err != nil {
		return subject{}, err
	}
	if ref.Kind == kube.Pods.Kind {
		return subject{namespace: namespace, pod: ref.Name}, nil
	}
	return subject{namespace: namespace, name: ref.Name}, nil
}

// collect reads what the API server knows: the history of a PodManager, which is gone
// with it, while its records and events outlive it; or,
// for a pod, of all PodManagers in the namespace, because the owner of a pod
// that is gone is unknown; and the events.
func collect(ctx context.Context, c client.Client, about subject) (sources, error) {
	var found sources
	if about.pod != "" {
		var managers appsv1.PodManagerList
		if err := c.List(ctx, &managers, client.InNamespace(about.namespace)); err != nil {
			return found, fmt.Errorf("list the PodManagers of %s: %w", about.namespace, err)
		}
		for i := range managers.Items {
			found.history = append(found.history, managers.Items[i].Status.History...)
		}
	} else {
		pm := appsv1.PodManager{}
		err := c.Get(ctx, client.ObjectKey{Namespace: about.namespace, Name: about.name}, &pm)
		if err != nil {
			err = fmt.Errorf("read PodManager %s/%s: %w", about.namespace, about.name, err)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return found, err
		}
		found.gone, found.history = err, pm.Status.History
	}
	var events eventsv1.EventList
	if err := c.List(ctx, &events, client.InNamespace(about.namespace)); err != nil {
		return found, fmt.Errorf("list the events of %s: %w", about.namespace, err)
	}
	found.events = events.Items
	return found, nil
}

// Print prints the story.
func Print(out io.Writer, paint kube.Paint, what string, story []moment, now time.Time) error {
	if len(story) == 0 {
		_, err := fmt.Fprintf(out, "No history found for %s.\n", what)
		return err
	}
	for _, m := range story {
		text := m.Text
		if m.Bad {
			text = paint.Bad(text)
		}
		age := fmt.Sprintf("%-9s", kube.Age(m.Time, now)+" ago")
		if _, err := fmt.Fprintf(out, "%s %s\n", paint.Soft(age), text); err != nil {
			return err
		}
		for _, d := range m.details() {
			fmt.Fprintf(out, "            %s %s\n", paint.Soft(fmt.Sprintf("%-8s", d.word)), d.text)
		}
	}
	return nil
}
