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

// Package change is what a person changes of an object: the patch, what the API
// server would make of it, and what that would do to the pods. The plugin and the
// page share it, so that both change the same fields and show the same plan.
//
// A change is tried on the API server as a dry run, so it is defaulted and
// validated as it would be, with the rights of the person; the planner that the
// controller uses then plays it forward.
package change

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// Edits are changes of single fields.
type Edits struct {
	// Images are IMAGE or CONTAINER=IMAGE, as in kubectl set image.
	Images   []string
	Replicas *int32
	// Rebalance asks for a better spread of the pods, at a time, and Restart for their
	// restart.
	Rebalance, Restart time.Time
	// Content are keys of a ConfigMap or a Secret with their values.
	Content map[string][]byte
}

// onto makes the edits in an object.
func (e Edits) onto(k Kind, object *unstructured.Unstructured) error {
	if !e.Rebalance.IsZero() {
		annotations := object.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[appsv1.AnnotationRebalance] = e.Rebalance.UTC().Format(time.RFC3339)
		object.SetAnnotations(annotations)
	}
	if !e.Restart.IsZero() {
		if k.restart == nil {
			return fmt.Errorf("a restart of %s %s cannot be asked for", object.GetKind(), NameOf(object))
		}
		if err := k.restart(object, e.Restart); err != nil {
			return fmt.Errorf("restart %s %s: %w", object.GetKind(), NameOf(object), err)
		}
	}
	if len(e.Content) > 0 {
		if k.setContent == nil {
			return fmt.Errorf("%s %s has no keys to set", object.GetKind(), NameOf(object))
		}
		if err := k.setContent(object, e.Content); err != nil {
			return fmt.Errorf("set keys of %s %s: %w", object.GetKind(), NameOf(object), err)
		}
	}
	if len(e.Images) == 0 && e.Replicas == nil {
		return nil
	}
	spec, ok := object.Object["spec"].(map[string]any)
	if !ok {
		spec = map[string]any{}
		object.Object["spec"] = spec
	}
	if e.Replicas != nil && k.replicas == "" {
		return fmt.Errorf("%s %s has no number of replicas to set", object.GetKind(), NameOf(object))
	}
	if e.Replicas != nil {
		spec[k.replicas] = int64(*e.Replicas)
	}
	for _, word := range e.Images {
		if k.setImage == nil {
			return fmt.Errorf("the image of %s %s cannot be set", object.GetKind(), NameOf(object))
		}
		container, image, err := parseImage(word)
		if err != nil {
			return err
		}
		if err := k.setImage(spec, container, image); err != nil {
			return fmt.Errorf("image %s: %w", word, err)
		}
	}
	return nil
}

// Patch is the merge patch that makes the edits in a live object.
func (e Edits) Patch(k Kind, live *unstructured.Unstructured) ([]byte, error) {
	wanted := live.DeepCopy()
	if err := e.onto(k, wanted); err != nil {
		return nil, err
	}
	return difference(live, wanted)
}

// TryLive sends the edits of a live object to the API server as a dry run. It
// returns the object as it is and as it would be.
func (e Edits) TryLive(ctx context.Context, c client.Client, k Kind, object *unstructured.Unstructured) (live, changed *unstructured.Unstructured, err error) {
	live = &unstructured.Unstructured{}
	live.SetGroupVersionKind(object.GroupVersionKind())
	if err := c.Get(ctx, client.ObjectKeyFromObject(object), live); err != nil {
		return nil, nil, fmt.Errorf("read %s %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
	}
	patch, err := e.Patch(k, live)
	if err != nil {
		return nil, nil, err
	}
	changed, err = DryRun(ctx, c, live, patch)
	return live, changed, err
}

// TryFile does the same with an object of a file, and the edits on top of it. live is
// nil where the object is new.
func (e Edits) TryFile(ctx context.Context, c client.Client, k Kind, object *unstructured.Unstructured) (live, changed *unstructured.Unstructured, err error) {
	if object.GetName() == "" { // the API server completes metadata.generateName
		changed, err = e.create(ctx, c, k, object)
		return nil, changed, err
	}
	live = &unstructured.Unstructured{}
	live.SetGroupVersionKind(object.GroupVersionKind())
	err = c.Get(ctx, client.ObjectKeyFromObject(object), live)
	if apierrors.IsNotFound(err) {
		changed, err = e.create(ctx, c, k, object)
		return nil, changed, err
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read %s %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
	}
	wanted, err := applied(k, live, object)
	if err != nil {
		return nil, nil, err
	}
	if err := e.onto(k, wanted); err != nil {
		return nil, nil, err
	}
	patch, err := difference(live, wanted)
	if err != nil {
		return nil, nil, err
	}
	changed, err = DryRun(ctx, c, live, patch)
	return live, changed, err
}

func (e Edits) create(ctx context.Context, c client.Client, k Kind, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	wanted := object.DeepCopy()
	if err := e.onto(k, wanted); err != nil {
		return nil, err
	}
	if err := c.Create(ctx, wanted, client.DryRunAll); err != nil {
		return nil, fmt.Errorf("the API server would refuse %s %s/%s: %w", wanted.GetKind(), wanted.GetNamespace(), NameOf(wanted), err)
	}
	return wanted, nil
}

// NameOf is the name of an object, or what it will begin with.
func NameOf(object *unstructured.Unstructured) string {
	if name := object.GetName(); name != "" {
		return name
	}
	return object.GetGenerateName() + "*"
}

// applied is what kubectl apply would make of a live object.
func applied(k Kind, live, file *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	current, err := json.Marshal(live)
	if err != nil {
		return nil, err
	}
	modified, err := json.Marshal(file)
	if err != nil {
		return nil, err
	}
	last := []byte(live.GetAnnotations()[corev1.LastAppliedConfigAnnotation])
	wanted := &unstructured.Unstructured{}
	if k.typed != nil {
		merged, err := k.merge(last, modified, current)
		if err != nil {
			return nil, err
		}
		return wanted, wanted.UnmarshalJSON(merged)
	}
	patch, err := applyPatch(last, modified, current)
	if err != nil {
		return nil, err
	}
	merged, err := jsonpatch.MergePatch(current, patch)
	if err != nil {
		return nil, fmt.Errorf("merge the change into the live object: %w", err)
	}
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

// difference is the merge patch from one object to another.
func difference(from, to *unstructured.Unstructured) ([]byte, error) {
	before, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	after, err := json.Marshal(to)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, fmt.Errorf("compare the change with the live object: %w", err)
	}
	return patch, nil
}

// DryRun is what the API server would make of a live object with a merge patch.
func DryRun(ctx context.Context, c client.Client, live *unstructured.Unstructured, patch []byte) (*unstructured.Unstructured, error) {
	changed := live.DeepCopy()
	if err := c.Patch(ctx, changed, client.RawPatch(types.MergePatchType, patch), client.DryRunAll); err != nil {
		return nil, fmt.Errorf("the API server would refuse %s %s: %w", live.GetKind(), client.ObjectKeyFromObject(live), err)
	}
	return changed, nil
}
