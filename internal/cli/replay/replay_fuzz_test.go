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

package replay

import (
	"bytes"
	"io"
	"testing"

	"github.com/mycompany/pod-operator/internal/cli/kube"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// FuzzReplay reads any file as one of records: a broken one is counted or
// refused, and what can be read is decided again.
//
//	make fuzz
func FuzzReplay(f *testing.F) {
	for _, seed := range []string{
		"", "\n\n", "{", "null\n{}\n[]\n",
		`{"id":"1","controller":"podmanager","object":{"kind":"PodManager","namespace":"ns","name":"web"}}` + "\n",
		`{"id":"1","payload":{"desired":{"replicas":2},"observed":{"pods":[{"name":"web-0"}]},"decision":{},"now":"2026-01-01T00:00:00Z"}}` + "\n",
		`{"id":"1","payload":{"desired":{"replicas":-2,"update":{"maxSurge":-1}},"observed":{"pods":[null]},"decision":{"actions":[{}]}}}` + "\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if bytes.Contains(raw, []byte(`00000`)) {
			return // a fleet of millions is the planner's cost, not its reason
		}
		count := &tally{out: io.Discard, paint: kube.NewPaint(false), verbose: true}
		stats, err := flightrecorder.ReadRecords(bytes.NewReader(raw), count.take)
		if err == nil && count.same+count.other+count.blind+count.empty > bytes.Count(raw, []byte("\n"))+1 {
			t.Errorf("more records than lines: %+v, %+v", stats, count)
		}
	})
}
