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

package plan

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A pod whose gate is shut goes back into service whenever its change is not
// about to happen.
// With random names a pod that does not serve is the first that is too many. One that
// was taken out of service for a change must not become that one: where its holder
// keeps it, it would go back into service, and out of it again, without an end.
func TestAPodThatIsTooManyAndHeldIsNotTakenOutOfService(t *testing.T) {
	var pods []podBuilder
	for slot := range 3 {
		b := random(slot).revision(oldRev)
		b.p.HoldDelete, b.p.Gate, b.p.Wanted = new("drain"), GateOpen, ""
		pods = append(pods, b)
	}
	f := aFleet(2, pods...).random().rollingOut()
	f.observed.Changes = []Change{{From: oldRev, To: newRev, Images: []string{"app"}, Restarts: true}}
	shut := map[string]int{}
	for range 20 {
		for _, a := range f.plan().Actions {
			p := &f.observed.Pods[slices.IndexFunc(f.observed.Pods, func(p Pod) bool { return p.Name == a.Pod })]
			switch a.Verb {
			case ShutGate:
				shut[a.Pod]++
				p.Gate, p.Ready = GateShut, false
			case OpenGate:
				p.Gate, p.Ready = GateOpen, true
			case UpdatePod:
				p.Revision = a.Revision
			case TellHolder:
				p.Wanted = a.Wanted
			default:
				t.Fatalf("%s of %s", a.Verb, a.Pod)
			}
		}
	}
	for name, times := range shut {
		if times > 1 {
			t.Errorf("%s is taken out of service %d times", name, times)
		}
	}
}

func TestGatesOpenUnlessAChangeIsAboutToHappen(t *testing.T) {
	inPlace := func(f fleet) fleet {
		f.observed.Changes = []Change{{From: oldRev, To: newRev, Images: []string{"app"}, Restarts: true}}
		return f.rollingOut()
	}
	shut := func(b podBuilder) podBuilder { b.p.Gate = GateShut; return b }
	unset := func(b podBuilder) podBuilder { b.p.Gate = GateUnset; return b }
	held := func(b podBuilder) podBuilder { b.p.HoldUpdate = new("drain"); return b }
	old := ordinal(0).revision(oldRev)
	for name, test := range map[string]struct {
		given fleet
		want  []string
	}{
		"a new pod goes into service": {
			given: aFleet(1, unset(ordinal(0).unready())),
			want:  []string{"OpenGate web-0 InService"},
		},
		"one that does not run yet has time": {
			given: aFleet(1, unset(ordinal(0).pending())),
		},
		"an old one that serves is taken out of service first": {
			given: inPlace(aFleet(1, func() podBuilder { b := old; b.p.Gate = GateOpen; return b }())),
			want:  []string{"ShutGate web-0 OutOfService"},
		},
		"and changed when it is": {
			given: inPlace(aFleet(1, shut(old.unready()))),
			want:  []string{"UpdatePod web-0 RolloutInPlace"},
		},
		"one that never served is changed before it goes into service": {
			given: inPlace(aFleet(1, unset(old.unready()))),
			want:  []string{"UpdatePod web-0 RolloutInPlace"},
		},
		"while its change is not done the gate stays shut": {
			given: inPlace(aFleet(1, func() podBuilder { b := shut(ordinal(0).unready()); b.p.Changing = true; return b }())),
		},
		"then it opens": {
			given: inPlace(aFleet(1, shut(ordinal(0).unready()))),
			want:  []string{"OpenGate web-0 InService"},
		},
		"it opens when the rollout is paused": {
			given: inPlace(aFleet(1, shut(old.unready()))).paused(),
			want:  []string{"OpenGate web-0 InService"},
		},
		"and when a partition keeps the pod after all": {
			given: func() fleet {
				f := inPlace(aFleet(1, shut(old.unready())))
				f.desired.Update.Partition = 1
				return f
			}(),
			want: []string{"OpenGate web-0 InService"},
		},
		"and while it is held": {
			given: inPlace(aFleet(1, held(shut(old.unready())))),
			want:  []string{"TellHolder web-0 Held", "OpenGate web-0 InService"},
		},
		"one that is held from all is not taken out of service": {
			given: inPlace(aFleet(1, func() podBuilder {
				b := held(old)
				b.p.HoldDelete, b.p.Gate = new("drain"), GateOpen
				return b
			}())),
			want: []string{"TellHolder web-0 Held"},
		},
		"nor where its deletion was asked for, too": {
			given: inPlace(aFleet(1, func() podBuilder {
				b := held(old.requested())
				b.p.HoldDelete, b.p.Gate = new("drain"), GateOpen
				return b
			}())),
			want: []string{"TellHolder web-0 Held"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, saidOf(test.given.plan())); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}
