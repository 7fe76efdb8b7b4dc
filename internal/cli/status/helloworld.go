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

package status

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/view"
)

// helloWorld prints what a HelloWorld says of itself. Its pods are its Deployment's.
func (o *options) helloWorld(cmd *cobra.Command, s *kube.Session, c client.Client, name string) error {
	if o.watch {
		return errors.New("--watch follows PodManagers and ImoocPods: use kubectl rollout status deployment/" + name)
	}
	namespace, err := s.Namespace()
	if err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	hw := &testv1alpha1.HelloWorld{}
	if err := c.Get(cmd.Context(), key, hw); err != nil {
		return fmt.Errorf("read HelloWorld %s: %w", key, err)
	}
	m := summary{Namespace: namespace, Name: name, Desired: desired.HelloWorldSize(hw), Live: hw.Status.Replicas, Ready: hw.Status.ReadyReplicas}
	m.State, m.Reason, m.Message = view.State(&appsv1.PodManagerStatus{Conditions: hw.Status.Conditions})
	kind := kube.HelloWorlds.Kind.Kind
	switch {
	case o.output.Structured():
		return o.output.Print(s.Out, m)
	case o.output.Is(tableNames):
		_, err := fmt.Fprintln(s.Out, resourceOf(kind)+"/"+name)
		return err
	}
	printTitle(s.Out, s.Paint(), kind, &m)
	fmt.Fprintf(s.Out, "  desired %d   live %d   ready %d\n", m.Desired, m.Live, m.Ready)
	if hw.Status.ObservedGeneration != hw.Generation {
		fmt.Fprintf(s.Out, "  %s\n", s.Paint().Warn("the operator has not seen the latest spec yet"))
	}
	return nil
}
