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

// Package version is "kubectl podmanager version": which plugin this is, which
// operator the cluster runs, and which Kubernetes.
package version

import (
	"cmp"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	kappsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/cli/explain"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	build "github.com/mycompany/pod-operator/internal/version"
)

// Versions is what -o json and -o yaml print.
type Versions struct {
	Client build.Info `json:"client"`
	// Operator and Kubernetes are empty with --client.
	Operator   *Operator `json:"operator,omitempty"`
	Kubernetes string    `json:"kubernetes,omitempty"`
}

// Operator is the operator that the cluster runs.
type Operator struct {
	Namespace string `json:"namespace"`
	// Image is that of its Deployment, or empty where Unknown says why.
	Image   string `json:"image,omitempty"`
	Unknown string `json:"unknown,omitempty"`
}

const (
	deploymentName = "pod-operator-controller-manager"
	containerName  = "manager"
)

// New makes the verb.
func New(s *kube.Session, e *explain.Options) *cobra.Command {
	output, onlyClient := kube.Output{}, false
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of the plugin, the operator and Kubernetes",
		Args:  cobra.NoArgs, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := output.Check(); err != nil {
				return err
			}
			v := Versions{Client: build.Get()}
			var unreachable error
			if !onlyClient {
				unreachable = v.ask(cmd.Context(), s, e) // the plugin's version is known in any case
			}
			show := v.print
			if output.Structured() {
				show = func(out io.Writer) error { return output.Print(out, v) }
			}
			return cmp.Or(show(s.Out), unreachable)
		},
	}
	cmd.Flags().BoolVar(&onlyClient, "client", false, "Show only the version of the plugin, without a cluster.")
	output.Bind(cmd)
	return cmd
}

// ask asks the cluster.
func (v *Versions) ask(ctx context.Context, s *kube.Session, e *explain.Options) error {
	config, err := s.Config()
	if err != nil {
		return err
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	server, err := d.ServerVersionWithContext(ctx)
	if err != nil {
		return fmt.Errorf("ask the API server for its version: %w", err)
	}
	v.Kubernetes = server.GitVersion
	c, err := s.Client()
	if err != nil {
		return err
	}
	v.Operator = operator(ctx, c, e.OperatorNamespace(ctx, config))
	return nil
}

// operator reads the operator's Deployment. An operator may run elsewhere, and
// many users may not read its namespace: neither is an error.
func operator(ctx context.Context, c client.Client, namespace string) *Operator {
	o := &Operator{Namespace: namespace}
	deployment := &kappsv1.Deployment{}
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: deploymentName}, deployment); err != nil {
		o.Unknown = err.Error()
		return o
	}
	for _, container := range deployment.Spec.Template.Spec.Containers {
		if container.Name == containerName {
			o.Image = container.Image
		}
	}
	if o.Image == "" {
		o.Unknown = "Deployment " + namespace + "/" + deploymentName + " has no container " + containerName
	}
	return o
}

func (v *Versions) print(out io.Writer) error {
	_, err := fmt.Fprintf(out, "Client: %s\n", build.String())
	if v.Operator != nil {
		fmt.Fprintf(out, "Operator: %s\n", cmp.Or(v.Operator.Image, "unknown: "+v.Operator.Unknown))
		_, err = fmt.Fprintf(out, "Kubernetes: %s\n", v.Kubernetes)
	}
	return err
}
