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

package kube

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// completePatience bounds how long a completion takes after the tab key.
const completePatience = 3 * time.Second

// Complete is how cobra asks what a word could become.
type Complete = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// complete asks the cluster for words. A cluster that does not answer offers
// none: a completion is no place for an error.
func (s *Session) complete(cmd *cobra.Command, typed string, ask func(ctx context.Context, c client.Client, namespace string) []string) ([]string, cobra.ShellCompDirective) {
	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, cancel := context.WithTimeout(parent, completePatience)
	defer cancel()
	c, err := s.Client()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	namespace, err := s.Namespace()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words := ask(ctx, c, namespace)
	if kind, _, given := strings.Cut(typed, "/"); given && !slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, kind+"/") }) {
		for i := range words {
			words[i] = kind + "/" + words[i]
		}
	}
	words = slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, typed) })
	slices.Sort(words)
	return slices.Compact(words), cobra.ShellCompDirectiveNoFileComp
}

func managerNames(ctx context.Context, c client.Client, namespace string) []string {
	var list appsv1.PodManagerList
	if c.List(ctx, &list, client.InNamespace(namespace)) != nil {
		return nil
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

func podNames(ctx context.Context, c client.Client, namespace string) []string {
	var list corev1.PodList
	if c.List(ctx, &list, client.InNamespace(namespace), client.HasLabels{appsv1.LabelName}) != nil {
		return nil
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// CompleteName offers the PodManagers of the namespace, for the first word.
func (s *Session) CompleteName(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.complete(cmd, typed, managerNames)
}

// CompletePod offers the pods of PodManagers, for the first word.
func (s *Session) CompletePod(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.complete(cmd, typed, podNames)
}

// CompleteNameOrPod offers PodManagers, and pods as pod/NAME.
func (s *Session) CompleteNameOrPod(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.complete(cmd, typed, func(ctx context.Context, c client.Client, namespace string) []string {
		words := managerNames(ctx, c, namespace)
		for _, pod := range podNames(ctx, c, namespace) {
			words = append(words, "pod/"+pod)
		}
		return words
	})
}

// CompleteNode offers the nodes, for the first word.
func (s *Session) CompleteNode(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.complete(cmd, typed, func(ctx context.Context, c client.Client, _ string) []string {
		var list corev1.NodeList
		if c.List(ctx, &list) != nil {
			return nil
		}
		var names []string
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names
	})
}

// CompleteRevision offers the numbers of the revisions of the PodManager that
// is the first word.
func (s *Session) CompleteRevision(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.complete(cmd, typed, func(ctx context.Context, c client.Client, namespace string) []string {
		var list kappsv1.ControllerRevisionList
		if c.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{appsv1.LabelName: args[0]}) != nil {
			return nil
		}
		var numbers []string
		for i := range list.Items {
			numbers = append(numbers, strconv.FormatInt(list.Items[i].Revision, 10))
		}
		return numbers
	})
}

// CompleteFlags teaches the command the values of the usual flags.
func (s *Session) CompleteFlags(cmd *cobra.Command) {
	namespaces := func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return s.complete(cmd, typed, func(ctx context.Context, c client.Client, _ string) []string {
			var list corev1.NamespaceList
			if c.List(ctx, &list) != nil {
				return nil
			}
			var names []string
			for i := range list.Items {
				names = append(names, list.Items[i].Name)
			}
			return names
		})
	}
	contexts := func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		config, err := s.Flags.ToRawKubeConfigLoader().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		for name := range config.Contexts {
			if strings.HasPrefix(name, typed) {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	_ = cmd.RegisterFlagCompletionFunc("namespace", namespaces)
	_ = cmd.RegisterFlagCompletionFunc("context", contexts)
}
