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

package dashboard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
	"github.com/mycompany/pod-operator/test/browser"
)

const (
	fleets, podsEach = 200, 10
	// Of each ten fleets one is stuck, one has too few pods and one moves.
	stuckOfTen, shortOfTen, movingOfTen = 0, 1, 2
)

// region is a server with many fleets, in memory. The pods of the first are there.
func region(t *testing.T) http.Handler {
	t.Helper()
	return regionBehind(t, openDoor())
}

func regionBehind(t *testing.T, door *Door) http.Handler {
	t.Helper()
	if err := appsv1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	const soon = 10 * time.Minute // what moves does so until the test is over
	objects := []client.Object{}
	for i := range podsEach {
		objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}})
	}
	for i := range fleets {
		pm := member(i, now, now.Add(soon))
		objects = append(objects, pm)
		for n := range int(pm.Status.ReadyReplicas) {
			if i < 10 { // a look at their pods does not change what they are
				pod := resident(pm, n)
				pod.Name, pod.CreationTimestamp = fmt.Sprintf("%s-%d", pm.Name, n), metav1.NewTime(now.Add(-time.Hour))
				pod.Labels[appsv1.LabelRevision] = "rev-2"
				objects = append(objects, pod)
			}
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).Build()
	recorder, err := flightrecorder.New(flightrecorder.Config{})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := New(Parts{
		Door: door, Cache: observe.Indexed(c, appsv1.LabelName), Live: c, Recorder: recorder, Clock: clock.RealClock{},
		PodManagers: Kind{Resource: appsv1.GroupVersion.WithResource("podmanagers"), Kind: "PodManager", Served: func() bool { return true }},
	}).Handler()
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

func member(i int, now, last time.Time) *appsv1.PodManager {
	long := metav1.NewTime(now.Add(-time.Hour))
	pm := &appsv1.PodManager{
		ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("team-%d", i%7), Name: fmt.Sprintf("svc-%d", i), UID: types.UID(fmt.Sprintf("uid-%d", i)), Generation: 1, CreationTimestamp: long},
		Spec:       appsv1.PodManagerSpec{Replicas: ptr.To[int32](podsEach), Image: fmt.Sprintf("registry.example.com/team/svc:%d.4.1", i)},
	}
	state, reason, message, ready, moved := appsv1.ConditionReady, "Available", "10 of 10 pods are available", podsEach, long
	switch i % 10 {
	case stuckOfTen:
		state, reason, message, ready = appsv1.ConditionReconciling, "WaitingForPods", "3 of 10 pods are available; 7 of 10 pods cannot be scheduled: 0/3 nodes are available: 3 Too many pods", 3
	case shortOfTen:
		state, reason, message, ready, moved = appsv1.ConditionReconciling, "Replacing", "5 of 10 pods are available; 5 of 10 pods are starting", 5, metav1.NewTime(last)
	case movingOfTen:
		state, reason, message, ready, moved = appsv1.ConditionReconciling, "RollingOut", "4 of 10 pods are on revision rev-2", 9, metav1.NewTime(last)
	}
	count := int32(ready)
	pm.Status = appsv1.PodManagerStatus{
		ObservedGeneration: 1, CurrentReplicas: count, ReadyReplicas: count, AvailableReplicas: count, UpdatedReplicas: count,
		CurrentRevision: "rev-2", UpdateRevision: "rev-2",
		Conditions: conditionsOf(state, reason, ready >= 8, long), History: []appsv1.Decision{{Time: moved, Action: "Created", Reason: "ScaleUp", Count: 1, Pods: []string{"svc-0"}}},
	}
	for j := range pm.Status.Conditions {
		pm.Status.Conditions[j].Message = message
	}
	return pm
}

// Severity is what users lose: the overview begins with what is stuck, and says so.
func TestTheOverviewBeginsWithWhatIsStuck(t *testing.T) {
	https := httptest.NewTLSServer(region(t))
	t.Cleanup(https.Close)
	b := browser.Open(t, https.URL, "a-token")
	b.See("all fleets are counted by what users lose", `document.getElementById('overview-text').textContent === '200 fleets, 20 stuck, 20 with too few pods, 20 changing'`)
	rows := `[...document.querySelectorAll('#overview-rows tr')]`
	b.See("what is stuck is first, then what has too few pods", rows+`.map(r => r.className.split(' ')[1]).filter((c, i, all) => c !== all[i - 1]).join() === 'stuck,short,moving,fine'`)
	b.See("the rows have images", rows+`.every(r => r.querySelector('.image').textContent.startsWith('svc:') && r.querySelector('.image').title.startsWith('registry.example.com/'))`)
	b.Keep("overview-200")
	b.Do("on a phone", chromedp.EmulateViewport(390, 844))
	b.See("each fleet is a card on the screen", rows+`.every(r => { const {left, right} = r.getBoundingClientRect(); return left >= 0 && right <= 390; }) && document.documentElement.scrollWidth <= 390`)
	b.See("the numbers have labels", `getComputedStyle(document.querySelector('[data-label=ready]'), '::before').content.includes('ready')`)
	b.Keep("overview-200-phone")
	b.Content()
}

// The search of the overview finds pods by their names and nodes.
func TestTheOverviewFindsPodsAndNodes(t *testing.T) {
	https := httptest.NewTLSServer(region(t))
	t.Cleanup(https.Close)
	b := browser.Open(t, https.URL, "a-token")
	search := func(text string) chromedp.Action {
		return chromedp.Evaluate(fmt.Sprintf(`(() => { const e = document.getElementById('search'); e.value = %q; e.dispatchEvent(new Event('input')); })()`, text), nil)
	}
	b.See("the fleets are there", `document.querySelectorAll('#overview-rows tr').length === 200`)
	b.Do("look for a pod", search("svc-5-7"))
	b.See("it is found, with its fleet", `document.querySelectorAll('#found-pods li').length === 1 && document.getElementById('found-pods').textContent.includes('PodManager svc-5')`)
	b.Do("look for a node", search("node-9"))
	b.See("its pods are found", `document.querySelectorAll('#found-pods li').length === 7 && document.getElementById('found-title').textContent.startsWith('7 pods')`)
	b.Keep("search")
	b.Do("open one", chromedp.Click(`#found-pods a`))
	b.See("the pod is open", `document.getElementById('drawer').open && location.hash.includes('pod=svc-')`)
	b.Content()
}

// People who see little, or work without a mouse, can use each view.
func TestThePageHasNoBarriers(t *testing.T) {
	https := httptest.NewTLSServer(region(t))
	t.Cleanup(https.Close)
	for _, prefers := range []string{"light", "dark"} {
		t.Run(prefers, func(t *testing.T) {
			b := browser.Open(t, https.URL, "", browser.Prefer(prefers))
			b.See("one can sign in", `!document.getElementById('login').hidden`)
			b.Barriers("the login")
			open := func(view, ready string) {
				b.Do("open "+view, chromedp.Evaluate(fmt.Sprintf(`location.hash = %q + (%[1]q.includes('?') ? '&' : '?') + (sessionStorage.getItem('token') ? '' : 'token=a-token')`, view), nil))
				b.See(view+" is there", ready)
				b.Barriers(view)
			}
			open("/", `document.querySelectorAll('#overview-rows tr').length === 200`)
			for i, state := range map[int]string{0: "stuck", 3: "fine"} {
				open(fmt.Sprintf("/podmanagers/team-%d/svc-%d", i, i), fmt.Sprintf(`document.getElementById('fleet-name').textContent === 'team-%d/svc-%d' && document.querySelectorAll('.tile').length > 0`, i, i))
				b.Keep(state + "-" + prefers)
			}
			open("/podmanagers/team-3/svc-3?pod=svc-3-0", `document.getElementById('drawer').open && document.getElementById('tab').textContent.includes('node-0')`)
			b.Keep("drawer-" + prefers)
			b.Content()
		})
	}
}

// Of a pod that is gone nothing can be deleted, and of what is missing there are empty
// tiles.
func TestWhatIsMissingIsShownAsMissing(t *testing.T) {
	https := httptest.NewTLSServer(region(t))
	t.Cleanup(https.Close)
	b := browser.OpenAt(t, https.URL, "/podmanagers/team-0/svc-0?pod=svc-0-9", "a-token")
	b.See("the drawer says that there is no such pod", `document.getElementById('drawer').open && document.getElementById('tab').textContent.includes('There is no pod svc-0-9')`)
	b.See("its deletion is not offered", `!document.getElementById('delete-pod')`)
	b.Do("close it", chromedp.Click("#close"))
	b.See("it is closed, and the address names no pod", `!document.getElementById('drawer').open && !location.hash.includes('pod=')`)
	b.See("three pods are there and seven places are empty", `document.querySelectorAll('.tile').length === 3 && document.querySelectorAll('.gap').length === 7`)
	b.See("the reason is a banner", `document.getElementById('fleet-message').classList.contains('banner')`)
	b.Do("follow a link to what does not exist", chromedp.Evaluate(`location.hash = '#/podmanagers/team-0/none'`, nil))
	b.See("the page says so, and shows the others", `document.getElementById('say').checkVisibility() && document.getElementById('say').textContent.includes('There is no PodManager team-0/none') && document.querySelectorAll('#overview-rows tr').length === 200`)
	b.Content()
}
