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

package flightrecorder

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// decided is a payload as the operator writes it.
func decided(i int) json.RawMessage {
	var actions []string
	for j := range 5 {
		actions = append(actions, fmt.Sprintf(`{"type":"Create","pod":"podmanager-%d-%d","slot":"%d","why":{"rule":"scale-up","message":"%d pods of 5: <one> more is wanted"}}`, i%2000, j, j, j))
	}
	return json.RawMessage(`{"decision":{"actions":[` + strings.Join(actions, ",") + `]}}`)
}

func TestAPackedRecordIsWhatItWas(t *testing.T) {
	rec := newRecorder(t, Config{MaxBytes: 1 << 20})
	want := map[uint64]*Record{}
	const kept = 300
	for i := range kept {
		r := full(i)
		r.Payload = decided(i)
		rec.keep(r)
		want[r.Seq] = r
	}
	packed := 0
	for e := rec.store.oldest; e != nil; e = e.newer {
		if e.packed != nil {
			packed++
		}
	}
	got := rec.Query(Query{Limit: -1})
	if len(got) != kept || packed < kept/2 || packed == kept {
		t.Fatalf("%d of %d records found, %d of them packed", len(got), kept, packed)
	}
	for _, r := range got {
		if diff := cmp.Diff(want[r.Seq], r); diff != "" {
			t.Fatalf("record %d (-want +got):\n%s", r.Seq, diff)
		}
	}
	one := want[7]
	if found, ok := rec.Get(one.ID); !ok || cmp.Diff(one, found) != "" {
		t.Errorf("by its ID: %v, want %v", found, one)
	}
	if found := rec.Query(Query{Namespace: one.Object.Namespace, Name: one.Object.Name}); len(found) != 1 || cmp.Diff(one, found[0]) != "" {
		t.Errorf("by its name: %v, want %v", found, one)
	}
}

// TestPackingKeepsMore: of the same records within the same budget.
func TestPackingKeepsMore(t *testing.T) {
	const budget = 1 << 20
	count := func(maxLoose int) (records, looseBytes int) {
		s := newStore(budget, 1000, func() int { return 0 })
		s.maxLoose = maxLoose
		for i := range 5000 {
			r := full(i)
			r.Payload = decided(i)
			s.add(r)
		}
		if s.bytes > budget {
			t.Errorf("%d bytes of %d", s.bytes, budget)
		}
		return s.records, s.looseBytes
	}
	loose, _ := count(budget)
	packed, left := count(budget / 8)
	t.Logf("%d records, %d without packing", packed, loose)
	if packed < 2*loose {
		t.Errorf("%d records, %d without packing", packed, loose)
	}
	if left > budget/8 {
		t.Errorf("%d bytes are not packed", left)
	}
}

// TestAPayloadIsPackedAsItIs, although it may be no JSON, or none that Go would write.
func TestAPayloadIsPackedAsItIs(t *testing.T) {
	p := &packer{}
	for _, payload := range []string{``, `{"cut short`, `{"a":"<b>"}`, "{\n\"a\": 1\n}\n", strings.Repeat("x", 200_000)} {
		r := full(3)
		r.Payload = json.RawMessage(payload)
		packed, ok := p.pack(r)
		if !ok {
			t.Fatalf("%.20q was not packed", payload)
		}
		got, err := unpack(packed)
		if err != nil || string(got.Payload) != payload {
			t.Errorf("%.20q became %.20q, %v", payload, got.Payload, err)
		}
	}
}

// TestTheBytesAreCountedRight, however records come and go.
func TestTheBytesAreCountedRight(t *testing.T) {
	s := newStore(200<<10, 4, func() int { return 0 })
	for i := range 3000 {
		r := full(i)
		r.Object.Name = fmt.Sprintf("pm-%d", i*i%97)
		s.add(r)
	}
	bytes, looseBytes, records, loose := 0, 0, 0, false
	for e := s.oldest; e != nil; e = e.newer {
		loose = loose || e == s.loose
		bytes += e.size
		if loose {
			looseBytes += e.size
		}
		records++
	}
	bytes += len(s.objects) * objectOverhead
	if bytes != s.bytes || looseBytes != s.looseBytes || records != s.records {
		t.Errorf("counted %d bytes, %d of them loose, in %d records; the store says %d, %d, %d",
			bytes, looseBytes, records, s.bytes, s.looseBytes, s.records)
	}
}

func BenchmarkPack(b *testing.B) {
	r := full(5)
	r.Payload = decided(5)
	p := &packer{}
	for b.Loop() {
		if _, ok := p.pack(r); !ok {
			b.Fatal("it was not packed")
		}
	}
	packed, _ := p.pack(r)
	b.ReportMetric(float64(r.bytes())/float64(len(packed)), "times-smaller")
}
