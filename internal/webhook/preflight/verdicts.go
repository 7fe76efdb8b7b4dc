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

package preflight

import (
	"crypto/sha256"
	"encoding/json"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/mycompany/pod-operator/internal/desired"
)

const (
	// verdictLife is for how long a pod that was taken need not be tried again.
	// A person who changes a quota and tries again takes longer; a program
	// that makes hundreds of objects from one template does not.
	verdictLife = 5 * time.Second
	// maxVerdicts bounds the memory; what is forgotten is tried again.
	maxVerdicts = 1000
)

// verdicts remembers which pods were accepted. A trial costs the API server as
// much as a pod does. Objects that are made one after the other from one
// template would all get the same answer for its pod, so only the first is tried
// and checked against the Pod Security level. Only an unconditional yes is
// remembered: a pod with a warning or a refusal is tried each time.
type verdicts struct {
	mu    sync.Mutex
	taken map[verdict]time.Time
}

type verdict [sha256.Size]byte

// verdictOf is the same for pods that differ only in their owner.
func verdictOf(c Change, f desired.Fleet, pod *corev1.Pod) (verdict, bool) {
	if len(f.Desired.Claims.Templates) > 0 {
		return verdict{}, false
	}
	p := pod.DeepCopy()
	p.Name, p.OwnerReferences = "", nil
	for _, label := range c.Kind.ReservedLabels() {
		delete(p.Labels, label)
	}
	for key, value := range p.Labels {
		if value == f.Desired.NamePrefix {
			p.Labels[key] = "" // whose it is, once more
		}
	}
	if p.Spec.Hostname == pod.Name {
		p.Spec.Hostname = ""
	}
	text, err := json.Marshal(p)
	if err != nil {
		return verdict{}, false // it is tried, then
	}
	return sha256.Sum256(text), true
}

func (v *verdicts) known(key verdict, now time.Time) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	at, ok := v.taken[key]
	return ok && now.Sub(at) < verdictLife
}

func (v *verdicts) remember(key verdict, now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.taken == nil || len(v.taken) >= maxVerdicts {
		v.taken = map[verdict]time.Time{}
	}
	v.taken[key] = now
}
