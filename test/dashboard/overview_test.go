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
	"testing"

	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/browser"
)

// bind gives a person of the namespace one more role in it.
func bind(t testing.TB, namespace, name, role string) {
	t.Helper()
	suite.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: name + "-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
	})
}

// stalled makes a fleet that a quota stops.
func stalled(t testing.TB, namespace, name string) {
	t.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("2")}},
	}
	suite.Create(t, quota)
	testkit.Eventually(t, "the quota is in force", func() error {
		if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		if len(quota.Status.Hard) == 0 {
			return fmt.Errorf("its status is %v", quota.Status)
		}
		return nil
	})
	suite.Create(t, testkit.MakePodManager(namespace, name).Replicas(5).Obj())
}

func TestTheOverviewShowsAllKindsWithTroubleFirst(t *testing.T) {
	namespace, other := suite.NamespaceNamed(t, "media"), suite.NamespaceNamed(t, "search")
	fleet(t, namespace, "calm", 2)
	suite.Create(t, &batchv1alpha1.ImoocPod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "busy"}, Spec: batchv1alpha1.ImoocPodSpec{Replicas: ptr.To[int32](2)}})
	suite.Create(t, &testv1alpha1.HelloWorld{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "hello"}})
	suite.Create(t, &collectorv1.Collector{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "counter"}})
	stalled(t, other, "stuck")
	token := person(t, namespace, "viewer", viewerRole)
	for _, kind := range []string{"imoocpod", "helloworld", "collector"} {
		bind(t, namespace, "viewer", "pod-operator-"+kind+"-viewer-role")
	}
	suite.Create(t, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: other, Name: "viewer"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: viewerRole},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "viewer"}},
	})
	read(t, "/api/podmanagers/"+namespace+"/calm", token, &struct{}{})
	b := browser.Open(t, origin, token)
	rows := `[...document.querySelectorAll('#overview-rows tr')]`
	b.See("all kinds are there", rows+`.map(r => r.children[2].textContent).sort().join() === 'Collector,HelloWorld,ImoocPod,PodManager,PodManager'`)
	b.See("trouble is first, and red", rows+`[0].querySelector('.state').textContent === 'stuck' && `+rows+`[0].classList.contains('stuck') && `+rows+`[0].textContent.includes('QuotaExceeded')`)
	b.See("the title says what this is", `document.title === 'fleets · pod-operator'`)
	b.Keep("overview", "#overview-rows tr:first-child")

	b.Do("choose a namespace", chromedp.SetValue("#namespace", other), chromedp.Evaluate(`document.getElementById('namespace').dispatchEvent(new Event('change'))`, nil))
	b.See("only its fleets are there", rows+`.length === 1 && `+rows+`[0].textContent.includes('stuck')`)
	b.See("the address and the title follow", fmt.Sprintf(`location.hash === '#/?namespace=%s' && document.title.startsWith('%s: ')`, other, other))
	b.Do("load it again", chromedp.Reload())
	b.See("the filter is still there", fmt.Sprintf(`%s.length === 1 && document.getElementById('namespace').value === '%s'`, rows, other))
	b.Do("choose all", chromedp.SetValue("#namespace", ""), chromedp.Evaluate(`document.getElementById('namespace').dispatchEvent(new Event('change'))`, nil))
	b.Do("search", chromedp.SendKeys("#search", "hello"))
	b.See("the search finds one of five", rows+`.length === 1 && document.getElementById('overview-text').textContent.startsWith('1 of 5')`)
	b.Do("open it", chromedp.Click(`#overview-rows a`))
	b.See("a HelloWorld has a view", fmt.Sprintf(`location.hash.startsWith('#/helloworlds/%s/hello') && document.getElementById('fleet-kind').textContent === 'HelloWorld'`, namespace))
	b.See("the search is kept", `document.getElementById('search').value === 'hello' && location.hash.includes('search=hello')`)
	b.Do("go back", chromedp.NavigateBack())
	b.See("back is the overview with its search", rows+`.length === 1 && document.getElementById('search').value === 'hello'`)
	b.Do("open an ImoocPod", chromedp.Evaluate(fmt.Sprintf(`location.hash = '#/imoocpods/%s/busy'`, namespace), nil))
	b.See("its pods are tiles", `document.querySelectorAll('.tile').length === 2`)
	b.See("the title has its name", `document.title.startsWith('busy')`)
	b.Do("open a fleet that does not exist", chromedp.Evaluate(fmt.Sprintf(`location.hash = '#/podmanagers/%s/none'`, namespace), nil))
	b.See("the page goes back to the overview and says why", `!document.getElementById('overview').hidden && document.getElementById('say').checkVisibility() && document.getElementById('say').textContent.includes('There is no PodManager')`)
	b.Content()
}

// On a phone the list folds away, so that the fleet is on the first screen.
func TestTheListFoldsAwayOnAPhone(t *testing.T) {
	namespace := suite.Namespace(t)
	fleet(t, namespace, "web", 3)
	token := person(t, namespace, "viewer", viewerRole)
	read(t, "/api/podmanagers/"+namespace+"/web", token, &struct{}{})
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web", token, chromedp.EmulateViewport(390, 800))
	b.See("three tiles are there", `document.querySelectorAll('.tile').length === 3`)
	b.See("the list is folded", `!document.getElementById('list').open && !document.getElementById('fleets').checkVisibility()`)
	b.See("nothing is wider than the screen", `document.documentElement.scrollWidth <= window.innerWidth`)
	b.Keep("phone")
	b.Do("unfold it", chromedp.Click("#list summary"))
	b.See("the list is there", `document.querySelector('[data-fleet]').checkVisibility()`)
	b.Content()
}

// A rollout that is under way shows what each pod does, which waves are to come, and
// when it ends.
func TestARolloutShowsItsWavesAndItsEnd(t *testing.T) {
	namespace := suite.NamespaceNamed(t, "orders")
	pm := fleet(t, namespace, "web", 6)
	token := owner(t, namespace)
	change := func(patch string) {
		t.Helper()
		if err := suite.Client.Patch(t.Context(), pm, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	// Pods that are not available yet are changed at once, so they have to be before.
	change(`{"spec":{"minReadySeconds":12,"update":{"maxUnavailable":2}}}`)
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web", token)
	b.See("all pods are available", `document.querySelector('[data-count=available]')?.textContent === '6' && document.querySelectorAll('.tile.ready').length === 6`)
	change(`{"spec":{"image":"nginx:1.28"}}`)
	b.See("some pods are new and some are old", `document.querySelectorAll('.tile.old').length > 0 && document.querySelectorAll('.tile:not(.old)').length > 0`)
	b.See("the waves that are to come are there", `document.getElementById('waves').textContent.includes('Wave 1') && document.getElementById('eta').textContent.includes('to go')`)
	b.See("and when it ends", `document.getElementById('eta').textContent.includes('done at about')`)
	b.See("each pod has its state and age", `[...document.querySelectorAll('.tile')].every(t => t.children.length === 3 && /\d+[smh]/.test(t.children[2].textContent))`)
	b.See("the images and revisions are there", `document.getElementById('images').textContent.includes('nginx:1.28') && document.getElementById('revisions').textContent.includes('moving to')`)
	b.Keep("rollout", "#counts", "#waves", "#eta", "#pods", "#revisions")
	b.Content()
}

// A fleet that cannot go on says why before everything else.
func TestAStalledFleetSaysWhy(t *testing.T) {
	namespace := suite.NamespaceNamed(t, "billing")
	stalled(t, namespace, "web")
	token := owner(t, namespace)
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web", token)
	b.See("it is stalled", `document.getElementById('fleet-state').classList.contains('stuck') && document.getElementById('fleet-message').textContent.includes('QuotaExceeded')`)
	b.See("what is held back is told", `document.getElementById('blocked').textContent.includes('exceeded quota')`)
	b.See("the title says so", `document.title.startsWith('web: stuck')`)
	b.Keep("stalled", "#fleet-state", "#fleet-message", "#blocked")
	b.Content()
}
