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

package collector

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func key(namespace, name string) types.NamespacedName {
	return types.NamespacedName{Namespace: namespace, Name: name}
}

func readings(account string, n int) (list []reading) {
	for i := range n {
		list = append(list, reading{account, fmt.Sprintf("ns-%d", i)})
	}
	return list
}

func TestATenantHasOnlySoMuchRoom(t *testing.T) {
	r := newRoom(10000)
	if got := r.ask(key("mallory", "a"), readings("default", maxForeign)); len(got) != maxForeign {
		t.Errorf("one Collector has room for %d of %d", len(got), maxForeign)
	}
	if got := r.ask(key("mallory", "b"), readings("default", maxForeign)); len(got) != maxForeign {
		t.Errorf("what is read already has room for %d of %d", len(got), maxForeign)
	}
	if got := r.ask(key("mallory", "c"), []reading{{"default", "more"}}); len(got) != 0 {
		t.Errorf("there is room for %v", got)
	}
	if got := r.ask(key("mallory", "d"), readings("another", 1)); len(got) != 0 {
		t.Errorf("another account gets more room: %v", got)
	}
	if got := r.ask(key("alice", "a"), readings("default", maxForeign)); len(got) != maxForeign {
		t.Errorf("another tenant has room for %d of %d", len(got), maxForeign)
	}
}

func TestAllTogetherHaveOnlySoMuchRoom(t *testing.T) {
	r := newRoom(2*MinWatches() + 1)
	if got := r.watch(key("a", "c"), []string{"a", "b"}); len(got) != 2 {
		t.Errorf("the first has %v", got)
	}
	if got := r.watch(key("b", "c"), []string{"b", "c"}); !got["b"] || got["c"] {
		t.Errorf("the second has %v", got)
	}
}

func TestRoomIsGivenBack(t *testing.T) {
	r := newRoom(MinWatches())
	var woken []types.NamespacedName
	r.setWake(func(k types.NamespacedName) { woken = append(woken, k) })
	r.watch(key("a", "1"), []string{"a"})
	r.watch(key("a", "2"), []string{"a"})
	r.watch(key("b", "1"), []string{"b"})
	r.leave(key("a", "1"))
	if len(woken) > 0 {
		t.Errorf("%v is woken while another one reads", woken)
	}
	r.leave(key("a", "2"))
	if !slices.Equal(woken, []types.NamespacedName{key("b", "1")}) {
		t.Errorf("woken is %v", woken)
	}
	if got := r.watch(key("b", "1"), []string{"b"}); !got["b"] {
		t.Error("there is no room yet")
	}
	r.leave(key("b", "1"))
	if len(r.held) != 0 || len(r.tenants) != 0 || len(r.watched) != 0 {
		t.Errorf("something is kept: %v %v %v", r.held, r.tenants, r.watched)
	}
}

// TestShortOfOneThing: what is there of the other does not make it forgotten.
func TestShortOfOneThing(t *testing.T) {
	r := newRoom(10000)
	woken := 0
	r.setWake(func(types.NamespacedName) { woken++ })
	r.ask(key("a", "1"), readings("default", maxForeign))
	r.ask(key("a", "2"), []reading{{"default", "more"}})
	r.watch(key("a", "2"), []string{"a"})
	r.leave(key("a", "1"))
	if woken == 0 {
		t.Error("it is not woken")
	}
}
