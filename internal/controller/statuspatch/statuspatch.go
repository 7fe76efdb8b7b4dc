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

// Package statuspatch makes the patches that controllers write statuses with.
package statuspatch

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Between is a merge patch that carries the UID, so that it cannot land on a
// successor of the same name, but no resourceVersion: nobody else writes our
// statuses, and an edit of the spec must not cost us the record of what was
// just done.
func Between(before, after client.Object) (client.Patch, error) {
	raw, err := client.MergeFrom(before).Data(after)
	if err != nil {
		return nil, fmt.Errorf("compare the statuses of %s: %w", client.ObjectKeyFromObject(before), err)
	}
	var body map[string]any
	if err := json.Unmarshal(raw, &body); err != nil {
		return nil, fmt.Errorf("decode the status patch of %s: %w", client.ObjectKeyFromObject(before), err)
	}
	body["metadata"] = map[string]any{"uid": string(before.GetUID())}
	if raw, err = json.Marshal(body); err != nil {
		return nil, fmt.Errorf("encode the status patch of %s: %w", client.ObjectKeyFromObject(before), err)
	}
	return client.RawPatch(types.MergePatchType, raw), nil
}
