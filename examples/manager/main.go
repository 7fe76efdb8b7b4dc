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

// Command manager makes a controller-runtime manager and reads through its
// clients. There is no controller in it yet.
//
// Look at the requests that a read costs. The manager's client reads from
// caches, which it fills by one watch per kind on the first read; writes go to
// the API server. Three things bypass the caches: the API reader, a kind that
// is named in DisableFor, and a namespace that the cache was not given, which
// is refused.
package main

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/examples/internal/demo"
)

func main() { demo.Main(run) }

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	cfg, requests := demo.Counted(cfg)
	// The scheme says which Go type is which kind. What is not in it cannot be
	// read into a Go type.
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, appsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	mgr, err := ctrl.NewManager(cfg, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		Client:  client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
	})
	if err != nil {
		return err
	}
	objects := []client.Object{
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "plain"}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "plain"}},
		&appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Name: "plain"}, Spec: appsv1.PodManagerSpec{Image: "nginx:1.27"}},
	}
	return demo.While(ctx, mgr, func(ctx context.Context) error {
		for _, object := range objects {
			object.SetNamespace(namespace)
			if err := mgr.GetClient().Create(ctx, object); err != nil {
				return err
			}
		}
		for _, read := range []struct {
			what   string
			from   client.Reader
			object client.Object
		}{
			{"a ConfigMap, the first time", mgr.GetClient(), &corev1.ConfigMap{}},
			{"a ConfigMap, from the cache", mgr.GetClient(), &corev1.ConfigMap{}},
			{"a ConfigMap, from the API reader", mgr.GetAPIReader(), &corev1.ConfigMap{}},
			{"a PodManager, the first time", mgr.GetClient(), &appsv1.PodManager{}},
			{"a PodManager, from the cache", mgr.GetClient(), &appsv1.PodManager{}},
			{"a Secret, never cached", mgr.GetClient(), &corev1.Secret{}},
			{"a Secret, never cached, again", mgr.GetClient(), &corev1.Secret{}},
		} {
			sent, err := requests.Since(func() error {
				return read.from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "plain"}, read.object)
			})
			if err != nil {
				return fmt.Errorf("read %s: %w", read.what, err)
			}
			fmt.Printf("%-34s %d requests\n", read.what+":", sent)
		}
		err := mgr.GetClient().Get(ctx, client.ObjectKey{Namespace: "kube-system", Name: "plain"}, &corev1.ConfigMap{})
		fmt.Println("another namespace, refused:", err)
		return nil
	})
}
