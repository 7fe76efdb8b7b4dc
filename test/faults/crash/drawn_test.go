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

package crash

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/faults/oracle"
	"github.com/mycompany/pod-operator/test/faults/scenario"
)

// The moments of drawn events are those of the simulator. There a choice is an answer, a
// delivery or a reconcile, of which a write takes so many; and time, which here passes by
// itself, is cut to a moment.
const (
	choicesPerWrite = 6
	longestWait     = 3 * time.Second
)

// judgeEvery is the time between two looks at whether a drawn fleet is what was asked
// for: each reads the whole history.
const judgeEvery = 500 * time.Millisecond

// drawn draws a PodManager and what happens to it. There is no run without faults to
// compare it with: the end has to be what the spec asks for, and come. calm is called when
// nothing may go wrong any more.
func drawn(rng *rand.Rand, calm func()) func(t *testing.T, c *stage) time.Duration {
	spec, events := scenario.DrawOnAPI(rng)
	return func(t *testing.T, c *stage) time.Duration {
		t.Cleanup(func() {
			if t.Failed() {
				raw, err := json.Marshal(map[string]any{"spec": spec, "events": events})
				t.Logf("what was drawn: %s %v", raw, err)
				t.Log(c.tale())
			}
		})
		for i, step := range scenario.Drawn(spec, events).Steps {
			if i > 0 {
				c.await(step)
			}
			if err := c.attempt(step); err != nil && i == 0 {
				t.Fatalf("create what was drawn: %v", err)
			}
		}
		start := time.Now()
		c.settle()
		took := time.Since(start)
		calm()
		c.settle()
		c.stayQuiet()
		history, rules := c.story(), c.rules()
		for _, v := range slices.Concat(oracle.Check(history, rules), oracle.Told(history, rules), oracle.Needless(history, rules)) {
			t.Error(v)
		}
		return took
	}
}

// await waits until a step is due: after so many writes of the operator, after a while, or
// when nothing changes any more.
func (c *stage) await(step scenario.Step) {
	c.t.Helper()
	began, first := time.Now(), c.written()
	var last map[string]string
	since := began
	testkit.EventuallyEvery(c.t, lookEvery, "the step is due: "+step.Name, func() error {
		c.tend()
		c.provision()
		if step.After > 0 && c.written() >= first+(step.After+choicesPerWrite-1)/choicesPerWrite ||
			step.Wait > 0 && time.Since(began) >= min(step.Wait, longestWait) {
			return nil
		}
		if now := c.versions(); !gocmp.Equal(last, now) {
			last, since = now, time.Now()
		}
		if step.Wait > 0 || time.Since(since) < quiet {
			return fmt.Errorf("%d writes, %d objects", c.written(), len(last))
		}
		return nil
	})
}

// attempt takes a step. The API server may refuse it, and there may be nothing that it
// could happen to: then nothing happens, and the error is returned.
func (c *stage) attempt(step scenario.Step) error {
	c.t.Helper()
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		return step.Do(c.t.Context(), scenario.World{Client: suite.Client, Namespace: c.namespace, Now: time.Now()})
	})
	if err != nil && !errors.Is(err, scenario.ErrNothing) && apierrors.ReasonForError(err) == metav1.StatusReasonUnknown {
		c.t.Fatalf("%s: %v", step.Name, err)
	}
	c.t.Logf("%s %s: %v", time.Now().Format("05.000"), step.Name, err)
	return err
}

// settle waits until the state is what the spec asks for (L1, K, R, T), and stays so.
func (c *stage) settle() {
	c.t.Helper()
	var last map[string]string
	var since time.Time
	testkit.EventuallyEvery(c.t, judgeEvery, "the fleet is what was asked for", func() error {
		c.tend()
		c.provision()
		_, all := c.look(true)
		history, rules := c.story(), c.rules()
		found := slices.Concat(oracle.Leftovers(all), oracle.AtRest(history, rules, time.Now()),
			oracle.ClaimsAtRest(history, rules), oracle.ToldAtRest(history, rules, time.Now()))
		if now := c.versions(); !gocmp.Equal(last, now) || len(found) > 0 {
			last, since = now, time.Now()
		}
		if len(found) > 0 {
			return fmt.Errorf("%v", found)
		}
		if enough := c.enough(all); time.Since(since) < enough {
			return fmt.Errorf("nothing has changed for less than %s", enough)
		}
		return nil
	})
}

// enough is how long nothing may change at rest: longer where a fleet is not ready, because
// the operator may have something to do later.
func (c *stage) enough(all []client.Object) time.Duration {
	for _, obj := range all {
		if pm, ok := obj.(*appsv1.PodManager); ok && !meta.IsStatusConditionTrue(pm.Status.Conditions, appsv1.ConditionReady) {
			return long
		}
	}
	return quiet
}

func (c *stage) written() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.wrote)
}

// rules are what the judge has to know of a drawn schedule.
func (c *stage) rules() oracle.Rules {
	c.t.Helper()
	var budgets policyv1.PodDisruptionBudgetList
	if err := suite.Client.List(c.t.Context(), &budgets, client.InNamespace(c.namespace)); err != nil {
		c.t.Fatal(err)
	}
	rules := oracle.Rules{Restarts: c.lives - 1, Lapses: c.lives - 1}
	for i := range budgets.Items {
		rules.Budget = max(rules.Budget, budgets.Items[i].Spec.MinAvailable.IntValue())
	}
	return rules
}

// provision gives each volume claim a volume, as a provisioner would.
func (c *stage) provision() {
	c.t.Helper()
	var claims corev1.PersistentVolumeClaimList
	if err := suite.Client.List(c.t.Context(), &claims, client.InNamespace(c.namespace)); err != nil {
		c.t.Fatal(err)
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil {
			continue
		}
		volume := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: "volume-" + string(claim.UID)},
			Spec: corev1.PersistentVolumeSpec{
				AccessModes: claim.Spec.AccessModes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
				Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")},
				PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}},
				ClaimRef:               &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
			},
		}
		if err := suite.Client.Create(c.t.Context(), volume); err != nil && !apierrors.IsAlreadyExists(err) {
			c.t.Fatalf("make a volume for claim %s: %v", claim.Name, err)
		}
	}
}

// tale is what the witness saw, a line for each version.
func (c *stage) tale() string {
	history, _ := watched.History(c.namespace)
	c.mu.Lock()
	defer c.mu.Unlock()
	var text strings.Builder
	text.WriteString("what happened, the operator's writes with a star:\n")
	for i := range history {
		r := &history[i]
		star := map[bool]string{true: "*"}[c.wrote[r.Object.GetResourceVersion()]]
		about := ""
		switch obj := r.Object.(type) {
		case *corev1.Pod:
			about = fmt.Sprintf("%s revision %s ready=%t node=%s labels=%v finalizers=%v", obj.Status.Phase, obj.Labels[appsv1.LabelRevision],
				oracle.Ready(obj), obj.Spec.NodeName, obj.Labels, obj.Finalizers)
		case *appsv1.PodManager:
			raw, err := json.Marshal(obj.Status)
			about = fmt.Sprintf("generation %d, %v, status %s %v", obj.Generation, obj.Annotations, raw, err)
		}
		fmt.Fprintf(&text, "%d%s %T %s gone=%t ends=%t %s\n", r.Version, cmp.Or(star, " "), r.Object, r.Object.GetName(), r.Gone,
			r.Object.GetDeletionTimestamp() != nil, about)
	}
	return text.String()
}
