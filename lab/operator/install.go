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
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/pod-operator/internal/install"
)

// Install installs what the operator needs, before the control plane's controllers start, so that
// the garbage collector knows the kind from the beginning.
func Install(namespace string) func(ctx context.Context, admin *rest.Config) error {
	return func(ctx context.Context, admin *rest.Config) error {
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(CRD, &crd.Object); err != nil {
			return err
		}
		if err := install.Apply(ctx, admin, []*unstructured.Unstructured{crd}); err != nil {
			return err
		}
		clients, err := kubernetes.NewForConfig(admin)
		if err != nil {
			return err
		}
		_, err = clients.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	}
}

// Await waits for the ServiceAccount that pods need.
func Await(ctx context.Context, admin *rest.Config, namespace string) error {
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return err
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, err := clients.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	})
}
