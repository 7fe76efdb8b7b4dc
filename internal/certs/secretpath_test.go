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

package certs

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// configuration is a webhook configuration that calls "known" at a path.
func configuration(t *testing.T, path string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	text := `{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: c, resourceVersion: "1"},
		webhooks: [{name: known, clientConfig: {service: {name: s, namespace: n, path: "` + path + `"}}}]}`
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestAPathIsGivenASecretAndANewOneInTime(t *testing.T) {
	const base = "/known"
	other := base + "/" + strings.Repeat("ab", 16)
	for name, test := range map[string]struct {
		path  string
		after time.Duration
		kept  bool
	}{
		"no path yet":                                 {path: ""},
		"the path of another webhook":                 {path: "/gone"},
		"a secret of another length":                  {path: base + "/abcd"},
		"without a secret, an older operator may run": {path: base, after: bareFor - time.Second, kept: true},
		"without a secret, after that":                {path: base, after: bareFor},
		"the secret of another replica":               {path: other, after: time.Hour, kept: true},
		"a secret of half a day":                      {path: other, after: 12 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			p := newCallPaths(map[string]string{"known": base}, 12*time.Hour)
			objects := []*unstructured.Unstructured{configuration(t, test.path)}
			p.learn(objects, noon)
			now := noon.Add(test.after)
			p.learn(objects, now)
			want := p.wanted(now)["known"]
			if (want == test.path) != test.kept {
				t.Errorf("%q becomes %q", test.path, want)
			}
			if !test.kept && (!strings.HasPrefix(want, base+"/") || !secret.MatchString(want[len(base):])) {
				t.Errorf("%q has no secret", want)
			}
			if !p.answered(want, now) || !p.answered(test.path, now) {
				t.Error("a call at the path before or after the change is not answered")
			}
			if wait := p.wait(now); test.kept == (wait <= 0) {
				t.Errorf("looks again in %s", wait)
			}
		})
	}
}

func TestAPathThatIsNamedNoMoreIsAnsweredForAMoment(t *testing.T) {
	p := newCallPaths(map[string]string{"known": "/known"}, time.Hour)
	p.learn([]*unstructured.Unstructured{configuration(t, "/known/a")}, noon)
	p.learn([]*unstructured.Unstructured{configuration(t, "/known/b")}, noon)
	for path, want := range map[string][2]bool{"/known/a": {true, false}, "/known/b": {true, true}, "/known": {}, "": {}} {
		for i, at := range []time.Time{noon.Add(lingers - 1), noon.Add(lingers)} {
			if got := p.answered(path, at); got != want[i] {
				t.Errorf("%q after %s: answered %t", path, at.Sub(noon), got)
			}
		}
	}
	p.learn(nil, noon.Add(time.Hour))
	p.learn(nil, noon.Add(2*time.Hour))
	if n := len(p.former); n != 0 {
		t.Errorf("%d paths are remembered for ever: %v", n, slices.Collect(maps.Keys(p.former)))
	}
}

// reads counts the reads of one configuration, which another replica may change.
type reads struct {
	client.Reader
	mu     sync.Mutex
	object *unstructured.Unstructured
	n      int
}

func (r *reads) Get(ctx context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	r.object.DeepCopyInto(into.(*unstructured.Unstructured))
	return nil
}

// A replica answers at a path that another one has just written, and guesses cost
// one read in a second however many there are.
func TestAnUnknownPathIsLookedUp(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	path := "/known/" + draw()
	reader := &reads{object: configuration(t, path)}
	k, err := NewKeeper(reader, nil, Options{
		Lifetime: time.Hour, Clock: clock, Paths: map[string]string{"known": "/known"}, Targets: []Target{ValidatingConfiguration("c")},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !k.Answers(t.Context(), path) {
		t.Error("the path of another replica is not answered")
	}
	for _, guess := range []string{"/known", "/known/", "/known/x", "/other"} {
		if k.Answers(t.Context(), guess) {
			t.Errorf("%s is answered", guess)
		}
	}
	if reader.n != 1 {
		t.Errorf("%d reads, want 1: what cannot be a path costs none", reader.n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if k.Answers(ctx, "/known/"+draw()) || reader.n > 2 {
		t.Errorf("a guess is answered, or costs %d reads within a second", reader.n)
	}
	clock.Step(lookEvery)
	if k.Answers(t.Context(), "/known/"+draw()) || reader.n != 2 {
		t.Errorf("a guess is answered, or %d reads, want 2", reader.n)
	}
}

// All who wait share a read: a stranger who hangs up must not have the API server
// refused at a path that another replica has just written.
func TestOneWhoHangsUpDoesNotAnswerForAllOthers(t *testing.T) {
	path := "/known/" + draw()
	k, err := NewKeeper(&reads{object: configuration(t, path)}, nil, Options{
		Lifetime: time.Hour, Clock: clocktesting.NewFakeClock(noon), Paths: map[string]string{"known": "/known"}, Targets: []Target{ValidatingConfiguration("c")},
	})
	if err != nil {
		t.Fatal(err)
	}
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	_ = k.Answers(gone, "/known/"+draw())
	if !k.paths.answered(path, noon) {
		t.Error("the read of one who hung up is lost for those who wait for it")
	}
}
