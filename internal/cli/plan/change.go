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

package plan

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// edits are the changes that flags make.
type edits struct {
	images   []string
	replicas *int32
}

// onto makes the edits in an object.
func (e edits) onto(k kind, object *unstructured.Unstructured) error {
	if len(e.images) == 0 && e.replicas == nil {
		return nil
	}
	spec, ok := object.Object["spec"].(map[string]any)
	if !ok {
		spec = map[string]any{}
		object.Object["spec"] = spec
	}
	if e.replicas != nil {
		spec[k.replicas] = int64(*e.replicas)
	}
	for _, word := range e.images {
		if k.setImage == nil {
			return fmt.Errorf("--set-image: the image of %s %s cannot be set", object.GetKind(), nameOf(object))
		}
		container, image, err := parseImage(word)
		if err != nil {
			return err
		}
		if err := k.setImage(spec, container, image); err != nil {
			return fmt.Errorf("--set-image %s: %w", word, err)
		}
	}
	return nil
}

// try sends a request to the API server as a dry run. It returns the object as
// it is, or nil where it is new, and as it would be.
func (e edits) try(ctx context.Context, c client.Client, r request) (live, changed *unstructured.Unstructured, err error) {
	if r.object.GetName() == "" { // the API server completes metadata.generateName
		changed, err = e.create(ctx, c, r)
		return nil, changed, err
	}
	live = &unstructured.Unstructured{}
	live.SetGroupVersionKind(r.object.GroupVersionKind())
	err = c.Get(ctx, client.ObjectKeyFromObject(r.object), live)
	if apierrors.IsNotFound(err) && r.source != "" {
		changed, err = e.create(ctx, c, r)
		return nil, changed, err
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read %s %s: %w", r.object.GetKind(), client.ObjectKeyFromObject(r.object), err)
	}
	wanted := live.DeepCopy()
	if r.source != "" {
		if wanted, err = applied(live, r.object); err != nil {
			return nil, nil, err
		}
	}
	if err := e.onto(r.kind, wanted); err != nil {
		return nil, nil, err
	}
	changed, err = patched(ctx, c, live, wanted)
	return live, changed, err
}

func (e edits) create(ctx context.Context, c client.Client, r request) (*unstructured.Unstructured, error) {
	wanted := r.object.DeepCopy()
	if err := e.onto(r.kind, wanted); err != nil {
		return nil, err
	}
	if err := c.Create(ctx, wanted, client.DryRunAll); err != nil {
		return nil, fmt.Errorf("the API server would refuse %s %s/%s: %w", wanted.GetKind(), wanted.GetNamespace(), nameOf(wanted), err)
	}
	return wanted, nil
}

// applied is what kubectl apply would make of a live object.
func applied(live, file *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	current, err := json.Marshal(live)
	if err != nil {
		return nil, err
	}
	modified, err := json.Marshal(file)
	if err != nil {
		return nil, err
	}
	patch, err := applyPatch([]byte(live.GetAnnotations()[corev1.LastAppliedConfigAnnotation]), modified, current)
	if err != nil {
		return nil, err
	}
	merged, err := jsonpatch.MergePatch(current, patch)
	if err != nil {
		return nil, fmt.Errorf("merge the change into the live object: %w", err)
	}
	wanted := &unstructured.Unstructured{}
	return wanted, wanted.UnmarshalJSON(merged)
}

// applyPatch is the patch that kubectl apply would send: fields that the file
// had when it was last applied and no longer has go away, fields that it never
// had stay.
func applyPatch(last, modified, current []byte) ([]byte, error) {
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(last, modified, current)
	if err != nil {
		return nil, fmt.Errorf("compare the change with the live object: %w", err)
	}
	return patch, nil
}

// patched is what the API server would make of a live object.
func patched(ctx context.Context, c client.Client, live, wanted *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	before, err := json.Marshal(live)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(wanted)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, fmt.Errorf("compare the change with the live object: %w", err)
	}
	changed := live.DeepCopy()
	if err := c.Patch(ctx, changed, client.RawPatch(types.MergePatchType, patch), client.DryRunAll); err != nil {
		return nil, fmt.Errorf("the API server would refuse %s %s: %w", live.GetKind(), client.ObjectKeyFromObject(live), err)
	}
	return changed, nil
}
