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

package collector

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/internal/observe"
)

// A tenant decides how large objects are, and how many there are. So little is kept of
// each: of a workload its spec as JSON, which takes a small part of what it takes
// decoded, and of what is large in it a hash.

// maxField is how large a field of a large spec may be that is kept.
const maxField = 1 << 10

// tooLarge takes the place of the operator in a selector that is too large. It is none, so the
// Collector counts nothing, and says why.
const tooLarge metav1.LabelSelectorOperator = "larger than 16 KiB"

// Slim is the transform of Collectors: it keeps no large selector.
func Slim(raw any) (any, error) {
	if col, ok := raw.(*collectorv1.Collector); ok && col.Spec.Selector.Size() > observe.Large {
		col.Spec.Selector = metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "selector", Operator: tooLarge}}}
	}
	return observe.SlimMeta(raw)
}

// taken is an object of which only facts are left.
type taken struct {
	metav1.ObjectMeta
	thing thing
}

// slim takes the facts from a listed object, before a whole list of objects is in memory.
func slim(raw any) (any, error) {
	obj, ok := raw.(client.Object)
	if !ok {
		return raw, nil
	}
	return &taken{
		ObjectMeta: metav1.ObjectMeta{Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion()},
		thing:      thingOf(obj),
	}, nil
}

// thingIn is what is kept of an object that a list or a watch delivered.
func thingIn(raw any) (seen thing, ok bool) {
	switch o := raw.(type) {
	case *taken:
		return o.thing, true
	case client.Object:
		return thingOf(o), true
	}
	return thing{}, false
}

// storedSpec is a workload's spec as JSON.
type storedSpec []byte

// store makes a spec small: a large field has a hash in its place, which shows that it changed.
func store(spec any) storedSpec {
	raw, err := json.Marshal(spec)
	var fields map[string]json.RawMessage
	if err != nil || len(raw) > observe.Large && json.Unmarshal(raw, &fields) != nil {
		return storedSpec("{}") // not so of what was decoded a moment ago
	}
	if fields == nil {
		return raw
	}
	for name, value := range fields {
		if len(value) > maxField {
			sum := sha256.Sum256(value)
			fields[name] = fmt.Appendf(nil, "[%q]", base64.RawStdEncoding.EncodeToString(sum[:])) // no value to be shown
		}
	}
	raw, _ = json.Marshal(fields)
	return raw
}

// usual are an object's labels, if they are no more than anyone needs.
func usual(all labels.Set) labels.Set {
	n := 0
	for key, value := range all {
		n += len(key) + len(value)
	}
	if n > observe.Large {
		return nil
	}
	return all
}
