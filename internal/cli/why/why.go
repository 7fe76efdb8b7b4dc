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
//
// For the built-in workloads it is made from what every cluster records, and needs
// nothing of ours.
package why

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/cli/explain"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/cli/workload"
	"github.com/mycompany/pod-operator/internal/nativewhy"
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
		Use:   "why (NAME | pod/POD | TYPE/NAME)",
		Short: "Tell why pods were touched, newest first",
		Long: "Tell who changed what, which events came in, which rule decided and what was done, newest first. The operator's\n" +
			"recorder knows most; what it has forgotten, the PodManager's history and its events still tell.\n\n" +
			"TYPE is pm, imoocpod or helloworld; or deployment, statefulset, daemonset or replicaset: for these, and for pods that\n" +
			"they own, the cluster's own records answer, on any cluster. Each answer says how it is known and how sure it is.",
		Example:           "  kubectl podmanager why web\n  kubectl podmanager why pod/web-2\n  kubectl podmanager why deployment/web",
		Args:              kube.One("NAME, pod/POD or TYPE/NAME"),
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
	ref, err := kube.ParseRef(what, slices.Concat([]kube.Type{kube.PodManagers, kube.Pods, kube.ImoocPods, kube.HelloWorlds}, kube.BuiltIn())...)
	if err != nil {
		return err
	}
	v := verb{options: o, session: s, client: c, what: what, key: client.ObjectKey{Namespace: namespace, Name: ref.Name}}
	switch {
	case kube.IsBuiltIn(ref.Kind):
		return v.native(ctx, ref.Kind)
	case ref.Kind == kube.HelloWorlds.Kind:
		return v.helloWorld(ctx)
	case ref.Kind == kube.Pods.Kind:
		return v.pod(ctx)
	}
	story, gone, err := v.ours(ctx, subject{namespace: namespace, name: ref.Name, kind: ref.Kind.Kind})
	if err != nil {
		return err
	}
	if len(story) == 0 && gone != nil {
		return gone
	}
	return v.print(story)
}

// verb is one call of why.
type verb struct {
	*options
	session *kube.Session
	client  client.Client
	what    string
	key     client.ObjectKey
}

func (v *verb) native(ctx context.Context, kind schema.GroupKind) error {
	facts, err := workload.Read(ctx, v.client, kind, v.key, time.Now())
	if err != nil {
		return err
	}
	return v.tellNative(v.session, v.what, facts)
}

// helloWorld tells the story of the Deployment of a HelloWorld, which has its name.
func (v *verb) helloWorld(ctx context.Context) error {
	hw := &testv1alpha1.HelloWorld{}
	if err := v.client.Get(ctx, v.key, hw); err != nil {
		return fmt.Errorf("read HelloWorld %s: %w", v.key, err)
	}
	return v.native(ctx, kube.Deployments.Kind)
}

// pod tells the story of a pod: ours where one of our kinds owns it, or knows it now
// that it is gone; what the cluster records otherwise.
func (v *verb) pod(ctx context.Context) error {
	pod := &corev1.Pod{}
	err := v.client.Get(ctx, v.key, pod)
	if owner := metav1.GetControllerOf(pod); err == nil && (owner == nil || !kube.Reports(owner)) {
		return v.native(ctx, kube.Pods.Kind)
	}
	story, _, unknown := v.ours(ctx, subject{namespace: v.key.Namespace, pod: v.key.Name})
	if err == nil {
		return errors.Join(unknown, v.print(story))
	}
	if slices.ContainsFunc(story, func(m moment) bool { return m.Source != "event" }) {
		return v.print(story)
	}
	if err := v.native(ctx, kube.Pods.Kind); err == nil || len(story) == 0 {
		return err
	}
	return v.print(story)
}

// ours is the story by what the operator knows, and by the events. gone says that
// the object does not exist.
func (v *verb) ours(ctx context.Context, about subject) (story []moment, gone, err error) {
	found, err := collect(ctx, v.client, about)
	if err != nil {
		return nil, nil, err
	}
	if found.absent {
		return nil, found.gone, nil
	}
	workload.PrintUnread(v.session.ErrOut, found.unread)
	if found.records, err = v.ask(ctx, v.session, about); err != nil && !errors.Is(err, explain.ErrOff) {
		fmt.Fprintf(v.session.ErrOut, "The operator's recorder could not be asked: %v.\nThe history and the events say:\n", err)
	}
	return tell(about, found, v.all), found.gone, nil
}

func (v *verb) print(story []moment) error {
	if len(story) > v.limit {
		story = story[:v.limit]
	}
	if v.output.Structured() {
		return v.output.Print(v.session.Out, map[string]any{"items": story})
	}
	return Print(v.session.Out, v.session.Paint(), v.what, story, time.Now())
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
	// kind is that of name.
	kind string
}

// collect reads what the API server knows: the history of an object, which is gone
// with it, while its records and events outlive it; or,
// for a pod, of all objects in the namespace, because the owner of a pod
// that is gone is unknown; and the events, where they may be read.
func collect(ctx context.Context, c client.Client, about subject) (found sources, err error) {
	if about.pod != "" {
		found.history, err = allHistory(ctx, c, about.namespace)
	} else {
		found.history, err = history(ctx, c, about)
	}
	switch {
	case meta.IsNoMatchError(err):
		found.absent, found.gone = true, fmt.Errorf("this cluster has no %ss: name a built-in workload with its type, as in deployment/%s", about.kind, about.name)
		return found, nil
	case apierrors.IsNotFound(err):
		found.gone = err
	case err != nil:
		return found, err
	}
	var events eventsv1.EventList
	err = c.List(ctx, &events, client.InNamespace(about.namespace))
	switch {
	case apierrors.IsForbidden(err):
		found.unread = []nativewhy.Unread{{Source: nativewhy.Events, Why: "forbidden"}}
	case err != nil:
		return found, fmt.Errorf("list the events of %s: %w", about.namespace, err)
	}
	found.events = events.Items
	return found, nil
}

// history is that of one object.
func history(ctx context.Context, c client.Client, about subject) ([]appsv1.Decision, error) {
	key := client.ObjectKey{Namespace: about.namespace, Name: about.name}
	pm, ip := &appsv1.PodManager{}, &batchv1alpha1.ImoocPod{}
	var object client.Object = pm
	if about.kind == kube.ImoocPods.Kind.Kind {
		object = ip
	}
	if err := c.Get(ctx, key, object); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", about.kind, key, err)
	}
	return append(pm.Status.History, ip.Status.History...), nil
}

// allHistory is that of all objects of a namespace. Few clusters have ImoocPods, and
// few people may read them.
func allHistory(ctx context.Context, c client.Client, namespace string) ([]appsv1.Decision, error) {
	var entries []appsv1.Decision
	var pods batchv1alpha1.ImoocPodList
	err := c.List(ctx, &pods, client.InNamespace(namespace))
	if err != nil && !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err) {
		return nil, fmt.Errorf("list the ImoocPods of %s: %w", namespace, err)
	}
	for i := range pods.Items {
		entries = append(entries, pods.Items[i].Status.History...)
	}
	var managers appsv1.PodManagerList
	if err := c.List(ctx, &managers, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the PodManagers of %s: %w", namespace, err)
	}
	for i := range managers.Items {
		entries = append(entries, managers.Items[i].Status.History...)
	}
	return entries, nil
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
