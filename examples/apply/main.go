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

// Command apply writes a PodManager with server-side apply, through the
// generated clientset and apply configurations of pkg/client.
//
// Look at who owns which field. An apply configuration has pointers where the
// type has values, so it says what it wants and is silent about the rest. Two
// appliers get along until they want the same field; then one is told, and has
// to give way or to force it.
package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/examples/internal/demo"
	applyv1 "github.com/mycompany/pod-operator/pkg/client/applyconfiguration/apps/v1"
	"github.com/mycompany/pod-operator/pkg/client/clientset/versioned"
)

func main() { demo.Main(run) }

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	client, err := versioned.NewForConfig(cfg)
	if err != nil {
		return err
	}
	fleets := client.AppsV1().PodManagers(namespace)
	apply := func(who string, force bool, spec *applyv1.PodManagerSpecApplyConfiguration) error {
		fleet, err := fleets.Apply(ctx, applyv1.PodManager("fleet", namespace).WithSpec(spec), metav1.ApplyOptions{FieldManager: who, Force: force})
		if err != nil {
			return err
		}
		fmt.Printf("%s applied: replicas %d, image %s, strategy %s\n", who, *fleet.Spec.Replicas, fleet.Spec.Image, fleet.Spec.Update.Strategy)
		return nil
	}

	if err := apply("team", false, applyv1.PodManagerSpec().WithImage("nginx:1.27").WithReplicas(2)); err != nil {
		return err
	}
	// The autoscaler wants the replicas. They are the team's.
	scale := applyv1.PodManagerSpec().WithReplicas(4)
	err = apply("autoscaler", false, scale)
	if !apierrors.IsConflict(err) {
		return fmt.Errorf("wanted a conflict, got %w", err)
	}
	fmt.Println("autoscaler was refused:", err)
	if err := apply("autoscaler", true, scale); err != nil {
		return err
	}
	// The team goes on without the replicas, and they stay as they are.
	recreate := applyv1.PodManagerSpec().WithImage("nginx:1.28").WithUpdate(applyv1.Update().WithStrategy(appsv1.UpdateRecreate))
	if err := apply("team", false, recreate); err != nil {
		return err
	}
	// What its only owner no longer mentions goes back to its default.
	return apply("team", false, applyv1.PodManagerSpec().WithImage("nginx:1.28"))
}
