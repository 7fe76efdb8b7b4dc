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
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/migrate"
	"github.com/mycompany/pod-operator/internal/testkit"
)

func (w *world) fleet() *testkit.Fleet { return suite.Fleet(w, w.namespace, "web") }

// expectRefused fails unless an error says a text, and the PodManager goes on.
func (w *world) expectRefused(err error, text string) {
	w.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		w.Fatalf("error %v, want one that says %q", err, text)
	}
	if pm := w.fleet().Get(); pm.DeletionTimestamp != nil || pm.Annotations[appsv1.AnnotationTakeOver] != "" {
		w.Errorf("after the refusal the PodManager is not free: %v", pm.ObjectMeta)
	}
	if config := w.record(); config.Annotations["apps.mycompany.com/migrating"] != "" {
		w.Errorf("after the refusal %s holds the record", config.Annotations["apps.mycompany.com/migrating"])
	}
}

func (w *world) record() *corev1.ConfigMap {
	w.Helper()
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: migrate.RecordName("web")}}
	return testkit.Read(w, suite, config)
}

func (w *world) setImage(image string) {
	w.Helper()
	w.fleet().Edit(func(pm *appsv1.PodManager) { pm.Spec.Template.Spec.Containers[0].Image = image })
}

// The Deployment controller takes a ReplicaSet whose annotation desired-replicas is not
// the Deployment's number for one that is being scaled, and rolls nothing out.
func TestAScaledDeploymentRollsOutAfterItsReturn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.26")
	w.must(w.take(suite.Client, migrate.Deployments))
	w.expectManager(2)
	w.fleet().Scale(4)
	w.expectManager(4)
	w.witness()
	w.must(w.giveBack(suite.Client))
	w.awaitDeployment(4)
	w.expectUntouched()
	suite.Kubectl(t, "set", "image", "-n", w.namespace, "deployment/web", "app=nginx:1.27")
	w.awaitDeployment(4)
}

// What undo sends to export, export does.
func TestAnEditOfTheImageIsExported(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.26")
	w.must(w.take(suite.Client, migrate.Deployments))
	w.expectManager(2)
	w.fleet().Edit(func(pm *appsv1.PodManager) { pm.Spec.Image = "nginx:1.27" })
	w.fleet().ExpectRolledOut(2)
	w.expectRefused(w.giveBack(suite.Client), "was changed since the migration")
	w.witness()
	w.must(w.mover(suite.Client).Export(t.Context(), w.key(), migrate.Deployments))
	w.awaitDeployment(2)
	w.expectOwner("ReplicaSet")
	w.expectUntouched()
	w.expectNothingLeft()
	if got := w.deployment().Spec.Template.Spec.Containers[0].Image; got != "nginx:1.27" {
		t.Errorf("the Deployment asks for %s", got)
	}
}

func (w *world) deployment() *kappsv1.Deployment {
	return testkit.Read(w, suite, &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}})
}

func (w *world) statefulSet() *kappsv1.StatefulSet {
	return testkit.Read(w, suite, &kappsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "web"}})
}

// The record is the only copy of the original.
func TestARefusedExportKeepsTheRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.25", "nginx:1.26")
	w.must(w.take(suite.Client, migrate.Deployments))
	w.expectManager(2)
	before := w.record().Data
	w.fleet().Edit(func(pm *appsv1.PodManager) { pm.Spec.Update.Strategy = appsv1.UpdateRecreate })
	w.setImage("registry.invalid/web:1")
	w.fleet().ExpectCondition(appsv1.ConditionReconciling, appsv1.ReasonRollingOut)
	w.expectRefused(w.mover(suite.Client).Export(t.Context(), w.key(), migrate.Deployments), "is changing its pods")
	if after := w.record().Data; !maps.Equal(before, after) {
		t.Errorf("the record is %v, and was %v", after, before)
	}
	w.setImage("nginx:1.26")
	w.fleet().ExpectRolledOut(2)
	w.witness()
	w.must(w.giveBack(suite.Client))
	w.awaitDeployment(2)
	w.expectUntouched()
	if got := suite.Kubectl(t, "rollout", "history", "-n", w.namespace, "deployment/web"); strings.Count(got, "<none>") != 2 {
		t.Errorf("the history is\n%s", got)
	}
}

// A pin keeps pods from the template: a Deployment of that template would say that
// they are up to date.
func TestAPinnedPodManagerIsNotGivenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.26", "nginx:1.27")
	w.must(w.take(suite.Client, migrate.Deployments))
	w.expectManager(2)
	revisions := w.fleet().Revisions()
	slices.SortFunc(revisions, func(a, b kappsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	w.fleet().Edit(func(pm *appsv1.PodManager) {
		metav1.SetMetaDataAnnotation(&pm.ObjectMeta, appsv1.AnnotationPin, revisions[0].Name)
	})
	w.fleet().ExpectImages(map[string]int{"nginx:1.26": 2})
	w.fleet().ExpectCondition(appsv1.ConditionPinned, appsv1.ReasonPinned)
	w.expectRefused(w.giveBack(suite.Client), "is pinned")
	w.expectRefused(w.mover(suite.Client).Export(t.Context(), w.key(), migrate.Deployments), "is pinned")
	w.fleet().Edit(func(pm *appsv1.PodManager) { delete(pm.Annotations, appsv1.AnnotationPin) })
	w.fleet().ExpectImages(map[string]int{"nginx:1.27": 2})
	w.expectManager(2)
	w.must(w.giveBack(suite.Client))
	w.awaitDeployment(2)
}

// Between the check and the deletion the PodManager makes no pods, and what it is
// scaled to is what the workload gets.
func TestAPodManagerIsScaledDuringItsReturn(t *testing.T) {
	t.Parallel()
	for name, s := range subjects {
		for _, at := range []string{"update *v1.ConfigMap", "delete *v1.PodManager"} {
			t.Run(name+" before "+at, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				s.make(w)
				w.volume(2)
				w.volume(3)
				w.must(w.take(suite.Client, s.kind))
				w.expectManager(2)
				w.witness()
				scaled := during(at, func() { w.fleet().Scale(4) })
				// Where the first look finds it scaled already, it may have to wait.
				testkit.Eventually(t, "it is given back", func() error { return w.giveBack(scaled) })
				w.expectOwner(s.owner)
				testkit.Eventually(t, "four pods run", func() error {
					if n := len(w.live()); n != 4 {
						return fmt.Errorf("%d pods", n)
					}
					return nil
				})
				w.mu.Lock()
				defer w.mu.Unlock()
				if len(w.gone) > 0 || len(w.seen) != 4 {
					t.Errorf("pods went: %v; seen: %v", w.gone, w.seen)
				}
			})
		}
	}
}

// An interrupted return checks everything again.
func TestAReturnIsResumedAfterAnEdit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stateful(2)
	w.must(w.take(suite.Client, migrate.StatefulSets))
	w.expectManager(2)
	if err := w.giveBack(&writes{Client: suite.Client, killAt: "delete *v1.PodManager"}); err == nil {
		t.Fatal("it was not killed")
	}
	w.setImage("nginx:2.0")
	w.expectRefused(w.giveBack(suite.Client), "was changed since the migration")
	w.fleet().ExpectRolledOut(2)
	w.fleet().ExpectImages(map[string]int{"nginx:2.0": 2})
}

// A StatefulSet has no gaps: it would remove web-3, and with whenScaled: Delete its data.
func TestReservedOrdinalsAreNotGivenBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stateful(3)
	w.volume(3)
	w.must(w.take(suite.Client, migrate.StatefulSets))
	w.expectManager(3)
	w.fleet().Edit(func(pm *appsv1.PodManager) { pm.Spec.ReserveOrdinals = []int32{1} })
	testkit.Eventually(t, "web-3 takes the place of web-1", func() error {
		if names := w.fleet().Names(); !slices.Equal(names, []string{"web-0", "web-2", "web-3"}) {
			return fmt.Errorf("pods %v", names)
		}
		return nil
	})
	w.expectManager(3)
	w.witness()
	w.expectRefused(w.giveBack(suite.Client), "spec.reserveOrdinals")
	w.expectUntouched()
	w.expectOwner("PodManager")
}

// The revisions of a StatefulSet that was taken over are stored, not left behind.
func TestRevisionsOfAStatefulSetComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stateful(2)
	suite.Kubectl(t, "set", "image", "-n", w.namespace, "statefulset/web", "app=nginx:1.28")
	w.awaitStateful(2)
	w.must(w.take(suite.Client, migrate.StatefulSets))
	w.expectManager(2)
	w.expectRevisions("PodManager", 2)
	w.witness()
	w.must(w.giveBack(suite.Client))
	w.awaitStateful(2)
	w.expectUntouched()
	w.expectRevisions("StatefulSet", 2)
	suite.Kubectl(t, "rollout", "undo", "-n", w.namespace, "statefulset/web")
	w.awaitStateful(2)
	if got := w.statefulSet().Spec.Template.Spec.Containers[0].Image; got != "nginx:1.27" {
		t.Errorf("after rollout undo it asks for %s", got)
	}
}

// expectRevisions waits until all revisions in the namespace belong to a kind.
func (w *world) expectRevisions(owner string, n int) {
	w.Helper()
	testkit.Eventually(w, "the revisions are those of "+owner, func() error {
		var list kappsv1.ControllerRevisionList
		if err := suite.Client.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for i := range list.Items {
			if ref := metav1.GetControllerOf(&list.Items[i]); ref == nil || ref.Kind != owner {
				return fmt.Errorf("revision %s belongs to %v", list.Items[i].Name, ref)
			}
		}
		if len(list.Items) != n {
			return fmt.Errorf("%d revisions", len(list.Items))
		}
		return nil
	})
}

// Claims have the labels that they had, and those that the PodManager made have the
// labels that a StatefulSet gives its own.
func TestClaimsComeBackWithTheirLabels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stateful(2)
	w.volume(2)
	suite.Kubectl(t, "label", "-n", w.namespace, "pvc/data-web-0", "app.kubernetes.io/managed-by=Helm", "app.kubernetes.io/name=shop")
	w.must(w.take(suite.Client, migrate.StatefulSets))
	w.fleet().Scale(3)
	w.expectManager(3)
	w.must(w.giveBack(suite.Client))
	w.awaitStateful(3)
	var list corev1.PersistentVolumeClaimList
	w.must(suite.Client.List(t.Context(), &list, client.InNamespace(w.namespace)))
	got := map[string]string{}
	for i := range list.Items {
		raw, err := json.Marshal(list.Items[i].Labels)
		w.must(err)
		got[list.Items[i].Name] = string(raw)
	}
	want := map[string]string{
		"data-web-0": `{"app":"web","app.kubernetes.io/managed-by":"Helm","app.kubernetes.io/name":"shop"}`,
		"data-web-1": `{"app":"web"}`, "data-web-2": `{"app":"web"}`,
	}
	if !maps.Equal(got, want) {
		t.Errorf("the claims have the labels\n%v, want\n%v", got, want)
	}
}

// A run that was killed says nothing any more: another person need not come again.
func TestAnotherGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploy(2, "nginx:1.27")
	w.witness()
	if err := w.take(&writes{Client: suite.Client, kill: 3}, migrate.Deployments); err == nil {
		t.Fatal("it was not killed")
	}
	other := w.mover(suite.Client)
	other.Holder = "another person"
	found, err := migrate.Find(t.Context(), suite.Client, migrate.Deployments, w.key())
	w.must(err)
	w.must(other.TakeOver(t.Context(), migrate.Deployments, w.key(), found))
	w.expectManager(2)
	w.expectUntouched()
}

// What waiting does not change is not put off.
func TestAnObstacleThatStaysIsNamed(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ spec, labels, want string }{
		"a reserved label in the template": {"replicas: 1", "{app: web, podmanager: mine}", "spec.template.metadata.labels[podmanager]"},
		"created paused":                   {"replicas: 1, paused: true", "{app: web}", "kubectl rollout resume deployment/web"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.fleet().ApplyYAML(fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {%s, selector: {matchLabels: {app: web}}, template: {metadata: {labels: %s}, spec: {containers: [{name: app, image: "nginx:1.27"}]}}}
`, test.spec, test.labels))
			testkit.Eventually(t, "its controller has seen it", func() error {
				if d := w.deployment(); d.Status.ObservedGeneration < d.Generation || !d.Spec.Paused && d.Status.AvailableReplicas < 1 {
					return fmt.Errorf("status %+v", d.Status)
				}
				return nil
			})
			err := w.take(suite.Client, migrate.Deployments)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "wait until") {
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
		})
	}
}
