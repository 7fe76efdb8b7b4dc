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

package change

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/desired"
	"github.com/mycompany/pod-operator/internal/observe"
)

// Live reads the API server itself, with the rights of a client.
type Live struct{ client.Reader }

// Observe implements Observer. What the person may not read is named with the object that
// they asked for: the controller looks pods up by its UID, which says nothing to people.
func (l Live) Observe(ctx context.Context, fleet desired.Fleet, orphans string) (observe.Seen, error) {
	seen, err := observe.Live(ctx, l.Reader, fleet, orphans)
	var refusal *apierrors.StatusError
	if apierrors.IsForbidden(err) && errors.As(err, &refusal) {
		err = fmt.Errorf("look at %s %s/%s: %w", fleet.Ref.GVK.Kind, fleet.Ref.Namespace, fleet.Ref.Name, refusal)
	}
	return seen, err
}

// Pods implements Observer.
func (l Live) Pods(ctx context.Context, fleet desired.Fleet) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := l.List(ctx, &pods, client.InNamespace(fleet.Ref.Namespace), client.MatchingLabelsSelector{Selector: fleet.Selector}); err != nil {
		return nil, fmt.Errorf("list the pods of %s/%s: %w", fleet.Ref.Namespace, fleet.Ref.Name, err)
	}
	return pods.Items, nil
}
