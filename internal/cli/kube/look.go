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
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	"github.com/mycompany/pod-operator/internal/change"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/plan"
	"github.com/mycompany/pod-operator/internal/report"
)

// Sight is one look at a fleet. All that a verb prints about it comes from this look.
type Sight struct {
	report.Snapshot
	Now      time.Time
	Desired  plan.Desired
	Observed plan.Observed
	Decision plan.Decision
}

// NewSight decides about what was observed, as the controller would.
func NewSight(desired plan.Desired, observed plan.Observed, now time.Time) Sight {
	decision := plan.Plan(desired, observed, now)
	return Sight{
		Snapshot: report.Look(desired, observed, decision, now),
		Now:      now, Desired: desired, Observed: observed, Decision: decision,
	}
}

// Look sees a PodManager's fleet, live.
func Look(ctx context.Context, c client.Client, pm *appsv1.PodManager) (Sight, error) {
	fleet, seen, err := Observe(ctx, c, pm)
	if err != nil {
		return Sight{}, err
	}
	return NewSight(fleet.Desired, seen.Observed, time.Now()), nil
}

// LookAt sees the fleet that a word names: of a PodManager or an ImoocPod, or of
// the one that a pod belongs to. An ImoocPod comes as a PodManager with its name, its
// replicas and its status. kind is what it is.
func (s *Session) LookAt(ctx context.Context, c client.Client, word string) (pm *appsv1.PodManager, kind string, sight Sight, err error) {
	ref, err := ParseRef(word, PodManagers, Pods, ImoocPods)
	if err != nil {
		return nil, "", Sight{}, err
	}
	namespace, err := s.Namespace()
	if err != nil {
		return nil, "", Sight{}, err
	}
	key := client.ObjectKey{Namespace: namespace, Name: ref.Name}
	if ref.Kind == Pods.Kind {
		pod := &corev1.Pod{}
		if err := c.Get(ctx, key, pod); err != nil {
			return nil, "", Sight{}, fmt.Errorf("read pod %s: %w", key, err)
		}
		if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == ImoocPods.Kind.Kind {
			ref.Kind, key.Name = ImoocPods.Kind, owner.Name
		}
	}
	if ref.Kind == ImoocPods.Kind {
		pm, sight, err = lookAtImoocPod(ctx, c, key)
		return pm, ref.Kind.Kind, sight, err
	}
	if pm, err = s.Get(ctx, c, word); err != nil {
		return nil, "", Sight{}, err
	}
	sight, err = Look(ctx, c, pm)
	return pm, PodManagers.Kind.Kind, sight, err
}

func lookAtImoocPod(ctx context.Context, c client.Client, key client.ObjectKey) (*appsv1.PodManager, Sight, error) {
	ip := &batchv1alpha1.ImoocPod{}
	if err := c.Get(ctx, key, ip); err != nil {
		return nil, Sight{}, fmt.Errorf("read ImoocPod %s: %w", key, err)
	}
	kind := desired.ImoocPodKind{}
	fleet := kind.Fleet(ip)
	fleet.Status = kind.Status(ip)
	seen, err := change.Live{Reader: c}.Observe(ctx, fleet, batchv1alpha1.LabelName)
	if err != nil {
		return nil, Sight{}, err
	}
	pm := &appsv1.PodManager{ObjectMeta: ip.ObjectMeta, Status: fleet.Status}
	pm.Spec.Replicas = ip.Spec.Replicas
	return pm, NewSight(fleet.Desired, seen.Observed, time.Now()), nil
}
