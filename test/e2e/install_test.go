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

//go:build linux

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// patience is for machines with few cores that do other things meanwhile.
const patience = 2 * time.Minute

// poll waits until check returns nil.
func poll(ctx context.Context, what string, check func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waited %s until %s: %w", patience, what, last)
	}
	return nil
}

func installOperator(ctx context.Context) error {
	objects, err := install.Render(filepath.Join(testkit.Root(), "config", "default"))
	if err != nil {
		return err
	}
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			o.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)[0].(map[string]any)["image"] = "e2e.local/pod-operator:e2e"
		}
	}
	if err := install.Apply(ctx, suite.Cluster.RESTConfig(), objects); err != nil {
		return err
	}
	return poll(ctx, "the operator is ready", func() error {
		var d kappsv1.Deployment
		key := client.ObjectKey{Namespace: testkit.OperatorNamespace, Name: testkit.OperatorServiceAccount}
		if err := suite.Client.Get(ctx, key, &d); err != nil {
			return err
		}
		if d.Status.ReadyReplicas == 0 {
			return fmt.Errorf("status: %+v", d.Status)
		}
		return nil
	})
}
