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

package tenants

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

var neighbours = flag.Int("neighbours", 200, "how many PodManagers of a noisy neighbour there are")

// The pass of a victim begins after at most so many of its neighbour's that were queued before: those for
// which a worker was about to be free, twice over. In one queue for all, most of the others go first.
const mayGoFirst = 16

// A namespace full of PodManagers that its quota stops does not hold up another one: its passes do not
// wait for all of theirs. It is counted in passes, which do not depend on the machine.
func TestANoisyNeighbourDoesNotHoldUpOthers(t *testing.T) {
	spaces := []string{suite.Namespace(t), suite.Namespace(t)}
	slices.Sort(spaces) // the operator is told of the neighbour's first
	noise, victim := spaces[0], spaces[1]
	full(t, noise)
	options := suite.Operator
	options.Explain.RecordFile = filepath.Join(t.TempDir(), "records")
	var took time.Duration
	withOperator(t, options, func() {
		makeNoise(t, noise, *neighbours)
		suite.Create(t, testkit.MakePodManager(victim, "web").Replicas(3).Obj())
	}, func() {
		suite.Fleet(t, victim, "web").ExpectReady(3)
		// Also while they try again, and while all of them go.
		took = max(victimTakes(t), victimTakes(t))
		if err := suite.Client.DeleteAllOf(t.Context(), testkit.MakePodManager(noise, "x").Obj(), client.InNamespace(noise)); err != nil {
			t.Fatal(err)
		}
		suite.Fleet(t, victim, "web").Scale(4)
		suite.Fleet(t, victim, "web").ExpectReady(4)
	})
	list := read(t, options.Explain.RecordFile)
	passes, theirs := 0, 0
	for i := range list {
		r := &list[i]
		if r.Object.Namespace == noise {
			theirs++
			continue
		}
		passes++
		if first := before(list, noise, r); first > mayGoFirst {
			t.Errorf("%s waited for %d passes of another namespace, want at most %d", r.Object, first, mayGoFirst)
		}
	}
	t.Logf("%d passes of others beside %d of a neighbour with %d PodManagers; three pods took %s", passes, theirs, *neighbours, took)
	if theirs < *neighbours/4 || passes < 3 {
		t.Errorf("%d and %d passes were recorded", theirs, passes)
	}
}

// before counts the passes of a namespace that began while another pass was ready to.
func before(list []flightrecorder.Record, namespace string, r *flightrecorder.Record) (n int) {
	ready := r.Start.Add(-time.Duration(r.QueueWait))
	for i := range list { // an object waits for its own pass, too, however long that takes
		if o := &list[i]; o.Object == r.Object && o.Start.Before(r.Start) && o.Start.Add(time.Duration(o.Duration)).After(ready) {
			ready = o.Start.Add(time.Duration(o.Duration))
		}
	}
	for i := range list {
		if o := &list[i]; o.Object.Namespace == namespace && o.Start.After(ready) && o.Start.Before(r.Start) {
			n++
		}
	}
	return n
}

// full gives a namespace a quota that one pod fills.
func full(t testing.TB, namespace string) {
	t.Helper()
	suite.Create(t, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tenant"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
	})
}

// makeNoise creates PodManagers that ask for far more than there may be.
func makeNoise(t testing.TB, namespace string, n int) {
	t.Helper()
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := worker; i < n; i += 8 {
				pm := testkit.MakePodManager(namespace, fmt.Sprintf("noise-%d", i)).Replicas(1000).Obj()
				if err := suite.Client.Create(t.Context(), pm); err != nil {
					t.Errorf("create the noise: %v", err)
				}
			}
		})
	}
	all.Wait()
}

// withOperator prepares something while no operator runs, and then does something while one with other
// options does.
func withOperator(t testing.TB, options manager.Options, prepare, do func()) {
	t.Helper()
	withoutOperator(t, func() {
		prepare()
		if err := suite.Resume(context.Background(), options); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := suite.Suspend(); err != nil {
				t.Error(err)
			}
		}()
		do()
	})
}

// read reads the records of a file and of those that were full before it, by when the passes began.
func read(t testing.TB, path string) (list []flightrecorder.Record) {
	t.Helper()
	files, err := filepath.Glob(path + "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no records: %v", err)
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewReader(file); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				break
			}
			var r flightrecorder.Record
			if err := json.Unmarshal(line, &r); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			list = append(list, r)
		}
		_ = file.Close()
	}
	slices.SortFunc(list, func(a, b flightrecorder.Record) int { return cmp.Compare(a.Start.UnixNano(), b.Start.UnixNano()) })
	return list
}
