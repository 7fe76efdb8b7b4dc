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
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/mycompany/pod-operator/test/browser"
)

// Without an answer the page keeps what it has, grey, and says since when.
func TestThePageSaysThatTheOperatorIsAway(t *testing.T) {
	page, _ := guarded(t)
	b := browser.OpenAt(t, page.URL, "/podmanagers/shop/web", "a-token")
	b.See("the fleet is shown", `document.getElementById('fleet-name').textContent === 'shop/web' && !document.getElementById('app').classList.contains('stale')`)
	b.See("the rights that could not be asked for are explained", `document.getElementById('rights').textContent.includes('could not be asked')`)
	page.CloseClientConnections()
	page.Close()
	b.Do("look now", chromedp.Evaluate(`document.dispatchEvent(new Event('visibilitychange'))`, nil))
	b.See("the page says so and turns grey", `document.getElementById('problem').textContent.includes('has not answered since') && document.getElementById('app').classList.contains('stale')`)
	b.See("what was known is still there", `document.getElementById('fleet-name').textContent === 'shop/web'`)
	b.Keep("away")
}
