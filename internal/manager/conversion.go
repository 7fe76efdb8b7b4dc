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

package manager

import (
	"context"
	"net/http"
	"sync"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// conversionFor is for how long the answer holds whether the CRD is converted: so
// long at most v1alpha1 waits after it was switched on.
const conversionFor = 5 * time.Second

// conversionGate serves the conversion only while the CRD names one. No other
// endpoint has to answer clients that show no certificate, and most clusters do not
// serve v1alpha1.
type conversionGate struct {
	live  client.Reader
	clock clock.PassiveClock
	next  http.Handler

	mu    sync.Mutex
	open  bool
	until time.Time
}

// ServeHTTP implements http.Handler.
func (g *conversionGate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.isOpen(r.Context()) {
		http.Error(w, "no version of PodManager is converted here", http.StatusNotFound)
		return
	}
	welcomed(g.next, w, r)
}

// isOpen looks at the CRD, one request at a time and not more often than the
// answer holds. Where the CRD cannot be read, the conversion is served: objects
// cannot be read without it.
func (g *conversionGate) isOpen(ctx context.Context) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.clock.Now().Before(g.until) {
		return g.open
	}
	var list apiextensionsv1.CustomResourceDefinitionList
	err := g.live.List(ctx, &list, client.MatchingFields{"metadata.name": podManagerCRD})
	g.open, g.until = err != nil, g.clock.Now().Add(conversionFor)
	for i := range list.Items {
		c := list.Items[i].Spec.Conversion
		g.open = g.open || c != nil && c.Strategy == apiextensionsv1.WebhookConverter
	}
	return g.open
}
