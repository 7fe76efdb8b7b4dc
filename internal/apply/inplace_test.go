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

package apply

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/plan"
)

// A patch holds for the very pod that was read: one that was asked to go since
// is another.
func TestPatchesCarryTheResourceVersion(t *testing.T) {
	for _, verb := range []plan.Verb{plan.UpdatePod, plan.TellHolder} {
		t.Run(string(verb), func(t *testing.T) {
			w := newWorld(t, pod("web-0", controlledBy(me)))
			seen := plan.Action{Verb: verb, Pod: "web-0", UID: "uid-web-0", ResourceVersion: "999", Wanted: "delete"}
			outcomes, err := w.apply(t, seen)
			if diff := cmp.Diff([]plan.Result{plan.Done}, results(outcomes)); diff != "" || err != nil {
				t.Errorf("error %v, results (-want +got):\n%s", err, diff)
			}
			if body := decode(t, w.patches["web-0"]); body.Metadata.UID != "uid-web-0" || body.Metadata.ResourceVersion != "999" {
				t.Errorf("the patch carries uid %q and version %q", body.Metadata.UID, body.Metadata.ResourceVersion)
			}
		})
	}
}

// The second patch of a pod in one run holds for what the first one left.
func TestAPatchFollowsAnother(t *testing.T) {
	w := newWorld(t, pod("web-0", controlledBy(me)))
	first := plan.Action{Verb: plan.TellHolder, Pod: "web-0", UID: "uid-web-0", ResourceVersion: "999", Wanted: "update"}
	second := first
	second.Verb, second.Revision = plan.UpdatePod, "web-2"
	outcomes, err := w.apply(t, first, second)
	if diff := cmp.Diff([]plan.Result{plan.Done, plan.Done}, results(outcomes)); diff != "" || err != nil {
		t.Errorf("error %v, results (-want +got):\n%s", err, diff)
	}
	if body := decode(t, w.patches["web-0"]); body.Metadata.ResourceVersion != "1000" {
		t.Errorf("the second patch carries version %q, want 1000", body.Metadata.ResourceVersion)
	}
}

// A patch that comes too late is no error: the next look decides anew. What
// follows from it in this run is not done, and the rest is.
func TestAPatchThatComesTooLate(t *testing.T) {
	w := newWorld(t, pod("web-0", controlledBy(me)), pod("web-1", controlledBy(me)))
	w.answer = func(request string) error {
		if request == "patch web-0" {
			return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web-0", nil)
		}
		return nil
	}
	actions := []plan.Action{
		{Verb: plan.UpdatePod, Pod: "web-0", UID: "uid-web-0", ResourceVersion: "5"},
		{Verb: plan.UpdatePod, Pod: "web-1", UID: "uid-web-1", ResourceVersion: "999"},
		{Verb: plan.CreatePod, Pod: "web-2", Slot: 2},
		{Verb: plan.RemoveFinalizer},
	}
	outcomes, err := w.apply(t, actions...)
	want := []plan.Result{plan.Outdated, plan.Done, plan.Done, plan.Skipped}
	if diff := cmp.Diff(want, results(outcomes)); diff != "" || err != nil {
		t.Errorf("error %v, results (-want +got):\n%s", err, diff)
	}
	if !slices.Contains(w.ledger.list, "wrote web-0") {
		t.Error("the next look does not wait for the version that the API server has")
	}
	if _, ok := w.patches["web-1"]; !ok {
		t.Error("the other pod was not changed")
	}
}

// Actions of one verb run in parallel once the first has worked, also when the plan
// names them in turn with others.
func TestActionsThatAlternateRunInParallel(t *testing.T) {
	w := newWorld(t, pod("web-0", controlledBy(me)), pod("web-1", controlledBy(me)), pod("web-2", controlledBy(me)))
	met := make(chan struct{})
	w.answer = func(request string) error {
		if request == "patch web-0" {
			return nil
		}
		if request == "patch web-2" && w.asked("patch web-2") == 1 {
			close(met)
			return nil
		}
		select {
		case <-met:
			return nil
		case <-time.After(10 * time.Second):
			return errors.New("web-2 was not patched meanwhile")
		}
	}
	var actions []plan.Action
	for _, name := range []string{"web-0", "web-1", "web-2"} {
		update := plan.Action{Verb: plan.UpdatePod, Pod: name, UID: types.UID("uid-" + name), ResourceVersion: "999", Revision: "web-2"}
		tell := update
		tell.Verb, tell.Wanted = plan.TellHolder, "delete"
		actions = append(actions, update, tell)
	}
	outcomes, err := w.apply(t, actions...)
	if diff := cmp.Diff(slices.Repeat([]plan.Result{plan.Done}, 6), results(outcomes)); diff != "" || err != nil {
		t.Errorf("error %v, results (-want +got):\n%s", err, diff)
	}
	for i := range actions {
		if outcomes[i].Action.Verb != actions[i].Verb || outcomes[i].Action.Pod != actions[i].Pod {
			t.Errorf("outcome %d is of %s %s", i, outcomes[i].Action.Verb, outcomes[i].Action.Pod)
		}
	}
}

// container is a container with an image and, where given, a size.
func container(name, image string, requests corev1.ResourceList) corev1.Container {
	return corev1.Container{Name: name, Image: image, Resources: corev1.ResourceRequirements{Requests: requests}}
}

func cpu(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(amount)}
}

func templateOf(init []corev1.Container, containers ...corev1.Container) *corev1.PodTemplateSpec {
	return &corev1.PodTemplateSpec{Spec: corev1.PodSpec{InitContainers: init, Containers: containers}}
}

// between are two revisions, old and new.
func between(old, updated *corev1.PodTemplateSpec) func(string) (*corev1.PodTemplateSpec, error) {
	return func(revision string) (*corev1.PodTemplateSpec, error) {
		switch revision {
		case "old":
			return old, nil
		case "new":
			return updated, nil
		}
		return nil, fmt.Errorf("revision %q is not stored", revision)
	}
}

func move(verb plan.Verb) plan.Action {
	return plan.Action{Verb: verb, Pod: "web-0", UID: "uid-web-0", ResourceVersion: "999", From: "old", Revision: "new"}
}

// TestAResizeNamesTheContainersWhoseSizeChanges, and no others: one that only the
// new template has cannot be added to a pod.
func TestAResizeNamesTheContainersWhoseSizeChanges(t *testing.T) {
	const head = `{"metadata":{"uid":"uid-web-0","resourceVersion":"999"},"spec":{`
	limits := func(c corev1.Container, limits corev1.ResourceList) corev1.Container {
		c.Resources.Limits = limits
		return c
	}
	one, two := cpu("1"), cpu("2")
	for name, test := range map[string]struct {
		old, updated *corev1.PodTemplateSpec
		want         string
	}{
		"the first of two": {
			templateOf(nil, container("app", "app:1", one), container("log", "log:1", one)),
			templateOf(nil, container("app", "app:1", two), container("log", "log:1", one)),
			head + `"containers":[{"name":"app","resources":{"requests":{"cpu":"2"}}}]}}`,
		},
		"the second of two": {
			templateOf(nil, container("app", "app:1", one), container("log", "log:1", one)),
			templateOf(nil, container("app", "app:1", one), container("log", "log:1", two)),
			head + `"containers":[{"name":"log","resources":{"requests":{"cpu":"2"}}}]}}`,
		},
		"both, in another order": {
			templateOf(nil, container("app", "app:1", one), container("log", "log:1", two)),
			templateOf(nil, container("log", "log:1", one), container("app", "app:1", two)),
			head + `"containers":[{"name":"log","resources":{"requests":{"cpu":"1"}}},{"name":"app","resources":{"requests":{"cpu":"2"}}}]}}`,
		},
		"a sidecar": {
			templateOf([]corev1.Container{container("proxy", "proxy:1", one)}, container("app", "app:1", one)),
			templateOf([]corev1.Container{container("proxy", "proxy:1", two)}, container("app", "app:1", one)),
			head + `"initContainers":[{"name":"proxy","resources":{"requests":{"cpu":"2"}}}]}}`,
		},
		"a limit, which is also the request": {
			templateOf(nil, limits(container("app", "app:1", nil), one)),
			templateOf(nil, limits(container("app", "app:1", nil), two)),
			head + `"containers":[{"name":"app","resources":{"limits":{"cpu":"2"},"requests":{"cpu":"2"}}}]}}`,
		},
		"the same size, written in another way": {
			templateOf(nil, container("app", "app:1", one), container("log", "log:1", one)),
			templateOf(nil, container("app", "app:1", cpu("1000m")), container("log", "log:1", two)),
			head + `"containers":[{"name":"log","resources":{"requests":{"cpu":"2"}}}]}}`,
		},
		"a container that only one template has": {
			templateOf(nil, container("gone", "gone:1", one), container("app", "app:1", one)),
			templateOf(nil, container("new", "new:1", two), container("app", "app:1", two)),
			head + `"containers":[{"name":"app","resources":{"requests":{"cpu":"2"}}}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, pod("web-0", controlledBy(me)))
			w.template = between(test.old, test.updated)
			outcomes, err := w.apply(t, move(plan.ResizePod))
			if diff := cmp.Diff([]plan.Result{plan.Done}, results(outcomes)); diff != "" || err != nil {
				t.Errorf("error %v, results (-want +got):\n%s", err, diff)
			}
			if diff := cmp.Diff(test.want, w.patches["web-0/resize"]); diff != "" {
				t.Errorf("the patch (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"wrote web-0"}, w.ledger.list); diff != "" {
				t.Errorf("the ledger (-want +got):\n%s", diff)
			}
		})
	}
}

// A pod with the size of another revision than its own is resized from there.
func TestAResizeStartsFromTheSizeThatThePodHas(t *testing.T) {
	for name, unchanged := range map[string]bool{"the API server follows": false, "a webhook puts the size back": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, pod("web-0", controlledBy(me)))
			w.unchanged = unchanged
			same := templateOf(nil, container("app", "app:1", cpu("1")))
			w.template = func(revision string) (*corev1.PodTemplateSpec, error) {
				if revision == "between" {
					return templateOf(nil, container("app", "app:1", cpu("2"))), nil
				}
				return same, nil
			}
			action := move(plan.ResizePod)
			action.SizeOf = "between"
			outcomes, err := w.apply(t, action)
			want := plan.Done
			if unchanged {
				want = plan.Refused
			}
			if outcomes[0].Result != want {
				t.Errorf("error %v, outcome %+v, want %s", err, outcomes[0], want)
			}
			if got := w.patches["web-0/resize"]; !strings.Contains(got, `{"name":"app","resources":{"requests":{"cpu":"1"}}}`) {
				t.Errorf("the patch is %s", got)
			}
		})
	}
}

// TestAnUpdateNamesTheContainersWhoseImageChanges, and takes away what only the old
// template had. The containers that it replaces are noted as they were.
func TestAnUpdateNamesTheContainersWhoseImageChanges(t *testing.T) {
	const head = `{"metadata":{"uid":"uid-web-0","resourceVersion":"999",` +
		`"labels":{"apps.mycompany.com/revision":"new","podmanager":"web","podmanager-uid":"me"}`
	marks := []plan.ContainerMark{{Name: "app", ContainerID: "c", ImageID: "i", Image: "app:1"}}
	annotated := func(t *corev1.PodTemplateSpec, key, value string) *corev1.PodTemplateSpec {
		t.Annotations = map[string]string{key: value}
		return t
	}
	app := container("app", "app:1", nil)
	for name, test := range map[string]struct {
		old, updated *corev1.PodTemplateSpec
		replaced     []plan.ContainerMark
		want         string
	}{
		"nothing but the revision": {templateOf(nil, app), templateOf(nil, app), nil, head + `}}`},
		"an annotation": {
			annotated(templateOf(nil, app), "a", "1"), annotated(templateOf(nil, app), "b", "2"), nil,
			head + `,"annotations":{"a":null,"b":"2"}}}`,
		},
		"the image of the first of two": {
			templateOf(nil, app, container("log", "log:1", nil)), templateOf(nil, container("app", "app:2", nil), container("log", "log:1", nil)), marks,
			head + `,"annotations":{"apps.mycompany.com/in-place":` +
				`"[{\"name\":\"app\",\"containerID\":\"c\",\"imageID\":\"i\",\"image\":\"app:1\"}]"}},"spec":{"containers":[{"name":"app","image":"app:2"}]}}`,
		},
		"the image of the second of two": {
			templateOf(nil, app, container("log", "log:1", nil)), templateOf(nil, app, container("log", "log:2", nil)), nil,
			head + `},"spec":{"containers":[{"name":"log","image":"log:2"}]}}`,
		},
		"the image of an init container": {
			templateOf([]corev1.Container{container("setup", "setup:1", nil)}, app), templateOf([]corev1.Container{container("setup", "setup:2", nil)}, app), nil,
			head + `},"spec":{"initContainers":[{"name":"setup","image":"setup:2"}]}}`,
		},
		"images of both kinds": {
			templateOf([]corev1.Container{container("setup", "setup:1", nil)}, app),
			templateOf([]corev1.Container{container("setup", "setup:2", nil)}, container("app", "app:2", nil)), nil,
			head + `},"spec":{"containers":[{"name":"app","image":"app:2"}],"initContainers":[{"name":"setup","image":"setup:2"}]}}`,
		},
		"containers that only one template has": {
			templateOf(nil, container("gone", "gone:1", nil), app), templateOf(nil, container("new", "new:1", nil), container("app", "app:2", nil)), nil,
			head + `},"spec":{"containers":[{"name":"app","image":"app:2"}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, pod("web-0", controlledBy(me)))
			w.template = between(test.old, test.updated)
			update := move(plan.UpdatePod)
			update.Replaced = test.replaced
			if _, err := w.apply(t, update); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, w.patches["web-0"]); diff != "" {
				t.Errorf("the patch (-want +got):\n%s", diff)
			}
		})
	}
}

// TestARevisionThatIsNotStoredChangesNoPod: half of a change is none.
func TestARevisionThatIsNotStoredChangesNoPod(t *testing.T) {
	for _, verb := range []plan.Verb{plan.ResizePod, plan.UpdatePod} {
		for name, change := range map[string]func(*plan.Action){
			"the one it is on":    func(a *plan.Action) { a.From = "lost" },
			"the one it moves to": func(a *plan.Action) { a.Revision = "lost" },
		} {
			t.Run(string(verb)+" "+name, func(t *testing.T) {
				w := newWorld(t, pod("web-0", controlledBy(me)))
				w.template = between(templateOf(nil), templateOf(nil))
				action := move(verb)
				change(&action)
				outcomes, err := w.apply(t, action)
				if err == nil || outcomes[0].Result != plan.Failed || len(w.requests) > 0 {
					t.Errorf("%v, %v, requests %v", results(outcomes), err, w.requests)
				}
			})
		}
	}
}

// TestGates: opening and shutting are told apart, and say why.
func TestGates(t *testing.T) {
	for verb, status := range map[plan.Verb]string{plan.OpenGate: "True", plan.ShutGate: "False"} {
		t.Run(string(verb), func(t *testing.T) {
			w := newWorld(t, pod("web-0", controlledBy(me)))
			action := move(verb)
			action.Why = plan.Why{Reason: "Because", Message: "of this"}
			if _, err := w.apply(t, action); err != nil {
				t.Fatal(err)
			}
			want := `{"metadata":{"uid":"uid-web-0","resourceVersion":"999"},"status":{"conditions":[{"type":"` + string(appsv1.GateInService) +
				`","status":"` + status + `","lastProbeTime":null,"lastTransitionTime":"1970-01-01T00:00:00Z","reason":"Because","message":"of this"}]}}`
			if diff := cmp.Diff(want, w.patches["web-0/status"]); diff != "" {
				t.Errorf("the patch (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheHolderIsAskedAndReleased: what is no longer wanted is taken off.
func TestTheHolderIsAskedAndReleased(t *testing.T) {
	for wanted, want := range map[string]string{"delete": `"delete"`, "update": `"update"`, "": "null"} {
		t.Run(wanted, func(t *testing.T) {
			w := newWorld(t, pod("web-0", controlledBy(me)))
			action := move(plan.TellHolder)
			action.Wanted = wanted
			if _, err := w.apply(t, action); err != nil {
				t.Fatal(err)
			}
			want := `{"metadata":{"uid":"uid-web-0","resourceVersion":"999","labels":{"` + appsv1.LabelWanted + `":` + want + `}}}`
			if diff := cmp.Diff(want, w.patches["web-0"]); diff != "" {
				t.Errorf("the patch (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAStandInLosesItsMarks: the pod is one of the fleet's now, and was not moved.
func TestAStandInLosesItsMarks(t *testing.T) {
	w := newWorld(t, pod("web-0", controlledBy(me)))
	if _, err := w.apply(t, move(plan.KeepPod)); err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{"uid":"uid-web-0","resourceVersion":"999","annotations":{"` + appsv1.AnnotationRebalancedTo + `":null,"` + appsv1.AnnotationSurge + `":null}}}`
	if diff := cmp.Diff(want, w.patches["web-0"]); diff != "" {
		t.Errorf("the patch (-want +got):\n%s", diff)
	}
}

// budgetError is what the API server answers when a PodDisruptionBudget has no room.
func budgetError() error {
	const words = "The disruption budget web needs 3 healthy pods and has 3 currently"
	err := apierrors.NewTooManyRequests(words, 0)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: words}}
	return err
}

// TestEvictions: exactly the pod that was seen. One that is gone needs none, and one
// that is refused stays.
func TestEvictions(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		answer error
		want   plan.Result
		ledger []string
	}{
		"it is evicted":          {nil, plan.Done, []string{"took away web-0"}},
		"it is gone already":     {apierrors.NewNotFound(pods, "web-0"), plan.Done, []string{"took away web-0"}},
		"a budget has no room":   {budgetError(), plan.Refused, nil},
		"it is busy":             {apierrors.NewTooManyRequests("busy", 1), plan.Failed, nil},
		"the API server is gone": {errors.New("connection refused"), plan.Failed, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, pod("web-0", controlledBy(me)))
			w.answer = func(string) error { return test.answer }
			evict := move(plan.EvictPod)
			evict.Grace = ptr.To[int64](5)
			outcomes, _ := w.apply(t, evict)
			if outcomes[0].Result != test.want {
				t.Errorf("the outcome is %+v", outcomes[0])
			}
			if diff := cmp.Diff(test.ledger, w.ledger.list); diff != "" {
				t.Errorf("the ledger (-want +got):\n%s", diff)
			}
			want := &metav1.Preconditions{UID: ptr.To(types.UID("uid-web-0")), ResourceVersion: ptr.To("999")}
			if diff := cmp.Diff(want, w.evictions["web-0"].DeleteOptions.Preconditions); diff != "" {
				t.Errorf("the precondition (-want +got):\n%s", diff)
			}
			if got := w.evictions["web-0"].DeleteOptions.GracePeriodSeconds; ptr.Deref(got, 0) != 5 {
				t.Errorf("the grace period is %v", got)
			}
		})
	}
}
