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

package migrate

import (
	"context"
	"fmt"

	kappsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Deployment adopts every ReplicaSet without an owner that it selects, and scales it
// down as an earlier revision; a ReplicaSet adopts every such pod, and deletes those that
// are too many. While a Deployment is made again, its ReplicaSet and pods have no owner.

// alone fails where another would take what a Deployment is made of, or an exported one
// would take what is another's: its selector is new.
func (r *run) alone(ctx context.Context) error {
	var own kappsv1.ReplicaSet
	if err := decode(r.Parts[1], &own); err != nil {
		return err
	}
	others, err := r.others(ctx)
	if err != nil {
		return err
	}
	for _, o := range others {
		selector, err := metav1.LabelSelectorAsSelector(o.selector)
		if err != nil {
			return fmt.Errorf("read the selector of %s: %w", o.name, err)
		}
		if selector.Matches(labels.Set(own.Labels)) || selector.Matches(labels.Set(own.Spec.Template.Labels)) {
			return fmt.Errorf("%s selects by %s and would take the pods of %s: give one of the two a label of its own first", o.name, selector, r.Workload)
		}
		if r.store.record.Export != nil && r.Selector.Matches(labels.Set(o.labels)) {
			return fmt.Errorf("%s would select by %s and take the pods of %s: give one of the two a label of its own first", r.Workload, r.Selector, o.name)
		}
	}
	return nil
}

// other is a Deployment or a ReplicaSet, as far as it may overlap.
type other struct {
	name     string
	selector *metav1.LabelSelector
	labels   map[string]string
}

// others are the Deployments of the namespace, and the ReplicaSets that belong to none.
func (r *run) others(ctx context.Context) ([]other, error) {
	var deployments kappsv1.DeploymentList
	var sets kappsv1.ReplicaSetList
	for _, list := range []client.ObjectList{&deployments, &sets} {
		if err := r.Client.List(ctx, list, client.InNamespace(r.Namespace)); err != nil {
			return nil, fmt.Errorf("look for others that select the same pods: %w", err)
		}
	}
	own := map[string]bool{}
	for _, part := range r.Parts[1:] {
		own[part.GetName()] = true // an interrupted run left it
	}
	var found []other
	for i := range deployments.Items {
		d := &deployments.Items[i]
		found = append(found, other{"deployment/" + d.Name, d.Spec.Selector, d.Spec.Template.Labels})
	}
	for i := range sets.Items {
		if rs := &sets.Items[i]; metav1.GetControllerOfNoCopy(rs) == nil && !own[rs.Name] {
			found = append(found, other{"replicaset/" + rs.Name, rs.Spec.Selector, rs.Labels})
		}
	}
	return found, nil
}
