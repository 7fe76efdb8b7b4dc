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

package nativewhy

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// writer is a field manager: a client that owns fields of an object.
type writer struct {
	name, subresource string
	applies           bool
	// at is when it last changed one of its fields.
	at time.Time
	// fields are those that it owns, in the words of diff.
	fields []string
}

// writers are the field managers of an object.
func writers(meta *metav1.ObjectMeta) []writer {
	var found []writer
	for _, entry := range meta.ManagedFields {
		if entry.FieldsV1 == nil {
			continue
		}
		set := fieldpath.NewSet()
		if set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())) != nil {
			continue // its owner is then one of those that are not recorded
		}
		w := writer{name: entry.Manager, subresource: entry.Subresource, applies: entry.Operation == metav1.ManagedFieldsOperationApply}
		if entry.Time != nil {
			w.at = entry.Time.Time
		}
		set.Leaves().Iterate(func(path fieldpath.Path) { w.fields = append(w.fields, word(path)) })
		found = append(found, w)
	}
	return found
}

// word writes a path as diff does: spec.template.spec.containers[app].image.
func word(path fieldpath.Path) string {
	var out strings.Builder
	for _, element := range path {
		switch {
		case element.FieldName != nil:
			if out.Len() > 0 {
				out.WriteByte('.')
			}
			out.WriteString(*element.FieldName)
		case element.Key != nil:
			var keys []string
			for _, k := range *element.Key {
				keys = append(keys, plain(k.Value))
			}
			out.WriteString("[" + strings.Join(keys, ",") + "]")
		case element.Value != nil:
			out.WriteString("[" + plain(*element.Value) + "]")
		case element.Index != nil:
			out.WriteString("[" + strconv.Itoa(*element.Index) + "]")
		}
	}
	return out.String()
}

func plain(v value.Value) string {
	if v.IsString() {
		return v.AsString()
	}
	return value.ToString(v)
}

// owns reports whether it owns the field, a part of it, or the whole that it is
// a part of.
func (w *writer) owns(field string) bool {
	return slices.ContainsFunc(w.fields, func(owned string) bool { return within(owned, field) || within(field, owned) })
}

func within(part, whole string) bool {
	rest, ok := strings.CutPrefix(part, whole)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func (w *writer) String() string {
	if w.subresource != "" {
		return fmt.Sprintf("%s (%s)", w.name, w.subresource)
	}
	return w.name
}

// Field managers write their times in whole seconds, and a controller takes a
// moment to act.
const (
	clockStep = time.Second
	reaction  = 10 * time.Second
)

// follows reports whether what a controller did at a time came from a write.
func follows(done, write time.Time) bool {
	after := done.Sub(write)
	return after >= -clockStep && after <= reaction
}
