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

package v1

import (
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/shard"
)

// FuzzAdmission: for any PodManager, also one that the schema would refuse,
// admission prepares it and names the field that a complaint is about, and does
// not panic.
//
//	make fuzz
func FuzzAdmission(f *testing.F) {
	for _, seed := range []struct{ object, field string }{
		{`{"metadata":{"name":"web"},"spec":{"image":"nginx"}}`, "spec.containers[0].image"},
		{`{"spec":{"image":"nginx","template":{"spec":{"containers":[{"name":"side"},{"name":"app"}]}}}}`, "spec.containers[1].image"},
		{`{"spec":{"image":"nginx","template":{"spec":{"containers":[]}}}}`, "spec.containers[99999999999999999999].image"},
		{`{"metadata":{"labels":{"apps.mycompany.com/shard":"x"},"finalizers":["a","a"]},"spec":{"volumeClaimTemplates":[{}]}}`, ""},
	} {
		f.Add([]byte(seed.object), seed.field)
	}
	f.Fuzz(func(t *testing.T, raw []byte, field string) {
		var pm appsv1.PodManager
		if json.Unmarshal(raw, &pm) != nil {
			return
		}
		if got := podPath(&pm)(field); !strings.HasPrefix(got, "spec.") {
			t.Errorf("the field %q of a pod comes from %q, which is not in the spec", field, got)
		}
		if got := claimPath(&pm)(field, field); !strings.HasPrefix(got, "spec.volumeClaimTemplates[") {
			t.Errorf("the field %q of a claim comes from %q", field, got)
		}
		_ = checkSize(&pm) // an answer, whichever
		prepare(nil, &pm.ObjectMeta, nil)
		before := len(pm.Finalizers)
		prepare(nil, &pm.ObjectMeta, nil)
		if len(pm.Finalizers) != before {
			t.Error("preparing twice is not preparing once")
		}
		for shards := 1; shards < 5; shards++ {
			meta := pm.ObjectMeta.DeepCopy()
			keepShard(shards, meta, nil)
			if n := shard.Of(meta.Namespace, meta.Name, shards); n < 0 || n >= shards {
				t.Errorf("shard %d of %d", n, shards)
			}
			if meta.Labels[appsv1.LabelShard] == "" {
				t.Error("a new object has no shard")
			}
			keepShard(shards, &metav1.ObjectMeta{}, meta)
		}
	})
}
