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

// Package kube connects the plugin's verbs to a cluster: the usual kubectl
// flags, a client that knows our kinds, and the fleet of a PodManager as the
// controller would observe it.
package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/change"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/observe"
)

// Session is what every verb gets. Its Out and ErrOut are Screens.
type Session struct {
	genericiooptions.IOStreams
	Flags *genericclioptions.ConfigFlags
}

// NewSession makes a session on the given streams.
func NewSession(streams genericiooptions.IOStreams) *Session {
	streams.Out, streams.ErrOut = newScreen(streams.Out), newScreen(streams.ErrOut)
	return &Session{IOStreams: streams, Flags: genericclioptions.NewConfigFlags(true)}
}

// RawOut is what is behind the Screen, for a verb that steers the terminal. It
// has to Clean what it prints there.
func (s *Session) RawOut() io.Writer {
	if screen, ok := s.Out.(*Screen); ok {
		return screen.Unwrap()
	}
	return s.Out
}

// Config is the connection that the flags name.
func (s *Session) Config() (*rest.Config, error) {
	config, err := s.Flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w", err)
	}
	config.QPS = -1
	return config, nil
}

// Client is a client that knows our kinds.
func (s *Session) Client() (client.Client, error) {
	config, err := s.Config()
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), apiextensionsv1.AddToScheme(scheme),
		appsv1.AddToScheme(scheme), batchv1alpha1.AddToScheme(scheme), testv1alpha1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("build the scheme: %w", err)
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	// It is the name by which "why" reports writes of the plugin.
	return client.WithFieldOwner(c, fieldOwner), nil
}

// fieldOwner is the field manager of what the plugin writes.
const fieldOwner = "kubectl-podmanager"

// Namespace is the namespace that the flags or the kubeconfig name.
func (s *Session) Namespace() (string, error) {
	namespace, _, err := s.NamespaceGiven()
	return namespace, err
}

// NamespaceGiven also reports whether a flag named it.
func (s *Session) NamespaceGiven() (namespace string, given bool, err error) {
	namespace, given, err = s.Flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", false, fmt.Errorf("find the namespace: %w", err)
	}
	return namespace, given, nil
}

// Get reads the PodManager that a word names: NAME, pm/NAME, or pod/NAME for
// the PodManager of a pod.
func (s *Session) Get(ctx context.Context, c client.Client, word string) (*appsv1.PodManager, error) {
	key, err := s.Manager(ctx, c, word)
	if err != nil {
		return nil, err
	}
	pm := &appsv1.PodManager{}
	if err := c.Get(ctx, key, pm); err != nil {
		return nil, fmt.Errorf("read PodManager %s: %w", key, err)
	}
	return pm, nil
}

// Hint is what a printed command needs to find what this one did: " -n NAMESPACE"
// where a flag named the namespace.
func (s *Session) Hint() string {
	if namespace, given, err := s.NamespaceGiven(); err == nil && given {
		return " -n " + namespace
	}
	return ""
}

// List reads all PodManagers of the namespace, or of all namespaces, sorted.
func (s *Session) List(ctx context.Context, c client.Client, everywhere bool) ([]appsv1.PodManager, error) {
	namespace, err := s.Namespace()
	if err != nil {
		return nil, err
	}
	if everywhere {
		namespace = ""
	}
	var list appsv1.PodManagerList
	if err := c.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the PodManagers: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b appsv1.PodManager) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return list.Items, nil
}

// Observe sees a PodManager's fleet, live, as the controller would.
func Observe(ctx context.Context, c client.Client, pm *appsv1.PodManager) (desired.Fleet, observe.Seen, error) {
	fleet := desired.PodManager(pm)
	seen, err := change.Live{Reader: c}.Observe(ctx, fleet, appsv1.LabelName)
	return fleet, seen, err
}

// Terminal reports whether a stream is a person's screen.
func Terminal(w any) bool {
	if screen, ok := w.(*Screen); ok {
		w = screen.Unwrap()
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Age is a duration as kubectl prints it.
func Age(since, now time.Time) string {
	if since.IsZero() {
		return "<unknown>"
	}
	return duration.HumanDuration(now.Sub(since))
}
