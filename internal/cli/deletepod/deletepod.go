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

// Package deletepod is "kubectl podmanager delete-pod": it asks for one pod to
// go, by the label that the operator reads. A scale-down takes the pod first;
// without one it is replaced.
package deletepod

import (
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/change"
	"github.com/mycompany/pod-operator/internal/cli/kube"
)

// New makes the verb.
func New(s *kube.Session) *cobra.Command {
	dry := &kube.DryRun{}
	cmd := &cobra.Command{
		Use:   "delete-pod POD",
		Short: "Mark one pod for deletion: first in a scale-down, replaced otherwise",
		Args:  kube.One("the name of a pod"), ValidArgsFunction: s.CompletePod,
		RunE: func(cmd *cobra.Command, args []string) error { return run(cmd, s, dry, args[0]) },
	}
	dry.Bind(cmd)
	return cmd
}

func run(cmd *cobra.Command, s *kube.Session, dry *kube.DryRun, word string) error {
	if err := dry.Check(); err != nil {
		return err
	}
	ref, err := kube.ParseRef(word, kube.Pods)
	if err != nil {
		return err
	}
	c, err := s.Client()
	if err != nil {
		return err
	}
	namespace, err := s.Namespace()
	if err != nil {
		return err
	}
	pod := &corev1.Pod{}
	key := client.ObjectKey{Namespace: namespace, Name: ref.Name}
	if err := c.Get(cmd.Context(), key, pod); err != nil {
		return fmt.Errorf("read pod %s: %w", key, err)
	}
	owner := metav1.GetControllerOf(pod)
	if owner == nil || owner.Kind != "PodManager" {
		return fmt.Errorf("pod %s belongs to no PodManager: delete it with kubectl delete pod", key)
	}
	if err := dry.Patch(cmd.Context(), c, pod, client.RawPatch(types.MergePatchType, change.AskToGo(pod))); err != nil {
		return fmt.Errorf("label pod %s: %w", key, err)
	}
	fmt.Fprintf(s.Out, "pod/%s marked for deletion; PodManager %s replaces it, or takes it first when it scales down%s\n", ref.Name, owner.Name, dry.Suffix())
	return nil
}
