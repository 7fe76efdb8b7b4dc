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

package shards

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// make bench-shards sets it: the figures of docs/sharding.md take minutes.
var measure = flag.Bool("measure", false, "measure what shards cost and save, and write the tables of docs/sharding.md")

const (
	measuredShards     = 32
	measuredNamespaces = 200
	measuredFleets     = 3 // in each
)

// spent is what a process has used.
type spent struct {
	cpu  time.Duration
	rss  int64
	read int64
}

func (o *operator) spent(t *testing.T) spent {
	t.Helper()
	usage, err := o.Usage()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", o.PID()))
	if err != nil {
		t.Fatal(err)
	}
	var read int64
	for line := range strings.Lines(string(raw)) {
		if n, ok := strings.CutPrefix(line, "rchar: "); ok {
			if read, err = strconv.ParseInt(strings.TrimSpace(n), 10, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	return spent{cpu: usage.CPU, rss: usage.RSS, read: read}
}

// TestMeasureOperators runs 1, 2 and 4 operators on the same fleets.
func TestMeasureOperators(t *testing.T) {
	if !*measure {
		t.Skip("only with -measure: make bench-shards")
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%d PodManagers in %d namespaces, scaled from 2 to 3 pods each and back; %d shards. Figures are per process, the largest of them.\n\n",
		measuredNamespaces*measuredFleets, measuredNamespaces, measuredShards)
	table.WriteString("| operators | memory | read at the start | read while scaling | CPU while scaling | pods made, fewest to most | scaled after |\n|---|---|---|---|---|---|---|\n")
	seed := startSharded(t, measuredShards)
	shared(t, measuredShards, 1)
	f := makeFleets(t, measuredNamespaces, measuredFleets, 2)
	f.settled(2)
	seed.Stop(testkit.Patience)
	var base spent
	for _, n := range []int{1, 2, 4} {
		operators := make([]*operator, n)
		for i := range operators {
			operators[i] = startSharded(t, measuredShards)
		}
		shared(t, measuredShards, n)
		f.settled(2)
		began, before, mark := time.Now(), map[string]spent{}, auditMark(t)
		for _, o := range operators {
			before[o.user] = o.spent(t)
		}
		f.scale(3)
		f.settled(3)
		took := time.Since(began)
		var most, start spent
		for _, o := range operators {
			now := o.spent(t)
			most.rss, most.cpu = max(most.rss, now.rss), max(most.cpu, now.cpu-before[o.user].cpu)
			most.read, start.read = max(most.read, now.read-before[o.user].read), max(start.read, before[o.user].read)
		}
		var made []int
		for _, by := range f.podWrites(mark) {
			made = append(made, by["create"])
		}
		slices.Sort(made)
		if n == 1 {
			base = spent{cpu: most.cpu, rss: most.rss, read: most.read}
		}
		fmt.Fprintf(&table, "| %d | %.0f MB (%.2f) | %.1f MB | %.1f MB (%.2f) | %.1f s (%.2f) | %d to %d | %.0f s |\n", n,
			mb(most.rss), ratio(most.rss, base.rss), mb(start.read), mb(most.read), ratio(most.read, base.read),
			most.cpu.Seconds(), ratio(int64(most.cpu), int64(base.cpu)), made[0], made[len(made)-1], took.Seconds())
		t.Log(table.String())
		f.scale(2)
		f.settled(2)
		for _, o := range operators {
			o.Stop(testkit.Patience)
		}
	}
	write(t, "operators", table.String())
}

func mb(n int64) float64 { return float64(n) / 1e6 }

func ratio(a, b int64) float64 { return float64(a) / float64(max(b, 1)) }

// settled waits, for as long as it takes so many, until all fleets are ready.
func (f *fleets) settled(replicas int) {
	f.Helper()
	for range 10 {
		if f.count(replicas) == len(f.namespaces)*f.each {
			return
		}
		done := f.count(replicas)
		testkit.Eventually(f, "some more fleets are ready", func() error {
			if n := f.count(replicas); n > done+len(f.namespaces)*f.each/10 || n == len(f.namespaces)*f.each {
				return nil
			}
			return fmt.Errorf("%d of %d are", done, len(f.namespaces)*f.each)
		})
	}
	f.ready(replicas)
}

// count is how many fleets have so many ready pods, and no more.
func (f *fleets) count(replicas int) int {
	f.Helper()
	out := suite.Kubectl(f, "get", "podmanagers", "-A", "-o",
		`jsonpath={range .items[*]}{.status.readyReplicas}/{.status.replicas}/{.status.terminatingReplicas}{"\n"}{end}`)
	n := 0
	for line := range strings.Lines(out) {
		if strings.TrimSuffix(strings.TrimSpace(line), "0") == fmt.Sprintf("%d/%d/", replicas, replicas) {
			n++
		}
	}
	return n
}

// write puts a table between its markers in docs/sharding.md.
func write(t *testing.T, name, table string) {
	t.Helper()
	file := filepath.Join(testkit.Root(), "docs", "sharding.md")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := []byte("<!-- begin "+name+" -->\n"), []byte("<!-- end "+name+" -->")
	i, j := bytes.Index(raw, begin), bytes.Index(raw, end)
	if i < 0 || j < i {
		t.Fatalf("%s has no markers for %s", file, name)
	}
	out := slices.Concat(raw[:i], begin, []byte(table), raw[j:])
	if err := os.WriteFile(file, out, 0o644); err != nil { // a public page
		t.Fatal(err)
	}
}

// TestMeasureSelectors watches the same churn of pods through label selectors
// and through the API server's own shardSelector (KEP-5866), four watches each.
func TestMeasureSelectors(t *testing.T) {
	if !*measure {
		t.Skip("only with -measure: make bench-shards")
	}
	cluster, err := localkube.Start(t.Context(), localkube.Options{
		Components: localkube.APIOnly(), FeatureGates: map[string]bool{"ShardedListAndWatch": true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cluster.Stop() })
	const watches, pods, edits = 4, 400, 3
	c, err := rest.HTTPClientFor(cluster.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	r := &raw{t: t, http: c, host: cluster.RESTConfig().Host}
	for n := range 20 {
		r.send(http.MethodPost, "/api/v1/namespaces", fmt.Sprintf(`{"metadata":{"name":"team-%d"}}`, n))
	}
	for i := range pods {
		r.send(http.MethodPost, fmt.Sprintf("/api/v1/namespaces/team-%d/pods", i%20), fmt.Sprintf(
			`{"metadata":{"name":"pod-%d","labels":{"shard":"%d"}},"spec":{"containers":[{"name":"app","image":"nginx"}]}}`, i, i%watches))
	}
	ways := []struct {
		name  string
		query func(n int) string
	}{
		{"all of it, and pick", func(int) string { return "" }},
		{"label selector", func(n int) string { return fmt.Sprintf("&labelSelector=shard%%3D%d", n) }},
		{"shardSelector by uid", func(n int) string { return "&shardSelector=" + shardRange("uid", n, watches) }},
		{"shardSelector by namespace", func(n int) string { return "&shardSelector=" + shardRange("namespace", n, watches) }},
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%d pods in 20 namespaces, each edited %d times, with %d watches at once.\n\n", pods, edits, watches)
	table.WriteString("| watches | events, fewest to most | bytes, all together | API server CPU |\n|---|---|---|---|\n")
	for _, way := range ways {
		before, err := cluster.Usage(localkube.APIServer)
		if err != nil {
			t.Fatal(err)
		}
		counts, total := r.watch(watches, way.query, func() {
			for e := range edits {
				for i := range pods {
					r.send(http.MethodPatch, fmt.Sprintf("/api/v1/namespaces/team-%d/pods/pod-%d", i%20, i),
						fmt.Sprintf(`{"metadata":{"annotations":{"edit":"%s-%d"}}}`, way.name, e))
				}
			}
		})
		after, err := cluster.Usage(localkube.APIServer)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&table, "| %s | %d to %d | %.1f MB | %.1f s |\n", way.name, counts[0], counts[len(counts)-1], mb(total), (after.CPU - before.CPU).Seconds())
	}
	t.Log(table.String())
	write(t, "selectors", table.String())
}

func shardRange(field string, n, of int) string {
	width := ^uint64(0)/uint64(of) + 1
	end := fmt.Sprintf("0x%016x", uint64(n+1)*width)
	if n == of-1 {
		end = "0x10000000000000000"
	}
	return strings.NewReplacer(" ", "%20", "'", "%27", ",", "%2C").Replace(
		fmt.Sprintf("shardRange(object.metadata.%s, '0x%016x', '%s')", field, uint64(n)*width, end))
}

// raw speaks HTTP, so that bytes can be counted.
type raw struct {
	t    *testing.T
	http *http.Client
	host string
}

func (r *raw) send(method, path, body string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.host+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", string(types.MergePatchType))
	}
	answer, err := r.http.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	if answer.StatusCode >= 300 {
		r.t.Fatalf("%s %s: %s %s", method, path, answer.Status, text)
	}
}

// watch counts events and bytes of several watches while work is done.
func (r *raw) watch(n int, query func(int) string, work func()) (counts []int64, total int64) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	events, read := make([]atomic.Int64, n), make([]atomic.Int64, n)
	var group sync.WaitGroup
	for i := range n {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.host+"/api/v1/pods?watch=1&resourceVersion=0"+query(i), nil)
		if err != nil {
			r.t.Fatal(err)
		}
		answer, err := r.http.Do(req)
		if err != nil {
			r.t.Fatal(err)
		}
		if answer.StatusCode != http.StatusOK {
			text, _ := io.ReadAll(answer.Body)
			r.t.Fatalf("watch%s: %s %s", query(i), answer.Status, text)
		}
		group.Go(func() {
			defer answer.Body.Close()
			decoder := json.NewDecoder(io.TeeReader(answer.Body, counter{&read[i]}))
			for {
				var event json.RawMessage
				if decoder.Decode(&event) != nil {
					return
				}
				events[i].Add(1)
			}
		})
	}
	work()
	// The last event has been read when no more come.
	var last int64
	testkit.Eventually(r.t, "the watches are silent", func() error {
		var now int64
		for i := range read {
			now += read[i].Load()
		}
		defer func() { last = now }()
		if now != last {
			return fmt.Errorf("%d bytes", now)
		}
		return nil
	})
	cancel()
	group.Wait()
	for i := range events {
		counts = append(counts, events[i].Load())
		total += read[i].Load()
	}
	slices.Sort(counts)
	return counts, total
}

type counter struct{ n *atomic.Int64 }

func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}
