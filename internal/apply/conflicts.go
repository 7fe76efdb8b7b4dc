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

package apply

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// explain finds out what a conflict means. Where the object was changed since it
// was read, the next look waits until the cache shows that: with a cache that is
// behind, the same write would meet the same conflict. Where it still has the
// version that was sent, it is an admission webhook that answers so, and it will
// again. obj has the key and the UID of what was written, and is overwritten.
func (r *run) explain(ctx context.Context, obj client.Object, sent string, err error) error {
	uid := obj.GetUID()
	if !apierrors.IsConflict(err) || r.live.Get(ctx, client.ObjectKeyFromObject(obj), obj) != nil || obj.GetUID() != uid {
		return err
	}
	if obj.GetResourceVersion() == sent {
		return &feignedConflictError{err}
	}
	// A pod that is not ours is not among those that the cache is asked for.
	if _, claim := obj.(*corev1.PersistentVolumeClaim); claim || r.controls(obj) {
		r.ledger.Wrote(r.target.Ref.UID, obj)
	}
	return err
}

// feignedConflictError: a conflict with an object that has not changed.
type feignedConflictError struct{ error }

// Unwrap returns the API server's answer.
func (e *feignedConflictError) Unwrap() error { return e.error }
