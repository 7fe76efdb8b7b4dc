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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/test/browser"
)

// What a person gets wrong is named, and what was accepted is shown.
func TestThePageAnswersEachAct(t *testing.T) {
	namespace := suite.Namespace(t)
	fleet(t, namespace, "web", 2)
	token := owner(t, namespace)
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web", token)
	b.See("two tiles are ready", `document.querySelectorAll('.tile.ready').length === 2`)
	b.See("a person with all rights is told of none that is missing", `document.querySelector('[data-action=scale]') && document.getElementById('rights').textContent === ''`)
	b.Do("scale to less than nothing", chromedp.Click(`[data-action=scale]`), choose("#ask-fields input", "-3"))
	b.See("the page says what is wrong", `document.getElementById('ask-error').textContent.includes('0, 1, 2 or more pods, not -3') && document.getElementById('ask-do').disabled`)
	b.Do("scale to three", choose("#ask-fields input", "3"))
	b.See("the sentence is gone, and the plan is there", `document.getElementById('ask-error').textContent === '' && `+planText+`.includes('1 pod will be created')`)
	b.Barriers("a plan")
	b.Do("agree", chromedp.Click("#ask-do"))
	b.See("the page says that it worked", `document.getElementById('say').checkVisibility() && document.getElementById('say').textContent.includes('accepted by the API server')`)
	b.Do("ask for a reconcile", chromedp.Click("#reconcile"))
	b.See("the page says that it was asked for", `document.getElementById('say').textContent.includes('A reconcile of `+namespace+`/web was asked for')`)
	b.Do("open a pod", chromedp.Evaluate(fmt.Sprintf(`location.hash = '#/podmanagers/%s/web?pod=web-0'`, namespace), nil))
	b.See("its tabs are there", `document.querySelectorAll('[role=tab]').length === 4 && document.getElementById('delete-pod') && document.getElementById('tab').textContent.includes('Ready True')`)
	b.Barriers("a pod")
	b.Content()
}

// A pinned fleet shows what its pods run, and can be unpinned.
func TestAPinnedFleetShowsWhatItRunsAndCanBeUnpinned(t *testing.T) {
	namespace := suite.Namespace(t)
	pm := fleet(t, namespace, "web", 2)
	token := owner(t, namespace)
	if err := suite.Client.Patch(t.Context(), pm, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"image":"nginx:1.99"}}`))); err != nil {
		t.Fatal(err)
	}
	b := browser.OpenAt(t, origin, "/podmanagers/"+namespace+"/web", token)
	b.See("the new image is out", `document.getElementById('fleet-state').textContent === 'Ready' && document.getElementById('images').textContent.includes('nginx:1.99') && document.querySelectorAll('.tile.ready:not(.old)').length === 2`)
	b.See("there is nothing to unpin", `document.querySelector('[data-action=undo]') && !document.querySelector('[data-action=unpin]')`)
	b.Do("open the plan of the way back", chromedp.Click(`[data-action=undo]`))
	b.See("it says that containers restart", planText+`.includes('container app restarts') && !document.getElementById('ask-do').disabled`)
	b.Do("agree", chromedp.Click("#ask-do"))
	b.See("the pods run the first image, and the page says so", `document.getElementById('fleet-state').textContent === 'Pinned' && !document.getElementById('images').querySelector('strong + *')?.textContent.includes('app nginx:1.99') && document.getElementById('images').textContent.includes('its template has nginx:1.99')`)
	b.Keep("pinned")
	do(b, "unpin", nil, "2 pods will be changed in place")
	b.See("the pods follow the template again", `document.getElementById('fleet-state').textContent === 'Ready' && document.getElementById('images').textContent.includes('nginx:1.99') && !document.getElementById('images').textContent.includes('its template has')`)
	b.Content()
}
