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
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
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

// openDoor lets every visitor with a token do everything.
func openDoor() *Door {
	return &Door{
		authenticator: authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
			if r.Header.Get("Authorization") == "" {
				return nil, false, errors.New("invalid bearer token")
			}
			r.Header.Del("Authorization") // as the real one does
			return &authenticator.Response{User: &user.DefaultInfo{Name: "ada"}}, true, nil
		}),
		authorizer: authorizer.AuthorizerFunc(func(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
			return authorizer.DecisionAllow, "", nil
		}),
	}
}

const largeFleet, zones = 5000, 3

// town is a server with one large fleet, in memory.
func town(t *testing.T) (*httptest.Server, client.Client) {
	t.Helper()
	if err := appsv1.AddToScheme(scheme.Scheme); err != nil {
		t.Fatal(err)
	}
	pm := &appsv1.PodManager{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web-uid", Generation: 1},
		Spec:       appsv1.PodManagerSpec{Replicas: ptr.To[int32](largeFleet), Image: "nginx:1.28"},
		Status: appsv1.PodManagerStatus{
			CurrentReplicas: largeFleet, ReadyReplicas: largeFleet, UpdatedReplicas: largeFleet / 2,
			CurrentRevision: "web-old", UpdateRevision: "web-new",
		},
	}
	objects := []client.Object{pm}
	for i := range 60 {
		objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("node-%d", i), Labels: map[string]string{corev1.LabelTopologyZone: fmt.Sprintf("zone-%d", i%zones)},
		}})
	}
	for i := range largeFleet {
		objects = append(objects, resident(pm, i))
	}
	c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(objects...).WithStatusSubresource(&corev1.Pod{}).Build()
	recorder, err := flightrecorder.New(flightrecorder.Config{})
	if err != nil {
		t.Fatal(err)
	}
	server := New(Parts{
		Door: openDoor(), Cache: observe.Indexed(c, appsv1.LabelName), Live: c, Recorder: recorder, Clock: clock.RealClock{},
		PodManagers: Kind{Resource: appsv1.GroupVersion.WithResource("podmanagers"), Kind: "PodManager", Served: func() bool { return true }},
	})
	handler, err := server.Handler()
	if err != nil {
		t.Fatal(err)
	}
	https := httptest.NewTLSServer(handler)
	t.Cleanup(https.Close)
	return https, c
}

func resident(pm *appsv1.PodManager, i int) *corev1.Pod {
	revision := "web-new"
	if i%2 == 1 {
		revision = "web-old"
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pm.Namespace, Name: fmt.Sprintf("web-%d", i),
			Labels: map[string]string{
				appsv1.LabelName: pm.Name, appsv1.LabelUID: string(pm.UID), appsv1.LabelRevision: revision, appsv1.LabelSlot: strconv.Itoa(i),
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pm, appsv1.GroupVersion.WithKind("PodManager"))},
		},
		Spec: corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", i%60), Containers: []corev1.Container{{Name: "app", Image: "nginx:1.28"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		},
	}
}

// meter reads how long the page has been busy, in seconds, and how many DOM
// nodes it has.
func meter(b *browser.Tab) (busy, nodes float64) {
	b.Helper()
	b.Do("read the meter", chromedp.ActionFunc(func(ctx context.Context) error {
		metrics, err := performance.GetMetrics().Do(ctx)
		for _, m := range metrics {
			switch m.Name {
			case "ScriptDuration", "LayoutDuration", "RecalcStyleDuration":
				busy += m.Value
			case "Nodes":
				nodes = m.Value
			}
		}
		return err
	}))
	return busy, nodes
}

// The page stays fluent with 5,000 pods because it touches what changed and
// nothing else. That is counted, as mutations of the document per changed pod.
func TestThePageIsFluentWithFiveThousandPods(t *testing.T) {
	https, c := town(t)
	b := browser.OpenAt(t, https.URL, "/podmanagers/shop/web", "a-token", performance.Enable())
	b.See("all tiles are there", fmt.Sprintf(`document.querySelectorAll('.tile').length === %d`, largeFleet))
	b.See("in two groups", `document.querySelectorAll('.group').length === 2`)
	first, nodes := meter(b)
	if limit := float64(4*largeFleet + 5000); nodes > limit {
		t.Errorf("%.0f DOM nodes for %d pods, more than %.0f", nodes, largeFleet, limit)
	}

	b.Do("count mutations", chromedp.Evaluate(`window.mutations = 0;
		new MutationObserver((list) => { window.mutations += list.length; }).observe(document.getElementById('pods'),
			{subtree: true, childList: true, attributes: true, characterData: true})`, nil))
	const updates, changed = 5, 10
	for round := range updates {
		for i := range changed {
			pod := &corev1.Pod{}
			if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: fmt.Sprintf("web-%d", 100*round+i)}, pod); err != nil {
				t.Fatal(err)
			}
			pod.Status.Conditions[0].Status = corev1.ConditionFalse
			if err := c.Status().Update(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
		}
		b.Do("look now", chromedp.Evaluate(`document.dispatchEvent(new Event('visibilitychange'))`, nil))
		b.See("the changed tiles change", fmt.Sprintf(`document.querySelectorAll('.tile.ready').length === %d`, largeFleet-changed*(round+1)))
	}
	total, _ := meter(b)
	var mutations int
	b.Do("read the count", chromedp.Evaluate(`window.mutations`, &mutations))
	// The times are told and not judged: they hold what else the machine did. The count of mutations is what guards them.
	update := (total - first) / updates
	t.Logf("%d pods: %.0f DOM nodes, first drawing %.0f ms of the page's time, an update %.0f ms, %d mutations for %d changed pods",
		largeFleet, nodes, 1000*first, 1000*update, mutations, updates*changed)
	if most := 10 * updates * changed; mutations > most {
		t.Errorf("%d mutations for %d changed pods, more than %d", mutations, updates*changed, most)
	}

	b.Do("walk", chromedp.Focus(`.tile[tabindex="0"]`), chromedp.KeyEvent(kb.End))
	b.See("the end is the last pod", `document.activeElement.dataset.pod === 'web-4999'`)
	b.Do("walk up", chromedp.KeyEvent(kb.ArrowUp))
	b.See("up is in another row", `document.activeElement.classList.contains('tile') && document.activeElement.dataset.pod !== 'web-4999'`)
	b.Do("group by zone", chromedp.SetValue("#group", "zone"), chromedp.Evaluate(`document.getElementById('group').dispatchEvent(new Event('change'))`, nil))
	b.See("a group for each zone", fmt.Sprintf(`document.querySelectorAll('.group').length === %d && document.querySelectorAll('.tile').length === %d`, zones, largeFleet))
	b.Do("search", chromedp.SetValue("#search", "web-4242"), chromedp.Evaluate(`document.getElementById('search').dispatchEvent(new Event('input'))`, nil))
	b.See("the search finds one of them", fmt.Sprintf(`document.querySelectorAll('.tile:not(.off)').length === 1 && document.querySelectorAll('.tile.off').length === %d`, largeFleet-1))
	b.Do("search no more", chromedp.Evaluate(`document.getElementById('search').value = ''; document.getElementById('search').dispatchEvent(new Event('input'))`, nil))
	b.See("all are back", `document.querySelectorAll('.tile.off').length === 0`)
	b.Do("scroll up", chromedp.Evaluate(`window.scrollTo(0, 0)`, nil))
	b.Keep("5000")
	b.Content()
}
