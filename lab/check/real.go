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

package check

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/lab/exercises/labv1"
	"github.com/mycompany/pod-operator/lab/grade"
	"github.com/mycompany/pod-operator/pkg/sim"
)

// Cluster is a real API server that has the kinds of the exercises. Nothing runs behind
// it: pods stay Pending, and no garbage is collected.
type Cluster struct {
	kube   *localkube.Cluster
	client client.Client
}

// StartCluster starts an API server. root is the folder of the repository. The error is
// localkube.ErrNoBinaries where the control plane has not been built.
func StartCluster(ctx context.Context, root string) (*Cluster, error) {
	kinds, err := install.Render(filepath.Join(root, "config", "crd"))
	if err != nil {
		return nil, err
	}
	web := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(labv1.CRD, &web.Object); err != nil {
		return nil, fmt.Errorf("read the CRD of the exercises: %w", err)
	}
	kube, err := localkube.Start(ctx, localkube.Options{
		Components: localkube.APIOnly(),
		OnAPIReady: func(ctx context.Context, admin *rest.Config) error {
			return install.Apply(ctx, admin, append(kinds, web))
		},
	})
	if err != nil {
		return nil, err
	}
	c, err := client.New(kube.RESTConfig(), client.Options{Scheme: grade.Scheme()})
	if err != nil {
		return nil, errors.Join(err, kube.Stop())
	}
	return &Cluster{kube, c}, nil
}

// Stop ends the API server.
func (c *Cluster) Stop() error { return c.kube.Stop() }

// patience is how long a reconciler may take to reach its goal.
const patience = time.Minute

// Run runs the reconciler of an exercise in a namespace of its own, and waits for the
// goal.
func (c *Cluster) Run(ctx context.Context, e grade.Exercise) (err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "exercise-" + e.Number + "-"}}
	if err := c.client.Create(ctx, namespace); err != nil {
		return fmt.Errorf("create a namespace: %w", err)
	}
	mgr, err := ctrl.NewManager(c.kube.RESTConfig(), ctrl.Options{
		Scheme: grade.Scheme(), Metrics: server.Options{BindAddress: "0"}, Logger: logr.Discard(),
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{namespace.Name: {}}},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		return fmt.Errorf("make a manager: %w", err)
	}
	name := "exercise-" + e.Number
	if err := sim.Build(mgr, name, e.World.Watches, e.World.New(sim.Of(mgr, name))); err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- mgr.Start(running) }()
	defer func() {
		stop()
		err = errors.Join(err, <-done)
	}()
	return e.Real(ctx, c.client, namespace.Name)
}
