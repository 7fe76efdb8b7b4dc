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

// Package plan is "kubectl podmanager plan": what would this change do to my
// pods, before I apply it. The change is tried on the API server as a dry run,
// so it is defaulted and validated as it would be; the live pods are observed
// as the controller does it; and the planner that the controller uses plays it
// forward. An object that cannot be planned is an error, or is listed as not
// planned: no object of a file is passed over in silence.
package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/change"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/native"
	"github.com/mycompany/pod-operator/internal/view"
)

// ErrDisruptive says that pods would be recreated, deleted or restarted: exit code 2.
var ErrDisruptive = fmt.Errorf("pods would be recreated, deleted or restarted: %w", kube.ErrNo)

// errUnforeseen is the error of --exit-code where 0 would be a promise.
var errUnforeseen = errors.New("what happens to the pods is not known to the end: see the plan")

// Report is what -o json and -o yaml print.
type Report struct {
	// Items are the plans, in the order of the files and of their objects.
	Items []Plan `json:"items"`
	// NotPlanned are the objects of the files that have no plan.
	NotPlanned []NotPlanned `json:"notPlanned"`
	// Counts, Summary, Disruptive and Complete are those of all items together.
	Counts     map[string]int `json:"counts"`
	Summary    string         `json:"summary"`
	Disruptive bool           `json:"disruptive"`
	Complete   bool           `json:"complete"`
}

// Plan is what would happen to the pods of one object.
type Plan struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// Source is the file with the change; empty means that flags make it.
	Source string `json:"source,omitempty"`
	// New: the object does not exist yet. GenerateName: the API server will
	// complete its name, another time with another suffix.
	New          bool   `json:"new,omitempty"`
	GenerateName string `json:"generateName,omitempty"`
	view.Preview `json:",inline"`
	// Native is beside the plan of one of Kubernetes' own kinds.
	Native *outlook `json:"native,omitempty"`
	// Keys change in a ConfigMap or a Secret, and Readers read them.
	Keys    []string        `json:"keys,omitempty"`
	Readers []native.Reader `json:"readers,omitempty"`
}

type options struct {
	files    resource.FilenameOptions
	images   []string
	contents []string
	replicas int32
	// rebalance asks for a better spread, and restart for a restart of the pods.
	rebalance, restart bool
	// noCompare leaves out what a workload's change would be as a PodManager's.
	noCompare bool
	// exitCode: a restart in place counts, too, and what is unknown is an error.
	exitCode bool
	output   kube.Output
}

const long = `Show, pod by pod, what a change would do: change it in place, recreate, create or delete it, or hold it
back and by what. Nothing is changed. The exit code is 2 when pods would be recreated or deleted; with --exit-code also
when they would be restarted in place, and 1 when that is not known.

The change is in files, or in flags, or in both: the flags are then applied to every object of the files. Files may
hold several objects, and be folders, URLs, kustomizations or standard input. PodManagers of both versions, ImoocPods
and HelloWorlds have plans. Other objects are listed as not planned. Files in which nothing can be planned are an error.

Deployments, ReplicaSets, StatefulSets and DaemonSets have plans, too, and of ConfigMaps and Secrets the plan says which
pods read them. This needs no operator and no CRD in the cluster: docs/any-workload.md.`

const example = `  kubectl podmanager plan -f web.yaml
  kubectl podmanager plan -f shop/ -R --replicas 5
  kubectl podmanager plan -k overlays/production
  kustomize build . | kubectl podmanager plan -f -
  kubectl podmanager plan web --set-image nginx:1.29
  kubectl podmanager plan web --rebalance
  kubectl podmanager plan deployment/shop --set-image nginx:1.29
  kubectl podmanager plan statefulset/db --restart
  kubectl podmanager plan configmap/settings --from-file app.yaml
  kubectl podmanager plan -k overlays/production --exit-code
  kubectl podmanager plan drain node-1
  kubectl podmanager plan pm/web --set-image app=nginx:1.29 --set-image proxy=envoy:1.36`

// New makes the verb.
func New(s *kube.Session) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:               "plan (-f FILE | -k FOLDER | [TYPE/]NAME ...) [--set-image [CONTAINER=]IMAGE] [--replicas N] [--restart]",
		Short:             "Show what a change would do to the pods, before you apply it",
		Long:              long,
		Example:           example,
		ValidArgsFunction: s.CompleteName,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd, s, args) },
	}
	(&genericclioptions.FileNameFlags{
		Usage:     "The files, folders or URLs with the changed objects, or - for standard input. Can be given several times.",
		Filenames: &o.files.Filenames, Kustomize: &o.files.Kustomize, Recursive: &o.files.Recursive,
	}).AddFlags(cmd.Flags())
	cmd.Flags().Lookup("kustomize").Usage = "The folder of a kustomization with the changed objects. Not together with -f or -R."
	cmd.Flags().Lookup("recursive").Usage = "Read the folders of -f with all folders in them."
	cmd.Flags().StringArrayVar(&o.images, "set-image", nil,
		"The image that would be set, of the container app or of CONTAINER, or with * of all. Can be given several times.")
	cmd.Flags().StringArrayVar(&o.contents, "from-file", nil,
		"A file, KEY=FILE or folder of files that would be set as keys of a ConfigMap or a Secret. Can be given several times.")
	cmd.Flags().Int32Var(&o.replicas, "replicas", 0, "The number of replicas that would be set.")
	cmd.Flags().Int32Var(&o.replicas, "scale", 0, "The same as --replicas.")
	cmd.MarkFlagsMutuallyExclusive("replicas", "scale")
	cmd.Flags().BoolVar(&o.restart, "restart", false, "All pods would be restarted, as by kubectl rollout restart.")
	cmd.Flags().BoolVar(&o.rebalance, "rebalance", false, "Pods would be rebalanced by their topologySpreadConstraints: see kubectl podmanager rebalance.")
	cmd.Flags().BoolVar(&o.noCompare, "no-compare", false, "Do not say what the change of a Deployment or a StatefulSet would be as a PodManager's.")
	cmd.Flags().BoolVar(&o.exitCode, "exit-code", false,
		"For CI. Exit with 0 when no pod that runs is touched, 2 when pods are replaced, restarted or deleted, and 1 after an error or when that is not known.")
	o.output.Bind(cmd)
	cmd.AddCommand(newDrain(s))
	return cmd
}

func (o *options) run(cmd *cobra.Command, s *kube.Session, args []string) error {
	edits, err := o.edits(cmd)
	if err != nil {
		return err
	}
	if err := o.output.Check(); err != nil {
		return err
	}
	planned, others, unread := o.requests(s, args)
	if len(planned) == 0 && unread != nil {
		return unread
	}
	c, err := s.Client()
	if err != nil {
		return err
	}
	if err := o.checkNodes(cmd.Context(), c); err != nil {
		return err
	}
	// kubectl apply lets the API server refuse unknown fields, too.
	c = client.WithFieldValidation(c, metav1.FieldValidationStrict)
	how := manner{compare: !o.noCompare}
	if slices.ContainsFunc(planned, request.native) {
		how.minor = minorOf(s)
	}
	plans, failed := planAll(cmd.Context(), c, how, edits, planned)
	failed = errors.Join(unread, failed)
	if len(plans) == 0 && failed != nil {
		return failed
	}
	report := newReport(plans, others)
	if err := o.print(s.Out, s.Paint(), report); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	return o.verdict(&report)
}

// verdict is the error that chooses the exit code.
func (o *options) verdict(r *Report) error {
	interrupts := slices.ContainsFunc(r.Items, func(p Plan) bool { return p.Interrupts() })
	switch {
	case r.Disruptive, o.exitCode && interrupts:
		return ErrDisruptive
	case o.exitCode && !r.Complete:
		return errUnforeseen
	}
	return nil
}

// checkNodes: without the nodes a rebalance would look as if it moved no pod.
func (o *options) checkNodes(ctx context.Context, c client.Client) error {
	if !o.rebalance {
		return nil
	}
	err := c.List(ctx, &corev1.NodeList{}, client.Limit(1))
	if apierrors.IsForbidden(err) {
		return errors.New("you may not list nodes, so that a rebalance cannot be planned: the operator may; kubectl podmanager rebalance asks it")
	}
	return err
}

// edits are the changes that the flags ask for.
func (o *options) edits(cmd *cobra.Command) (change.Edits, error) {
	e := change.Edits{Images: o.images}
	if cmd.Flags().Changed("replicas") || cmd.Flags().Changed("scale") {
		e.Replicas = &o.replicas
	}
	if o.rebalance {
		e.Rebalance = time.Now()
	}
	if o.restart {
		e.Restart = time.Now()
	}
	var err error
	if e.Content, err = contents(o.contents); err != nil {
		return e, fmt.Errorf("--from-file: %w", err)
	}
	for _, word := range o.images {
		if err := change.CheckImage(word); err != nil {
			return e, fmt.Errorf("--set-image: %w", err)
		}
	}
	return e, nil
}

// requests are the objects to plan, and those that have no plan.
func (o *options) requests(s *kube.Session, args []string) ([]request, []NotPlanned, error) {
	fromFiles := len(o.files.Filenames) > 0 || o.files.Kustomize != ""
	if fromFiles == (len(args) > 0) {
		return nil, nil, errors.New("give files with -f or -k, or names of live objects")
	}
	namespace, given, err := s.NamespaceGiven()
	if err != nil {
		return nil, nil, err
	}
	if !fromFiles {
		planned, err := named(args, namespace)
		return planned, nil, err
	}
	found, unread := documents(o.files, s.In)
	planned, others, err := requests(found, namespace, given)
	err = errors.Join(unread, err)
	if len(planned) == 0 && err == nil {
		err = nothing(o.files, others)
	}
	return planned, others, err
}

// planAll plans one object after the other, and goes on after one that cannot be
// planned.
func planAll(ctx context.Context, c client.Client, how manner, edits change.Edits, planned []request) ([]Plan, error) {
	plans, errs := []Plan{}, []error(nil)
	for _, r := range planned {
		p, err := r.plan(ctx, c, how, edits)
		if err != nil && r.source != "" {
			err = fmt.Errorf("%s: %w", r.source, err)
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		plans = append(plans, p)
	}
	return plans, errors.Join(errs...)
}

func (r request) plan(ctx context.Context, c client.Client, how manner, edits change.Edits) (Plan, error) {
	if r.config() && r.source != "" {
		edits = change.Edits{Content: edits.Content}
	}
	try := edits.TryLive
	if r.source != "" {
		try = edits.TryFile
	}
	live, changed, err := try(ctx, c, r.kind, r.object)
	if err != nil {
		return Plan{}, advised(err, r.object.GetKind(), r.object.GetName())
	}
	p := Plan{
		APIVersion: changed.GetAPIVersion(), Kind: changed.GetKind(), Namespace: changed.GetNamespace(), Name: changed.GetName(),
		Source: r.source, New: live == nil,
	}
	if r.object.GetName() == "" {
		p.GenerateName = r.object.GetGenerateName()
	}
	if r.native() {
		if err = foreseeNative(ctx, c, how, live, changed, &p); err != nil {
			err = fmt.Errorf("plan %s %s/%s: %w", p.Kind, p.Namespace, p.Name, err)
		}
		return p, err
	}
	p.Preview, err = r.kind.Foresee(ctx, change.Look{Reader: c, Observer: change.Live{Reader: c}, Now: time.Now()}, live, changed)
	if err != nil {
		err = fmt.Errorf("plan %s %s/%s: %w", p.Kind, p.Namespace, p.Name, err)
	}
	return p, err
}

func newReport(plans []Plan, others []NotPlanned) Report {
	r := Report{Items: plans, NotPlanned: append([]NotPlanned{}, others...), Counts: map[string]int{}, Complete: true}
	for i := range plans {
		p := &plans[i]
		for what, n := range p.Counts {
			r.Counts[what] += n
		}
		r.Disruptive = r.Disruptive || p.Disruptive
		r.Complete = r.Complete && p.Complete
	}
	r.Summary = view.Summary(r.Counts)
	return r
}
