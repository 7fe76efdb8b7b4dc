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

package migrate

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/migrate"
	"github.com/mycompany/pod-operator/internal/testkit"
)

func TestADeploymentIsTakenOverAndGivenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(3, "nginx:1.25", "nginx:1.26", "nginx:1.27")
	hpa := &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MinReplicas:    ptr.To[int32](1), MaxReplicas: 5,
		},
	}
	suite.Create(t, hpa)
	w.witness()

	w.must(w.take(suite.Client, migrate.Deployments))
	pm := w.expectManager(3)
	if pm.Labels["team"] != "shop" {
		t.Errorf("labels %v, want the Deployment's", pm.Labels)
	}
	if got := len(suite.Fleet(t, w.namespace, "web").Revisions()); got != 3 {
		t.Errorf("%d revisions, want 3: the Deployment's history", got)
	}
	if ref := testkit.Read(t, suite, hpa).Spec.ScaleTargetRef; ref.Kind != "PodManager" {
		t.Errorf("the autoscaler scales %v", ref)
	}
	w.expectUntouched()

	w.must(w.giveBack(suite.Client))
	w.awaitDeployment(3)
	w.expectOwner("ReplicaSet")
	w.expectUntouched()
	if ref := testkit.Read(t, suite, hpa).Spec.ScaleTargetRef; ref.Kind != "Deployment" {
		t.Errorf("the autoscaler scales %v", ref)
	}
	var sets kappsv1.ReplicaSetList
	w.must(suite.Client.List(t.Context(), &sets))
	own := 0
	for i := range sets.Items {
		if sets.Items[i].Namespace == w.namespace {
			own++
		}
	}
	if own != 3 {
		t.Errorf("%d ReplicaSets, want the 3 that were there", own)
	}
	w.expectNothingLeft()
}

// expectNothingLeft: no object and no label reminds of a migration.
func (w *world) expectNothingLeft() {
	w.Helper()
	out := suite.Kubectl(w, "get", "podmanagers,poddisruptionbudgets", "-n", w.namespace, "-o", "name")
	if out != "" && out != "No resources found in "+w.namespace+" namespace.\n" {
		w.Errorf("left: %s", out)
	}
	if out, err := suite.TryKubectl(w, "get", "configmap", migrate.RecordName("web"), "-n", w.namespace); err == nil {
		w.Errorf("left: %s", out)
	}
	for _, pod := range w.live() {
		for key := range pod.Labels {
			if key == "podmanager" || key == "podmanager-uid" || key == "apps.mycompany.com/revision" {
				w.Errorf("pod %s has label %s", pod.Name, key)
			}
		}
	}
}

// subject is a workload that is migrated again and again.
type subject struct {
	kind *migrate.Kind
	// owner is the kind that controls its pods.
	owner string
	make  func(*world)
	await func(*world)
}

var subjects = map[string]subject{
	"Deployment": {
		migrate.Deployments, "ReplicaSet",
		func(w *world) { w.deploy(2, "nginx:1.26", "nginx:1.27") }, func(w *world) { w.awaitDeployment(2) },
	},
	"StatefulSet": {
		migrate.StatefulSets, "StatefulSet",
		func(w *world) { w.stateful(2) }, func(w *world) { w.awaitStateful(2) },
	},
}

// A migration is killed before each of its writes, in both directions; then it is
// run again, or undone.
func TestAMigrationIsInterrupted(t *testing.T) {
	testkit.Long(t, "it migrates some seventy times")
	for name, s := range subjects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.interrupt(t)
		})
	}
}

func (s subject) interrupt(t *testing.T) {
	there, back := s.count(t)
	for kill := 1; kill <= there; kill++ {
		for _, then := range []string{"again", "undo"} {
			t.Run(fmt.Sprintf("there before write %d then %s", kill, then), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				s.make(w)
				w.witness()
				if err := w.take(&writes{Client: suite.Client, kill: kill}, s.kind); err == nil {
					t.Log("it ended before it was killed")
				}
				s.goOn(w, then, kill == 1)
			})
		}
	}
	for kill := 1; kill <= back; kill++ {
		t.Run(fmt.Sprintf("back before write %d", kill), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s.make(w)
			w.witness()
			w.must(w.take(suite.Client, s.kind))
			w.expectManager(2)
			_ = w.giveBack(&writes{Client: suite.Client, kill: kill})
			s.goOn(w, "undo", false)
		})
	}
}

// count finds out how many writes there are, in both directions.
func (s subject) count(t *testing.T) (there, back int) {
	t.Helper()
	w := newWorld(t)
	s.make(w)
	to, from := &writes{Client: suite.Client}, &writes{Client: suite.Client}
	w.must(w.take(to, s.kind))
	w.expectManager(2)
	w.must(w.giveBack(from))
	t.Logf("there: %q", to.log)
	t.Logf("back: %q", from.log)
	return to.n, from.n
}

// goOn ends an interrupted migration in one way or the other.
func (s subject) goOn(w *world, then string, untouched bool) {
	w.Helper()
	if then == "again" {
		w.must(w.take(suite.Client, s.kind))
		w.expectManager(2)
		w.expectUntouched()
		return
	}
	// Just after the take-over the status may be behind: it says to wait, as users would.
	testkit.Eventually(w, "it is given back", func() error {
		if err := w.giveBack(suite.Client); err != nil && !untouched && !w.back() {
			return err
		}
		return nil
	})
	s.await(w)
	w.expectOwner(s.owner)
	w.expectUntouched()
	w.expectNothingLeft()
}

// back: there is no record of a migration any more.
func (w *world) back() bool {
	key := client.ObjectKey{Namespace: w.namespace, Name: migrate.RecordName("web")}
	return apierrors.IsNotFound(suite.Client.Get(w.Context(), key, &corev1.ConfigMap{}))
}

// The operator is restarted while it lets the pods go, and finds them half free.
func TestSixHundredPodsAreTakenOverAndGivenBack(t *testing.T) {
	testkit.Long(t, "600 pods take a while to make")
	const many = 600
	w := newWorld(t)
	w.deploy(many, "nginx:1.27")
	w.witness()
	began := time.Now()
	w.must(w.take(suite.Client, migrate.Deployments))
	took := time.Since(began)
	t.Logf("%d pods were taken over in %s", many, took.Round(time.Millisecond))
	if took > time.Minute {
		t.Errorf("it took %s, want less than a minute", took)
	}
	w.expectManager(many)
	w.expectUntouched()

	restarted := make(chan error, 1)
	began = time.Now()
	w.must(w.giveBack(during("delete *v1.PodManager", func() { go func() { restarted <- w.restartAmidRelease() }() })))
	t.Logf("and given back in %s", time.Since(began).Round(time.Millisecond))
	w.must(<-restarted)
	w.awaitDeployment(many)
	w.expectOwner("ReplicaSet")
	w.expectUntouched()
	w.expectNothingLeft()
}

// restartAmidRelease ends the operator once some pods have no owner, and starts another.
func (w *world) restartAmidRelease() error {
	for free := 0; free == 0; {
		var pods corev1.PodList
		if err := suite.Client.List(w.Context(), &pods, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for i := range pods.Items {
			if len(pods.Items[i].OwnerReferences) == 0 {
				free++
			}
		}
		if free == len(pods.Items) {
			return errors.New("all pods were free before the operator could be restarted")
		}
	}
	if err := suite.Suspend(); err != nil {
		return err
	}
	return suite.Resume(context.WithoutCancel(w.Context()), suite.Operator)
}
