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
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func recordFor(name string) *Record {
	return &Record{
		ID: "test-" + name, Controller: "podmanager", Outcome: OutcomeSuccess,
		Object: ObjectRef{Kind: "PodManager", Namespace: "shop", Name: name},
	}
}

func seqs(records []*Record) []uint64 {
	var s []uint64
	for _, r := range records {
		s = append(s, r.Seq)
	}
	return s
}

func TestEachObjectKeepsItsNewestRecords(t *testing.T) {
	rec := newRecorder(t, Config{RecordsPerObject: 3})
	for range 10 {
		rec.keep(recordFor("busy"))
	}
	rec.keep(recordFor("quiet"))
	for range 10 {
		rec.keep(recordFor("busy"))
	}
	if diff := cmp.Diff([]uint64{21, 20, 19}, seqs(rec.Query(Query{Namespace: "shop", Name: "busy"}))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]uint64{21, 20, 19, 11}, seqs(rec.Query(Query{}))); diff != "" {
		t.Error(diff)
	}
	if s := rec.Stats(); s.Records != 4 || s.Objects != 2 || s.Evicted != 17 {
		t.Errorf("stats: %+v", s)
	}
}

// A namespace with much going on pushes out its own records, and not those of others.
func TestTheBudgetIsSharedByNamespace(t *testing.T) {
	rec := newRecorder(t, Config{MaxBytes: 256 << 10})
	in := func(namespace, name string) *Record {
		r := recordFor(name)
		r.Object.Namespace = namespace
		return r
	}
	for i := range 5 {
		rec.keep(in("victim", fmt.Sprintf("web-%d", i)))
	}
	for i := range 5000 {
		rec.keep(in("noise", fmt.Sprintf("pm-%d", i%1000)))
	}
	if found := rec.Query(Query{Namespace: "victim"}); len(found) != 5 {
		t.Errorf("%d of 5 records are left beside a noisy namespace", len(found))
	}
	if s := rec.Stats(); s.Bytes > 256<<10 || s.Records < 100 {
		t.Errorf("stats: %+v", s)
	}
	for i := range 5000 { // now the other is the one with most
		rec.keep(in("victim", fmt.Sprintf("web-%d", i%1000)))
	}
	victim, noise := len(rec.Query(Query{Namespace: "victim", Limit: -1})), len(rec.Query(Query{Namespace: "noise", Limit: -1}))
	if victim < noise-1 || victim > noise+1 {
		t.Errorf("%d and %d records of two busy namespaces, want an equal share", victim, noise)
	}
}

func TestTheBudgetTakesTheOldest(t *testing.T) {
	rec := newRecorder(t, Config{MaxBytes: 256 << 10})
	for i := range 5000 {
		rec.keep(recordFor(fmt.Sprintf("pm-%d", i%100)))
	}
	s := rec.Stats()
	if s.Bytes > 256<<10 || s.Records < 100 || s.Records+int(s.Evicted) != 5000 {
		t.Errorf("stats: %+v", s)
	}
	all := rec.Query(Query{Limit: -1})
	if len(all) != s.Records {
		t.Errorf("%d found, %d kept", len(all), s.Records)
	}
	for i, r := range all {
		if r.Seq != uint64(5000-i) {
			t.Fatalf("record %d has number %d", i, r.Seq)
		}
	}

	rec.keep(&Record{Controller: "podmanager", Object: ObjectRef{Name: "huge"}, Payload: make([]byte, 1<<20)})
	if after := rec.Stats(); after.Records != s.Records || after.Objects != s.Objects || after.Bytes != s.Bytes {
		t.Errorf("a record larger than the budget left %+v of %+v", after, s)
	}
}

// full is a record as a rollout makes it: all its strings its own, as decoded from the network.
func full(i int) *Record {
	own := func(format string, a ...any) string { return strings.Clone(fmt.Sprintf(format, a...)) }
	r := &Record{
		ID: own("a1b2c3d4-%d", i), Controller: "podmanager", Start: time.Now(), Outcome: OutcomeSuccess,
		ReconcileID: own("0f6e4f1c-%08d-4a4c-9d57-aaaaaaaaaaaa", i),
		Object:      ObjectRef{APIVersion: "apps.mycompany.com/v1", Kind: "PodManager", Namespace: own("namespace-%d", i%50), Name: own("podmanager-%d", i%2000)},
	}
	for j := range 1 + i%4 {
		r.Triggers = append(r.Triggers, Trigger{
			Kind: TriggerUpdate, Time: time.Now(), ResourceVersion: own("%d", 1000000+i),
			Object: &ObjectRef{APIVersion: "v1", Kind: "Pod", Namespace: own("namespace-%d", i%50), Name: own("podmanager-%d-%d", i, j), UID: types.UID(own("uid-%030d", i))},
			Changes: []Change{{Manager: "kubelet", Operation: "Update", Subresource: "status", Fields: []string{
				own("status.conditions[Ready].status %d", i), own("status.phase %d", i),
			}}},
		})
	}
	for j := range i % 6 {
		r.Writes = append(r.Writes, Write{
			Verb: "create", Code: 201, Start: time.Now(), ResourceVersion: own("%d", 2000000+i),
			Object: ObjectRef{APIVersion: "v1", Kind: "Pod", Namespace: own("namespace-%d", i%50), Name: own("podmanager-%d-%d", i, j), UID: types.UID(own("uid-%030d", i))},
		})
	}
	r.Payload = json.RawMessage(own(`{"decision":"%s"}`, strings.Repeat("x", i*37%2048)))
	return r
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

func mib(n int) float64 { return float64(n) / (1 << 20) }

func TestQueriesSelect(t *testing.T) {
	rec := newRecorder(t, Config{})
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pod := ObjectRef{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "web-0", UID: "u1"}
	for i, change := range []func(*Record){
		func(r *Record) { r.Triggers = []Trigger{{Object: &pod}} },
		func(r *Record) { r.Writes = []Write{{Verb: "delete", Object: pod}} },
		func(r *Record) { r.Object.Name, r.Outcome = "api", OutcomeError },
		func(r *Record) { r.Object.Namespace, r.Controller = "", "node"; r.Object.Kind = "Node" },
		func(r *Record) { r.Controller = "other" },
	} {
		r := recordFor("web")
		r.ID = fmt.Sprintf("test-%d", i+1)
		r.Start = start.Add(time.Duration(i) * time.Minute)
		change(r)
		rec.keep(r)
	}
	cases := map[string]struct {
		query Query
		want  []uint64
	}{
		"everything, newest first":              {Query{}, []uint64{5, 4, 3, 2, 1}},
		"no more than the limit":                {Query{Limit: 2}, []uint64{5, 4}},
		"the page before":                       {Query{Limit: 2, Before: 4}, []uint64{3, 2}},
		"an object of any controller":           {Query{Namespace: "shop", Name: "web"}, []uint64{5, 2, 1}},
		"an object of one controller":           {Query{Namespace: "shop", Name: "web", Controller: "podmanager"}, []uint64{2, 1}},
		"an object, limited":                    {Query{Namespace: "shop", Name: "web", Limit: 1}, []uint64{5}},
		"a cluster-scoped object":               {Query{Name: "web"}, []uint64{4}},
		"a namespace":                           {Query{Namespace: "shop"}, []uint64{5, 3, 2, 1}},
		"a kind":                                {Query{Kind: "Node"}, []uint64{4}},
		"a controller":                          {Query{Controller: "other"}, []uint64{5}},
		"from a time on, up to another":         {Query{Since: start.Add(time.Minute), Until: start.Add(3 * time.Minute)}, []uint64{3, 2}},
		"failures":                              {Query{Outcomes: []Outcome{OutcomeError, OutcomePanic}}, []uint64{3}},
		"those that wrote":                      {Query{WithWrites: true}, []uint64{2}},
		"those that a pod was part of":          {Query{Touching: &ObjectRef{Kind: "Pod", Namespace: "shop", Name: "web-0"}}, []uint64{2, 1}},
		"another pod of that name was part of":  {Query{Touching: &ObjectRef{Kind: "Pod", Namespace: "shop", Name: "web-0", UID: "u2"}}, nil},
		"another kind of that name was part of": {Query{Touching: &ObjectRef{Kind: "Job", Namespace: "shop", Name: "web-0"}}, nil},
		"an object that was never recorded":     {Query{Namespace: "shop", Name: "none"}, nil},
		"an object in a namespace it is not in": {Query{Namespace: "farm", Name: "web"}, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, seqs(rec.Query(c.query))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if r, ok := rec.Get("test-3"); !ok || r.Object.Name != "api" {
		t.Errorf("got %v, %v", r, ok)
	}
	if _, ok := rec.Get("test-9"); ok {
		t.Error("found what is not there")
	}
}

func TestASubscriptionMissesNothingAndRepeatsNothing(t *testing.T) {
	rec := newRecorder(t, Config{RecordsPerObject: 10_000})
	const total = MaxSubscriptionBuffer // unread records are kept, and not dropped
	some := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range total {
			if i == total/10 {
				close(some)
			}
			rec.keep(recordFor("web"))
		}
	})
	<-some
	sub, backlog := rec.Subscribe(Query{Limit: total}, MaxSubscriptionBuffer)
	defer sub.Close()
	next := uint64(1)
	for i := len(backlog) - 1; i >= 0; i-- {
		if backlog[i].Seq != next {
			t.Fatalf("backlog has %d, want %d", backlog[i].Seq, next)
		}
		next++
	}
	for next <= total {
		if r := <-sub.C; r.Seq != next {
			t.Fatalf("stream has %d, want %d", r.Seq, next)
		}
		next++
	}
	wg.Wait()
	if n := sub.Dropped(); n != 0 {
		t.Errorf("%d were dropped", n)
	}
}

func TestASlowSubscriberDoesNotBlockTheRecorder(t *testing.T) {
	rec := newRecorder(t, Config{})
	sub, _ := rec.Subscribe(Query{Controller: "podmanager", Limit: -1}, 2)
	for range 5 {
		rec.keep(recordFor("web"))
	}
	rec.keep(&Record{Controller: "other"})
	if sub.Dropped() != 3 || rec.Stats().StreamDrops != 3 || rec.Stats().Subscribers != 1 {
		t.Errorf("dropped %d, stats %+v", sub.Dropped(), rec.Stats())
	}
	sub.Close()
	sub.Close()
	var got []*Record
	for r := range sub.C {
		got = append(got, r)
	}
	if diff := cmp.Diff([]uint64{1, 2}, seqs(got)); diff != "" {
		t.Error(diff)
	}
	rec.keep(recordFor("web")) // after Close: no panic
}

// A reader may stand on a record that is evicted under it.
func TestReadersAndWritersDoNotDisturbEachOther(t *testing.T) {
	rec := newRecorder(t, Config{MaxBytes: 1 << 20, RecordsPerObject: 5})
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for i := range 5000 {
				rec.keep(recordFor(fmt.Sprintf("pm-%d-%d", w, i%700)))
			}
		})
	}
	for range 50 {
		last := ^uint64(0)
		for _, r := range rec.Query(Query{Limit: -1}) {
			if r.Seq >= last {
				t.Fatalf("%d after %d", r.Seq, last)
			}
			last = r.Seq
		}
	}
	wg.Wait()
}

func TestRecordsSurviveJSON(t *testing.T) {
	want := full(5)
	want.QueueWait, want.Duration = Duration(1500*time.Microsecond), Duration(2*time.Second)
	want.Triggers[0].Delay = Duration(time.Minute)
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), `"queueWaitMs":1.5`) || !strings.Contains(string(raw), `"durationMs":2000`) {
		t.Errorf("durations are not in milliseconds: %s", raw)
	}
	got := &Record{}
	if err := json.Unmarshal(raw, got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var d Duration
	if err := json.Unmarshal([]byte(`"1s"`), &d); err == nil {
		t.Error("text was taken for milliseconds")
	}
}
