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

package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// owners are the PodManagers of a namespace, for one observation. They are read past
// the cache, which need not have those of other shards, and only where a pod without a
// controller names another owner: hardly ever.
type owners struct {
	live      client.Reader
	namespace string
	read      bool
	alive     map[string]bool
}

// foreign: a pod without a controller carries the UID of another owner, which may
// have released it a moment ago. The fleet adopts only a pod that an earlier owner of
// this name made, and that was released when that owner was deleted: the name of its
// revision says which owner made it, and no PodManager with that UID lives.
func (o *owners) foreign(ctx context.Context, f *desired.Fleet, pod *corev1.Pod) (bool, error) {
	for key, value := range f.Ref.Labels {
		if value != string(f.Ref.UID) {
			continue
		}
		by := pod.Labels[key]
		if by == "" || by == value {
			return false, nil
		}
		if podrender.RevisionOwner(pod.Labels[appsv1.LabelRevision]) != f.Ref.Name {
			return true, nil
		}
		return o.lives(ctx, by)
	}
	return false, nil
}

// lives reports whether a PodManager with this UID exists. A user of the command line
// who may not list them is told what the labels say, and where the kind is not installed
// there are none.
func (o *owners) lives(ctx context.Context, uid string) (bool, error) {
	if o.read {
		return o.alive[uid], nil
	}
	var list appsv1.PodManagerList
	err := o.live.List(ctx, &list, client.InNamespace(o.namespace))
	if err != nil && !apierrors.IsForbidden(err) && !meta.IsNoMatchError(err) {
		return false, fmt.Errorf("list the PodManagers of %s: %w", o.namespace, err)
	}
	o.read, o.alive = true, make(map[string]bool, len(list.Items))
	for i := range list.Items {
		o.alive[string(list.Items[i].UID)] = true
	}
	return o.alive[uid], nil
}
