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
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/dashboard"
	"github.com/mycompany/pod-operator/internal/flight"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/browser"
)

// owner makes a person who may do all that the page offers.
func owner(t testing.TB, namespace string) (token string) {
	t.Helper()
	token = person(t, namespace, "owner", editorRole)
	suite.Create(t, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pods"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list", "create", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}},
		{APIGroups: []string{"apps"}, Resources: []string{"controllerrevisions"}, Verbs: []string{"list"}},
	}})
	suite.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pods"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "pods"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "owner"}},
	})
	testkit.Eventually(t, "the owner has all rights", func() error {
		rights := rightsOf(t, namespace, token)
		if len(rights.Actions) != 8 || len(rights.Sights) != 4 {
			return fmt.Errorf("they are %+v", rights)
		}
		return nil
	})
	return token
}

func rightsOf(t testing.TB, namespace, token string) dashboard.Rights {
	t.Helper()
	var rights dashboard.Rights
	read(t, "/api/fleets/podmanagers/"+namespace+"/web/rights", token, &rights)
	return rights
}

// choose sets an input of a dialog as a person does.
func choose(selector, value string) chromedp.Action {
	return chromedp.Evaluate(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.value = %q; e.dispatchEvent(new Event('input', {bubbles: true})); })()`, selector, value), nil)
}

const planText = `document.getElementById('ask-plan').textContent`

// do opens an action, waits for words of its plan, and agrees.
func do(b *browser.Tab, action string, inputs []chromedp.Action, plan string) {
	b.Helper()
	b.See(action+" is offered", fmt.Sprintf(`document.querySelector('[data-action=%q]') !== null`, action))
	b.Do("open "+action, chromedp.Click(fmt.Sprintf(`[data-action=%q]`, action)))
	b.Do("fill it in", inputs...)
	b.See("the plan of "+action+" is shown", fmt.Sprintf(`%s.includes(%q) && !document.getElementById('ask-do').disabled`, planText, plan))
	b.Do("agree", chromedp.Click("#ask-do"))
	b.See("the dialog is closed", `!document.getElementById('ask').open`)
}

func podManager(t testing.TB, namespace string) *appsv1.PodManager {
	t.Helper()
	pm := &appsv1.PodManager{}
	if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web"}, pm); err != nil {
		t.Fatal(err)
	}
	return pm
}

// Every action shows its plan, is done with the person's own rights, and is in the
// audit log as that person's.
func TestActionsArePlannedAndDoneAsTheViewer(t *testing.T) {
	namespace := suite.NamespaceNamed(t, "shop")
	fleet(t, namespace, "web", 3)
	token := owner(t, namespace)
	mark, err := suite.Cluster.AuditMark()
	if err != nil {
		t.Fatal(err)
	}
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web", token)
	b.See("three tiles are ready", `document.querySelectorAll('.tile.ready').length === 3`)

	do(b, "scale", []chromedp.Action{choose("#ask-fields input", "5")}, "2 pods will be created")
	b.See("five tiles are ready", `document.querySelectorAll('.tile.ready').length === 5`)
	do(b, "pause", nil, "Nothing would happen")
	b.See("it says that it is paused", `document.getElementById('fleet-state').textContent.includes('paused')`)
	do(b, "set-image", []chromedp.Action{choose("#ask-fields input", "nginx:1.28")}, "held back")
	b.See("the pause holds the rollout back", `document.getElementById('blocked').textContent.includes('Paused')`)
	b.Do("open the plan of resume", chromedp.Click(`[data-action="resume"]`))
	b.See("it shows the waves", planText+`.includes('Wave 1') && `+planText+`.includes('5 pods will be changed in place')`)
	b.Keep("plan", "#ask-title", "#ask-plan", "#ask-do")
	b.Do("agree", chromedp.Click("#ask-do"))
	b.See("all pods follow", `document.querySelector('[data-count="up to date"]').textContent === '5' && document.getElementById('fleet-state').textContent === 'Ready'`)
	b.See("the revisions have a diff", `[...document.querySelectorAll('#revisions .added')].some(l => l.textContent.includes('nginx:1.28'))`)
	do(b, "undo", nil, "5 pods will be changed in place")
	b.See("the fleet is pinned to the first revision", `document.getElementById('fleet-state').textContent.includes('Pinned')`)
	do(b, "restart", nil, "5 pods will be recreated")
	testkit.Eventually(t, "the restart is asked for", func() error {
		if podManager(t, namespace).Annotations[appsv1.AnnotationRestart] == "" {
			return fmt.Errorf("it has %v", podManager(t, namespace).Annotations)
		}
		return nil
	})
	pod := &corev1.Pod{}
	testkit.Eventually(t, "web-4 is back and ready", func() error {
		if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "web-4"}, pod); err != nil {
			return err
		}
		if pm := podManager(t, namespace); pm.Status.AvailableReplicas != 5 || pod.DeletionTimestamp != nil {
			return fmt.Errorf("%d are available", pm.Status.AvailableReplicas)
		}
		return nil
	})
	deleteOnThePage(t, b, namespace)
	expectAudited(t, namespace, mark)
	b.Content()
}

func deleteOnThePage(t *testing.T, b *browser.Tab, namespace string) {
	t.Helper()
	b.Do("open a pod", chromedp.Evaluate(fmt.Sprintf(`location.hash = '#/podmanagers/%s/web?pod=web-2'`, namespace), nil))
	b.See("its deletion is offered", `document.getElementById('delete-pod') !== null`)
	uid := uidOf(t, namespace, "web-2")
	b.Do("ask for it", chromedp.Click("#delete-pod"))
	b.See("the plan says what happens", planText+`.includes('web-2') && `+planText+`.includes('1 pod will be recreated') && !document.getElementById('ask-do').disabled`)
	b.Do("agree", chromedp.Click("#ask-do"))
	testkit.Eventually(t, "web-2 is another pod", func() error {
		if now := uidOf(t, namespace, "web-2"); now == uid || now == "" {
			return fmt.Errorf("its UID is %q", now)
		}
		return nil
	})
}

// uidOf is the UID of a pod, or empty.
func uidOf(t testing.TB, namespace, name string) string {
	t.Helper()
	pod := &corev1.Pod{}
	if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, pod); err != nil {
		return ""
	}
	return string(pod.UID)
}

// expectAudited: each change is the person's in the audit log, and none is another's.
func expectAudited(t *testing.T, namespace string, mark localkube.AuditMark) {
	t.Helper()
	testkit.Eventually(t, "the audit log has each action as the owner's", func() error {
		events, err := suite.Cluster.AuditEvents(mark)
		if err != nil {
			return err
		}
		me, changes, pods := "system:serviceaccount:"+namespace+":owner", 0, 0
		for _, e := range events {
			about := e.ObjectRef.Namespace == namespace && e.Verb == "patch" && !strings.Contains(e.RequestURI, "dryRun") && e.ResponseStatus.Code == http.StatusOK
			switch {
			case !about:
			case e.ObjectRef.Resource == "podmanagers" && e.ObjectRef.Subresource == "" && e.UserAgent == "pod-operator-page":
				if e.User.Username != me {
					t.Errorf("%s changed the PodManager with the page's client", e.User.Username)
				}
				changes++
			case e.ObjectRef.Resource == "pods" && e.User.Username == me:
				pods++
			}
		}
		if changes != 6 || pods != 1 {
			return fmt.Errorf("it has %d changes of the PodManager and %d of pods", changes, pods)
		}
		return nil
	})
}

// A plan is for one spec. When another person changed it in between, the action is
// refused with a sentence, and the new plan is shown.
func TestAnActionOnAnotherSpecThanItsPlanIsRefused(t *testing.T) {
	namespace := suite.Namespace(t)
	pm := fleet(t, namespace, "web", 2)
	token := owner(t, namespace)
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web", token)
	b.See("scale is offered", `document.querySelector('[data-action=scale]') !== null`)
	b.Do("open it", chromedp.Click(`[data-action=scale]`), choose("#ask-fields input", "4"))
	b.See("the plan is shown", planText+`.includes('2 pods will be created')`)
	b.See("the button says what it does", `document.getElementById('ask-do').textContent === 'Scale to 4'`)
	if err := suite.Client.Patch(t.Context(), pm, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":3}}`))); err != nil {
		t.Fatal(err)
	}
	b.Do("agree to the old plan", chromedp.Click("#ask-do"))
	b.See("it is refused", `document.getElementById('ask-error').textContent.includes('was changed since this plan was made')`)
	b.See("the new plan is shown", planText+`.includes('1 pod will be created') || `+planText+`.includes('2 pods will be created')`)
	if got := *podManager(t, namespace).Spec.Replicas; got != 3 {
		t.Errorf("replicas are %d", got)
	}
	b.See("it can be agreed to", `!document.getElementById('ask-do').disabled`)
	b.Do("agree to the new plan", chromedp.Click("#ask-do"))
	b.See("four tiles are there", `document.querySelectorAll('.tile').length === 4`)
	b.Content()
}

// Without rights nothing is offered, and a request that is made all the same is
// refused by the API server.
func TestWithoutRightsNothingIsOffered(t *testing.T) {
	namespace := suite.Namespace(t)
	fleet(t, namespace, "web", 2)
	token := person(t, namespace, "viewer", viewerRole)
	read(t, "/api/podmanagers/"+namespace+"/web", token, &struct{}{})
	rights := rightsOf(t, namespace, token)
	if len(rights.Actions)+len(rights.Sights) > 0 || rights.Why != "" || len(rights.Missing) != 6 {
		t.Errorf("a viewer's rights are %+v", rights)
	}
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web?pod=web-0&tab=yaml", token)
	b.See("the drawer has only what the planner sees", `document.getElementById('drawer').open && [...document.querySelectorAll('[data-tab]')].map(t => t.dataset.tab).join() === 'now'`)
	b.See("no action is offered", `document.querySelectorAll('[data-action], #delete-pod').length === 0`)
	b.See("the page names what it hides", `['logs (needs the right to get pods/log)', 'events (needs', 'revisions'].every(text => document.getElementById('rights').textContent.includes(text))`)
	b.Content()
	for path, body := range map[string]string{
		"plan": `{"verb":"scale","replicas":9}`,
		"act":  `{"verb":"scale","replicas":9,"basis":"x"}`,
	} {
		if code, answer := postJSON(t, "/api/fleets/podmanagers/"+namespace+"/web/"+path, token, body); code == http.StatusOK {
			t.Errorf("%s answers %d: %s", path, code, answer)
		}
	}
	for _, path := range []string{"/api/pods/" + namespace + "/web-0", "/api/pods/" + namespace + "/web-0/events", "/api/pods/" + namespace + "/web-0/log", "/api/podmanagers/" + namespace + "/web/revisions"} {
		if code, answer := ask(t, http.MethodGet, path, token); code != http.StatusForbidden {
			t.Errorf("GET %s answers %d: %s", path, code, answer)
		}
	}
	if got := *podManager(t, namespace).Spec.Replicas; got != 2 {
		t.Errorf("replicas are %d", got)
	}
}

// A token for the operator alone opens the page, and nothing else.
func TestATokenForTheOperatorOnlyShowsWhatThePlannerSees(t *testing.T) {
	namespace := suite.Namespace(t)
	fleet(t, namespace, "web", 1)
	owner(t, namespace)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{flight.Audience}}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "owner"}}
	if err := suite.Client.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	rights := rightsOf(t, namespace, request.Status.Token)
	if len(rights.Actions)+len(rights.Sights) > 0 || !strings.Contains(rights.Why, "good for this page only") {
		t.Errorf("the rights are %+v", rights)
	}
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web", request.Status.Token)
	b.See("the page says why nothing can be done", `document.getElementById('rights').textContent.includes('good for this page only') && document.querySelectorAll('[data-action]').length === 0`)
	b.Content()
}

// The drawer shows what the API server answers to the viewer.
func TestTheDrawerShowsAPodWithTheViewersRights(t *testing.T) {
	namespace := suite.NamespaceNamed(t, "payments")
	fleet(t, namespace, "web", 2)
	token := owner(t, namespace)
	suite.Create(t, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: "web-0.pulled"},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: "web-0"},
		Reason:         "Pulled", Message: "the image <b>was</b> there", Type: corev1.EventTypeNormal, LastTimestamp: metav1.Now(),
	})
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web?pod=web-0", token)
	b.See("state, conditions and story are there", `['Ready True', 'created web-0'].every(text => document.getElementById('tab')?.textContent.includes(text))`)
	b.Keep("pod", "#drawer-title", "#drawer-body")
	b.Do("look at the events", chromedp.Click(`[data-tab=events]`))
	b.See("the event is text, not markup", `document.querySelector('.events')?.textContent.includes('the image <b>was</b> there') && !document.querySelector('.events b')`)
	b.See("the tab has an address", `location.hash.includes('tab=events')`)
	b.Do("look at the YAML", chromedp.Click(`[data-tab=yaml]`))
	b.See("it is the pod's", `document.getElementById('yaml')?.textContent.includes('kind: Pod') && document.getElementById('yaml').textContent.includes('name: web-0')`)
	b.Do("look at the logs", chromedp.Click(`[data-tab=logs]`))
	b.See("the API server's answer is there", `document.getElementById('log')?.textContent.length > 0`)
	b.Do("go back", chromedp.NavigateBack())
	b.See("back is the tab before", `document.getElementById('yaml') !== null`)
	b.Do("close the drawer", chromedp.Click("#close"))
	b.See("the address follows", `!document.getElementById('drawer').open && !location.hash.includes('pod=')`)
	b.Content()
}

func postJSON(t testing.TB, path, token, body string) (int, []byte) {
	t.Helper()
	if !json.Valid([]byte(body)) {
		t.Fatalf("%s is no JSON", body)
	}
	return askWith(t, http.MethodPost, path, token, body, "Content-Type", "application/json")
}
