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
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/test/browser"
)

func TestThePageFollowsAFleetAndExplainsIt(t *testing.T) {
	namespace := suite.NamespaceNamed(t, "store")
	pm := fleet(t, namespace, "web", 3)
	token := person(t, namespace, "editor", editorRole)
	read(t, "/api/podmanagers/"+namespace+"/web", token, &struct{}{})
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web", token)

	b.See("three tiles are ready", `document.querySelectorAll('.tile.ready').length === 3`)
	b.See("the stream is open", `document.getElementById('live').textContent === 'live'`)
	b.See("the token is out of the address bar", `!location.href.includes('token')`)

	if err := suite.Client.Patch(t.Context(), pm, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":7}}`))); err != nil {
		t.Fatal(err)
	}
	b.See("seven tiles are ready", `document.querySelectorAll('.tile.ready').length === 7`)
	b.See("the count says so", `document.querySelector('[data-count=ready]').textContent === '7'`)
	b.See("the story has it", `[...document.querySelectorAll('#story button')].some(b => b.textContent.includes('Created web-3'))`)
	b.See("the graph has lines", `(() => {
		const g = document.getElementById('graph'), pixels = new Uint32Array(g.getContext('2d').getImageData(0, 0, g.width, g.height).data.buffer);
		return new Set(pixels).size > 8;
	})()`)
	b.Keep("fleet", "#counts", "#pods", "#graph", "#story > li:nth-child(2)")

	b.Do("open the why", chromedp.Evaluate(`[...document.querySelectorAll('#story button')].find(b => b.textContent.includes('Created web-3')).click()`, nil))
	b.See("the drawer tells trigger, decision and writes", `document.getElementById('drawer').open &&
		document.getElementById('drawer-body').textContent.includes('spec.replicas') &&
		document.getElementById('drawer-body').textContent.includes('rule scale-up') &&
		document.getElementById('drawer-body').textContent.includes('create Pod web-3: 201')`)
	b.Keep("why", "#drawer-title", "#drawer-body")
	b.Do("close the drawer", chromedp.Click("#close"))

	b.Do("open a pod", chromedp.Click(`[data-pod="web-0"]`))
	b.See("the drawer tells the pod's story", `document.getElementById('drawer').open && document.getElementById('drawer-body').textContent.includes('created web-0')`)
	b.Do("close the drawer", chromedp.Click("#close"))

	b.Do("force a reconcile", chromedp.Click("#reconcile"))
	b.See("the story names who asked", fmt.Sprintf(`[...document.querySelectorAll('#story .cause')].some(c => c.textContent.includes('%s:editor asked for it'))`, namespace))
	b.Content()
}

func TestThePageCanBeUsedWithTheKeyboard(t *testing.T) {
	namespace := suite.Namespace(t)
	fleet(t, namespace, "web", 3)
	token := person(t, namespace, "viewer", viewerRole)
	read(t, "/api/podmanagers/"+namespace+"/web", token, &struct{}{})
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web", token)
	b.See("three tiles are there", `document.querySelectorAll('.tile').length === 3`)
	b.See("one of them is a tab stop", `document.querySelectorAll('.tile[tabindex="0"]').length === 1`)
	b.See("each says what it is", `[...document.querySelectorAll('.tile')].every(t => /web-\d: /.test(t.title) && t.textContent.startsWith('web-'))`)
	b.Do("go to the second tile", chromedp.Focus(`.tile[tabindex="0"]`), chromedp.KeyEvent(kb.ArrowRight))
	b.See("the second has the focus", `document.activeElement.dataset.pod === 'web-1'`)
	b.Do("search", chromedp.Evaluate(`document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true}))`, nil))
	b.See("the slash leads to the search", `document.activeElement.id === 'search'`)
	b.Do("type", chromedp.SendKeys("#search", "web-2"))
	b.See("the other tiles fade", `document.querySelectorAll('.tile.off').length === 2`)
	b.See("a viewer is not offered the button", `document.getElementById('reconcile').hidden`)
	b.Content()
}

func TestThePageSaysWhyItShowsNothing(t *testing.T) {
	namespace := suite.Namespace(t)
	fleet(t, namespace, "web", 1)
	for name, c := range map[string]struct{ token, want, also string }{
		"a token that is unknown": {"not-a-token", "does not know this token", `!document.getElementById('login').hidden`},
		"a person without rights": {person(t, namespace, "stranger", ""), "may not list podmanagers", `document.getElementById('app').hidden`},
	} {
		t.Run(name, func(t *testing.T) {
			b := browser.Open(t, origin, c.token)
			b.See("the page says why", fmt.Sprintf(`document.getElementById('problem').textContent.includes(%q) && %s`, c.want, c.also))
			b.Content()
			b.Keep(strings.ReplaceAll(name, " ", "-"))
		})
	}
}

// A person who prefers dark gets it, and so do the drawings.
func TestThePageIsDarkForThoseWhoPreferIt(t *testing.T) {
	namespace := suite.NamespaceNamed(t, "catalog")
	pm := fleet(t, namespace, "web", 5)
	token := person(t, namespace, "viewer", viewerRole)
	read(t, "/api/podmanagers/"+namespace+"/web", token, &struct{}{})
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":6,"image":"nginx:1.28","update":{"partition":3}}}`))
	if err := suite.Client.Patch(t.Context(), pm, patch); err != nil {
		t.Fatal(err)
	}
	const brightness = `(e) => getComputedStyle(e).backgroundColor.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0)`
	for scheme, dark := range map[string]bool{"light": false, "dark": true} {
		b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web", token, browser.Prefer(scheme))
		b.See("six tiles are there in two groups", `document.querySelectorAll('.tile').length === 6 && document.querySelectorAll('.group').length === 2`)
		b.See("what is held back is told", `document.getElementById('blocked').textContent.includes('Partition')`)
		var ground int
		b.Do("look at the ground", chromedp.Evaluate(`(`+brightness+`)(document.body)`, &ground))
		if (ground < 3*128) != dark {
			t.Errorf("for those who prefer %s the ground has brightness %d of %d", scheme, ground, 3*255)
		}
		b.Do("group by zone", chromedp.SetValue("#group", "zone"), chromedp.Evaluate(`document.getElementById('group').dispatchEvent(new Event('change'))`, nil))
		b.See("each zone is a group", `[...document.querySelectorAll('.group h4')].every(h => h.textContent.startsWith('zone-') || h.textContent.startsWith('no zone')) && document.querySelectorAll('.tile').length === 6`)
		b.Keep(scheme, "#pods", "#blocked")
		b.Content()
	}
}

// A large fleet is drawn as small tiles, one for each pod.
func TestALargeFleetIsDrawn(t *testing.T) {
	const pods, old = 600, 300
	// The three nodes of the cluster have room for about half of them.
	if err := suite.Cluster.CreateNodes(t.Context(), localkube.NodeOptions{Count: 10, Pods: pods}); err != nil {
		t.Fatal(err)
	}
	namespace := suite.NamespaceNamed(t, "warehouse")
	pm := fleet(t, namespace, "web", pods)
	token := owner(t, namespace)
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"image":"nginx:1.28","update":{"partition":%d}}}`, old))
	if err := suite.Client.Patch(t.Context(), pm, patch); err != nil {
		t.Fatal(err)
	}
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web", token)
	b.See("all tiles are there", fmt.Sprintf(`document.querySelectorAll('.tile.ready').length === %d`, pods))
	b.See("half of them are on the new revision", fmt.Sprintf(`document.querySelectorAll('.tile.old').length === %d && document.querySelectorAll('.group').length === 2 &&
		document.querySelector('[data-count="up to date"]').textContent === '%d'`, old, pods-old))
	b.See("the person may do something", `document.querySelectorAll('[data-action]').length > 0`)
	b.Keep("large", "#counts", "#pods")
	b.Content()
}
