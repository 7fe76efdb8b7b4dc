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

package operator

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/mycompany/pod-operator/lab"
	"github.com/mycompany/pod-operator/lab/trace"
)

// Show runs the operator in a lab: it starts it again when it crashes, starts a second one when
// asked to, and has the buttons that change its Web.
type Show struct {
	Config    *rest.Config
	Namespace string
	Lab       *lab.Lab

	client client.Client
	clock  lab.Clock

	mu     sync.Mutex
	second context.CancelFunc
	ended  chan struct{}
	ctx    context.Context //nolint:containedctx // what the button starts lives as long as the show
}

// NewShow makes the lab. Options say what is beside the operator.
func NewShow(config *rest.Config, namespace string, options lab.Options) (*Show, error) {
	s := &Show{Config: config, Namespace: namespace}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	config = rest.CopyConfig(config)
	config.UserAgent = "lab-page" // the field manager of what the buttons write
	if s.client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	options.Changes, options.Second, options.Clock, options.Restarts = s.changes(), s.toggleSecond, &s.clock, true
	s.Lab = lab.New(options)
	return s, nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), AddToScheme(scheme))
}

const webName = "web"

// Run makes the Web and runs the operator until the context ends.
func (s *Show) Run(ctx context.Context) error {
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	web := &Web{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: webName}, Spec: WebSpec{Replicas: 3, Image: "nginx:1.27"},
	}
	if err := s.client.Create(ctx, web); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make the Web: %w", err)
	}
	return s.keepRunning(ctx, "a")
}

// keepRunning starts an operator again each time that it crashes, as a Deployment does.
func (s *Show) keepRunning(ctx context.Context, name string) error {
	for ctx.Err() == nil {
		mgr, err := s.manager(name)
		if err != nil {
			return err
		}
		if err := mgr.Start(ctx); err != nil && !errors.Is(err, lab.ErrCrashed) {
			return err
		}
	}
	return nil
}

// manager is an operator as any other, but for the line with Attach.
func (s *Show) manager(name string) (ctrl.Manager, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	config := rest.CopyConfig(s.Config)
	config.UserAgent = "lab-operator" // the field manager of what it writes
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{s.Namespace: {}}},
	})
	if err != nil {
		return nil, err
	}
	if mgr, err = s.Lab.Attach(mgr, name); err != nil {
		return nil, err
	}
	return mgr, (&Reconciler{Client: mgr.GetClient(), Now: s.clock.Now}).SetupWithManager(mgr)
}

// toggleSecond starts or stops the operator b, beside a and without a lease.
func (s *Show) toggleSecond(start bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !start {
		if s.second != nil {
			s.second()
			<-s.ended
		}
		return nil
	}
	ctx, cancel := context.WithCancel(s.ctx)
	ended := make(chan struct{})
	s.second, s.ended = cancel, ended
	go func() {
		defer close(ended)
		if err := s.keepRunning(ctx, "b"); err != nil {
			ctrl.Log.Error(err, "the second operator ended")
		}
	}()
	return nil
}

// changes are the buttons.
func (s *Show) changes() []lab.Change {
	object := "Web " + s.Namespace + "/" + webName
	patch := func(id, en, zh, body string) lab.Change {
		return lab.Change{ID: id, Name: trace.Text{EN: en, ZH: zh}, Object: object, Do: func(ctx context.Context) error {
			web := &Web{}
			if err := s.client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: webName}, web); err != nil {
				return err
			}
			before := web.Generation
			err := s.client.Patch(ctx, web, client.RawPatch(types.MergePatchType, []byte(body)))
			if err == nil && web.Generation == before {
				return lab.ErrUnchanged
			}
			return err
		}}
	}
	return []lab.Change{
		patch("scale-1", "scale to 1", "缩容到 1", `{"spec":{"replicas":1}}`),
		patch("scale-3", "scale to 3", "扩容到 3", `{"spec":{"replicas":3}}`),
		patch("image-new", "set image nginx:1.28", "镜像改为 nginx:1.28", `{"spec":{"image":"nginx:1.28"}}`),
		patch("image-old", "set image nginx:1.27", "镜像改为 nginx:1.27", `{"spec":{"image":"nginx:1.27"}}`),
		{ID: "delete-pod", Name: trace.Text{EN: "delete pod web-0", ZH: "删除 Pod web-0"}, Object: "Pod " + s.Namespace + "/web-0", Do: func(ctx context.Context) error {
			return s.client.Delete(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: webName + "-0"}})
		}},
	}
}
