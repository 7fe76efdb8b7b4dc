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

package binary

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/faults/oracle"
	"github.com/mycompany/pod-operator/test/faults/proxy"
	"github.com/mycompany/pod-operator/test/faults/summary"
)

var (
	soakTime   = flag.Duration("soak", 0, "how long TestSoak goes on; 0 skips it")
	soakFleets = flag.Int("fleets", 200, "how many PodManagers TestSoak plays with")
)

// TestSoak creates, scales, edits and deletes fleets at random while requests
// get lost and watches break. After the first quarter and at the end everything
// is deleted, and the program is measured: it has to be as small as before.
func TestSoak(t *testing.T) {
	if *soakTime == 0 {
		t.Skip("-soak says for how long; make soak runs it")
	}
	g := field
	err := g.Cluster.CreateNodes(t.Context(), localkube.NodeOptions{Count: 1 + *soakFleets*5/100, Prefix: "soak-"})
	if err != nil {
		t.Fatal(err)
	}
	address, err := testkit.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	// The flight recorder's memory has a bound of its own, and tests of its own.
	o := newOperators(t, g, "--pprof-bind-address="+address, "--record=false")
	program := o.start()
	c := &crowd{ground: g, t: t, rng: rand.New(rand.NewPCG(g.seed, 6))}
	for range max(1, *soakFleets/20) {
		c.namespaces = append(c.namespaces, g.Namespace(t))
	}
	o.Play(proxy.Faults{Lost: 0.02, Unanswered: 0.02, TooMany: 0.01, Broken: 0.02})
	c.stir(*soakTime/4, o)
	c.clear()
	before := measure(t, address)
	t.Logf("after %d edits: %+v", c.edits, before)
	c.stir(*soakTime*3/4, o)
	o.Play(proxy.Faults{})
	start := time.Now()
	c.calm()
	took := time.Since(start)
	violations := 0
	for _, namespace := range c.namespaces {
		n, _ := o.judge(t, namespace, oracle.Rules{}, nil)
		violations += n
	}
	c.clear()
	limit := size{goroutines: before.goroutines + before.goroutines/10, heap: before.heap + before.heap/4 + 4<<20}
	after := measure(t, address)
	t.Logf("after %d edits: %+v; %v", c.edits, after, o.Seen())
	for left := time.Now(); !limit.fits(after) && time.Since(left) < eventMemory && program.Running(); {
		after = measure(t, address)
	}
	t.Logf("%s after the last edit: %+v", time.Since(start).Round(time.Second), after)
	if !program.Running() {
		t.Error("the program ended")
	}
	if !limit.fits(after) {
		t.Errorf("it has grown: %+v, before %+v", after, before)
	}
	line := summary.Line{
		Tier: "3 real program, soak of " + soakTime.String(), Cases: c.edits, Violations: violations, Longest: took, Seed: g.seed,
		Note: fmt.Sprintf("%d fleets; heap %.1f MiB, then %.1f; goroutines %d, then %d", *soakFleets,
			float64(before.heap)/(1<<20), float64(after.heap)/(1<<20), before.goroutines, after.goroutines),
	}
	if err := summary.Write("3-soak", line); err != nil {
		t.Error(err)
	}
	t.Logf("%+v", line)
}

// crowd is many users.
type crowd struct {
	*ground
	t          *testing.T
	rng        *rand.Rand
	namespaces []string
	edits      int
}

// stir lets them edit for a while.
func (c *crowd) stir(d time.Duration, o *operators) {
	c.t.Helper()
	resets := 0
	_ = wait.PollUntilContextTimeout(c.t.Context(), 20*time.Millisecond, d, true, func(ctx context.Context) (bool, error) {
		name := client.ObjectKey{
			Namespace: c.namespaces[c.rng.IntN(len(c.namespaces))],
			Name:      fmt.Sprintf("web-%c", 'a'+c.rng.IntN(max(1, *soakFleets/len(c.namespaces)))),
		}
		if err := c.edit(ctx, name); err != nil && ctx.Err() == nil {
			c.t.Fatalf("edit %s: %v", name, err)
		}
		c.edits++
		// A client that cannot watch waits longer each time, so not too often.
		if c.rng.IntN(2000) == 0 {
			resets++
			o.ResetWatches()
		}
		return false, nil
	})
	c.t.Logf("%d edits so far, watches reset %d times", c.edits, resets)
}

// edit does something to a fleet, or makes it.
func (c *crowd) edit(ctx context.Context, key client.ObjectKey) error {
	pm := &appsv1.PodManager{}
	err := c.Client.Get(ctx, key, pm)
	if apierrors.IsNotFound(err) {
		return c.create(ctx, key)
	}
	if err != nil || pm.DeletionTimestamp != nil {
		return err
	}
	switch c.rng.IntN(10) {
	case 0, 1, 2, 3:
		pm.Spec.Replicas = ptr.To(c.rng.Int32N(6))
	case 4, 5:
		pm.Spec.Image = fmt.Sprintf("nginx:1.%d", 20+c.rng.IntN(9))
	case 6:
		pm.Spec.Update.Strategy = []appsv1.UpdateStrategy{appsv1.UpdateRecreate, appsv1.UpdateInPlace}[c.rng.IntN(2)]
	case 7:
		return c.hitPod(ctx, pm)
	case 8:
		pm.Spec.Paused = !pm.Spec.Paused
	default:
		return client.IgnoreNotFound(c.Client.Delete(ctx, pm))
	}
	err = c.Client.Update(ctx, pm)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // another writer was faster; there is always another edit
	}
	return err
}

func (c *crowd) create(ctx context.Context, key client.ObjectKey) error {
	b := testkit.MakePodManager(key.Namespace, key.Name).Replicas(c.rng.Int32N(6))
	if c.rng.IntN(3) == 0 {
		b.Random()
	}
	return c.Client.Create(ctx, b.Obj())
}

// hitPod deletes a pod, or lets it fail.
func (c *crowd) hitPod(ctx context.Context, pm *appsv1.PodManager) error {
	if len(pm.Status.Nodes) == 0 {
		return nil
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pm.Namespace, Name: pm.Status.Nodes[c.rng.IntN(len(pm.Status.Nodes))]}}
	if c.rng.IntN(2) == 0 {
		return client.IgnoreNotFound(c.Client.Delete(ctx, pod))
	}
	body := []byte(`{"status":{"phase":"Failed","reason":"Evicted"}}`)
	return client.IgnoreNotFound(c.Client.Status().Patch(ctx, pod, client.RawPatch(types.MergePatchType, body)))
}

// calm waits until every fleet is as it should be.
func (c *crowd) calm() {
	c.t.Helper()
	var list appsv1.PodManagerList
	c.fleets(&list)
	for i := range list.Items {
		pm := &list.Items[i]
		if !pm.Spec.Paused {
			continue
		}
		body := []byte(`{"spec":{"paused":false}}`)
		if err := c.Client.Patch(c.t.Context(), pm, client.RawPatch(types.MergePatchType, body)); client.IgnoreNotFound(err) != nil {
			c.t.Fatal(err)
		}
	}
	patiently(c.t, "all fleets are ready", func() error {
		c.fleets(&list)
		for i := range list.Items {
			pm := &list.Items[i]
			if s := &pm.Status; pm.DeletionTimestamp != nil || s.ObservedGeneration != pm.Generation || s.CurrentReplicas != *pm.Spec.Replicas ||
				s.AvailableReplicas != *pm.Spec.Replicas || s.TerminatingReplicas > 0 || *pm.Spec.Replicas > 0 && s.CurrentRevision != s.UpdateRevision {
				return fmt.Errorf("%s/%s: generation %d, %+v", pm.Namespace, pm.Name, pm.Generation, s)
			}
		}
		return nil
	})
}

func (c *crowd) fleets(list *appsv1.PodManagerList) {
	c.t.Helper()
	if err := c.Client.List(c.t.Context(), list); err != nil {
		c.t.Fatal(err)
	}
}

// clear deletes everything and waits until it is gone.
func (c *crowd) clear() {
	c.t.Helper()
	for _, namespace := range c.namespaces {
		if err := c.Client.DeleteAllOf(c.t.Context(), &appsv1.PodManager{}, client.InNamespace(namespace)); err != nil {
			c.t.Fatal(err)
		}
	}
	patiently(c.t, "everything is gone", func() error {
		for _, namespace := range c.namespaces {
			objects, err := c.watched.Objects(c.t.Context(), namespace)
			if err != nil {
				return err
			}
			if len(objects) > 0 {
				return fmt.Errorf("%d objects in %s, %T %s", len(objects), namespace, objects[0], objects[0].GetName())
			}
		}
		return nil
	})
}

// eventMemory is how long client-go remembers an event, to count the next one
// of its kind: it forgets those older than 6 minutes every 6 minutes. They are
// about a kilobyte for each edit here, and no leak.
const eventMemory = 13 * time.Minute

// size is how big the program is.
type size struct{ goroutines, heap int }

func (s size) fits(other size) bool { return other.goroutines <= s.goroutines && other.heap <= s.heap }

var (
	goroutineCount = regexp.MustCompile(`goroutine profile: total (\d+)`)
	heapCount      = regexp.MustCompile(`# HeapAlloc = (\d+)`)
)

// measure asks the program's own profiles, after a garbage collection. What is
// on its way out gets a moment.
func measure(t *testing.T, address string) size {
	t.Helper()
	ask := func(path string, what *regexp.Regexp) (int, error) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
		if err != nil {
			return 0, err
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return 0, err
		}
		found := what.FindSubmatch(body)
		if found == nil {
			return 0, fmt.Errorf("%s does not say %s", path, what)
		}
		return strconv.Atoi(string(found[1]))
	}
	least := size{}
	err := wait.PollUntilContextTimeout(t.Context(), time.Second, 10*time.Second, true, func(context.Context) (bool, error) {
		goroutines, err1 := ask("/debug/pprof/goroutine?debug=1", goroutineCount)
		heap, err2 := ask("/debug/pprof/heap?gc=1&debug=1", heapCount)
		if err := errors.Join(err1, err2); err != nil {
			return false, err
		}
		if least.heap == 0 || goroutines < least.goroutines {
			least.goroutines = goroutines
		}
		if least.heap == 0 || heap < least.heap {
			least.heap = heap
		}
		return false, nil
	})
	if !wait.Interrupted(err) {
		t.Fatal(err)
	}
	return least
}
