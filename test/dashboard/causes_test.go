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
	"time"

	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/browser"
)

// TestThePageTellsTheCause: a visitor sees on the first screen why pods are not available,
// without a click. Each node has the port once, so that two pods find no node.
func TestThePageTellsTheCause(t *testing.T) {
	namespace := suite.Namespace(t)
	var nodes corev1.NodeList
	if err := suite.Client.List(t.Context(), &nodes); err != nil {
		t.Fatal(err)
	}
	replicas := len(nodes.Items) + 2
	suite.Create(t, testkit.MakePodManager(namespace, "web").Replicas(int32(replicas)).PodSpec(func(s *corev1.PodSpec) {
		s.Containers = []corev1.Container{{Name: "app", Ports: []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}}}
	}).Obj())
	token := person(t, namespace, "viewer", viewerRole)
	read(t, "/api/podmanagers/"+namespace+"/web", token, &struct{}{})
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web", token)

	cause := fmt.Sprintf("2 of %d pods cannot be scheduled: 0/%d nodes are available: ", replicas, len(nodes.Items))
	b.See("the message is the cause", fmt.Sprintf(`document.getElementById('fleet-message').textContent.includes(%q)`, cause))
	b.See("it is on the first screen", `document.getElementById('fleet-message').getBoundingClientRect().bottom < innerHeight`)
	b.See("the tiles agree", fmt.Sprintf(`document.querySelectorAll('.tile.ready').length === %d &&
		[...document.querySelectorAll('.tile.waiting')].filter(t => t.title.includes('cannot be scheduled: 0/')).length === 2`, replicas-2))
	b.See("the list of fleets has it, too", fmt.Sprintf(`document.querySelector('[data-fleet="podmanagers/%s/web"]').title.includes(%q)`, namespace, cause))
	b.See("it is held back, with what to do", `[...document.querySelectorAll('#blocked li')].some(l => l.textContent.includes('Unschedulable') && l.textContent.includes('add room or nodes'))`)
	b.Keep("cause")
	b.Content()
}

// TestAPodThatIsReadyAndNotYetAvailable has a colour and words of its own, and the seconds
// count down.
func TestAPodThatIsReadyAndNotYetAvailable(t *testing.T) {
	namespace := suite.Namespace(t)
	suite.Create(t, testkit.MakePodManager(namespace, "web").Replicas(2).MinReady(60).Obj())
	token := person(t, namespace, "viewer", viewerRole)
	read(t, "/api/podmanagers/"+namespace+"/web", token, &struct{}{})
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web", token)

	b.See("two tiles are in that state", `document.querySelectorAll('.tile.not-yet-available').length === 2`)
	b.See("they say when", `[...document.querySelectorAll('.tile')].every(t => /: ready, available in \d+ s/.test(t.title))`)
	b.See("the legend says it", `[...document.querySelectorAll('#legend li')].some(l => l.textContent === 'ready, not yet available 2')`)
	b.See("the message says it", `document.getElementById('fleet-message').textContent.includes('2 of 2 pods are ready and not yet available: minReadySeconds is 60')`)
	b.See("none is available", `document.querySelector('[data-count=ready]').textContent === '2' && document.querySelector('[data-count=available]').textContent === '0'`)
	b.Keep("not-yet-available")
	b.Do("note the seconds", chromedp.Evaluate(`window.seen = new Set(); setInterval(() => {
		for (const t of document.querySelectorAll('.tile')) window.seen.add(t.title.match(/in (\d+) s/)?.[1]);
	}, 50)`, nil))
	b.See("the seconds count down", `window.seen.size > 4`)
	b.See("they are available in the end", `document.querySelectorAll('.tile.ready').length === 2`)
	b.Content()
}

// TestThePageShowsHowFarARestartIs, which changes no revision.
func TestThePageShowsHowFarARestartIs(t *testing.T) {
	namespace := suite.Namespace(t)
	pm := testkit.MakePodManager(namespace, "web").Replicas(3).MinReady(3).Obj()
	suite.Create(t, pm)
	suite.Fleet(t, namespace, "web").ExpectReady(3)
	token := person(t, namespace, "viewer", viewerRole)
	read(t, "/api/podmanagers/"+namespace+"/web", token, &struct{}{})
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web", token)
	b.See("three tiles are available", `document.querySelectorAll('.tile.ready').length === 3`)
	b.See("nothing is under way", `document.getElementById('rollout').hidden`)
	body := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, appsv1.AnnotationRestart, time.Now().UTC().Format(time.RFC3339))
	if err := suite.Client.Patch(t.Context(), pm, client.RawPatch("application/merge-patch+json", body)); err != nil {
		t.Fatal(err)
	}
	b.See("the restart has a bar", `!document.getElementById('rollout').hidden && document.getElementById('progress-label').textContent === 'Restart'`)
	b.See("it goes on", `['1 of 3 restarted', '2 of 3 restarted'].includes(document.getElementById('progress-text').textContent)`)
	b.See("the message says it, too", `/of 3 pods are restarted/.test(document.getElementById('fleet-message').textContent)`)
	b.See("it ends", `document.getElementById('rollout').hidden && document.querySelectorAll('.tile.ready').length === 3`)
	b.Content()
}

// TestTheNumbersNeverContradictTheTiles: the counts, the list of fleets and the graph are from
// the look that the tiles are from, at every moment of a change.
func TestTheNumbersNeverContradictTheTiles(t *testing.T) {
	namespace := suite.Namespace(t)
	pm := fleet(t, namespace, "web", 3)
	token := person(t, namespace, "viewer", viewerRole)
	read(t, "/api/podmanagers/"+namespace+"/web", token, &struct{}{})
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web", token)
	b.See("three tiles are ready", `document.querySelectorAll('.tile.ready').length === 3`)
	b.Do("compare all the time", chromedp.Evaluate(`window.compared = new Set(); window.wrong = new Set(); setInterval(() => {
		const tiles = (state) => document.querySelectorAll('.tile.' + state).length;
		const count = (name) => Number(document.querySelector('[data-count="' + name + '"]').textContent);
		const ready = tiles('ready');
		const told = {
			ready: count('ready'), available: count('available'),
			list: Number(document.querySelector('#fleets [aria-current=true] .numbers').textContent.split('/')[0]),
			graph: Number(document.getElementById('graph-text').textContent.match(/(\d+) ready/)[1]),
		};
		window.compared.add(ready);
		for (const [where, n] of Object.entries(told)) if (n !== ready) window.wrong.add(where + ' says ' + n + ' beside ' + ready + ' tiles');
		if (count('terminating') !== tiles('terminating')) window.wrong.add(count('terminating') + ' terminating beside ' + tiles('terminating'));
	}, 10)`, nil))
	for _, replicas := range []int{40, 2} {
		body := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
		if err := suite.Client.Patch(t.Context(), pm, client.RawPatch("application/merge-patch+json", body)); err != nil {
			t.Fatal(err)
		}
		b.See(fmt.Sprintf("%d tiles are ready", replicas), fmt.Sprintf(`document.querySelectorAll('.tile').length === %d && document.querySelectorAll('.tile.ready').length === %d`, replicas, replicas))
	}
	var compared int
	var wrong []string
	b.Do("read what was compared", chromedp.Evaluate(`window.compared.size`, &compared), chromedp.Evaluate(`[...window.wrong]`, &wrong))
	if compared < 3 || len(wrong) > 0 {
		t.Errorf("%d states were compared, and of these are wrong: %q", compared, wrong)
	}
	b.Content()
}
