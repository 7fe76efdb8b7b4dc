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

package judge

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Sites is a label of which each node has another value, from 0.
const Sites = "site"

// Probe measures how long the controllers take to follow a change, on a Deployment, a
// StatefulSet and a DaemonSet of its own, so that a slow machine is not taken for a
// workload at rest.
type Probe struct {
	world *World
	// recent are the last times, in nanoseconds.
	recent [6]atomic.Int64
	// began is when the change under way was made; 0 is none.
	began atomic.Int64
}

// Lag is the longest of the last times, or how long the one under way takes already.
func (p *Probe) Lag() time.Duration {
	longest := int64(0)
	for i := range p.recent {
		longest = max(longest, p.recent[i].Load())
	}
	if began := p.began.Load(); began > 0 {
		longest = max(longest, time.Now().UnixNano()-began)
	}
	return time.Duration(longest)
}

// StartProbe makes its workloads and keeps scaling them between no pod and one, until the
// context ends.
func (w *World) StartProbe(ctx context.Context, namespace string, deployment *kappsv1.Deployment, set *kappsv1.StatefulSet, daemons *kappsv1.DaemonSet) (*Probe, error) {
	daemons.Spec.Template.Spec.NodeSelector = map[string]string{Sites: "none"}
	if _, err := w.Clients.AppsV1().DaemonSets(namespace).Create(ctx, daemons, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	if _, err := w.Clients.AppsV1().Deployments(namespace).Create(ctx, deployment, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	if _, err := w.Clients.AppsV1().StatefulSets(namespace).Create(ctx, set, metav1.CreateOptions{}); err != nil {
		return nil, err
	}
	p := &Probe{world: w}
	cases := []*Case{w.Add(deployment.Spec.Template.Labels[Label]), w.Add(set.Spec.Template.Labels[Label]), w.Add(daemons.Spec.Template.Labels[Label])}
	sizes := []string{`{"spec":{"replicas":1}}`, `{"spec":{"replicas":0}}`}
	places := []string{`{"spec":{"template":{"spec":{"nodeSelector":{"site":"0"}}}}}`, `{"spec":{"template":{"spec":{"nodeSelector":{"site":"none"}}}}}`}
	go func() {
		for i := 0; ctx.Err() == nil; i++ {
			p.began.Store(time.Now().UnixNano())
			size := sizes[i%2]
			_, _ = w.Clients.AppsV1().Deployments(namespace).Patch(ctx, deployment.Name, types.MergePatchType, []byte(size), metav1.PatchOptions{})
			_, _ = w.Clients.AppsV1().StatefulSets(namespace).Patch(ctx, set.Name, types.MergePatchType, []byte(size), metav1.PatchOptions{})
			_, _ = w.Clients.AppsV1().DaemonSets(namespace).Patch(ctx, daemons.Name, types.MergePatchType, []byte(places[i%2]), metav1.PatchOptions{})
			_ = wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
				return !slices.ContainsFunc(cases, func(c *Case) bool { return len(c.Pods()) != 1-i%2 }), nil
			})
			p.recent[i%len(p.recent)].Store(time.Now().UnixNano() - p.began.Load())
			p.began.Store(0)
		}
	}()
	return p, nil
}
