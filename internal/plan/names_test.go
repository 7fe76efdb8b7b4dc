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
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

func TestOrdinalNames(t *testing.T) {
	d := aFleet(0).desired
	for slot, want := range map[int]string{0: "web-0", 1: "web-1", 10: "web-10", 99999: "web-99999"} {
		if got := SlotName(&d, slot); got != want {
			t.Errorf("SlotName(%d) = %q, want %q", slot, got, want)
		}
	}
}

// The names of running pods follow from this function: a change would replace
// every Random fleet on the day of the upgrade.
func TestRandomNamesNeverChange(t *testing.T) {
	d := aFleet(0).random().desired
	for slot, want := range map[int]string{0: "web-mh8ccqsz", 1: "web-5g4vznrm", 2: "web-6fwz8lrw"} {
		if got := SlotName(&d, slot); got != want {
			t.Errorf("SlotName(%d) = %q, want %q", slot, got, want)
		}
	}
}

func TestRandomNamesFollowFromOwnerAndSlot(t *testing.T) {
	d := aFleet(0).random().desired
	other := d
	other.UID = "owner-2"
	seen := map[string]int{}
	for slot := range 1000 {
		name := SlotName(&d, slot)
		if before, twice := seen[name]; twice {
			t.Errorf("slots %d and %d are both named %q", before, slot, name)
		}
		seen[name] = slot
		if again := SlotName(&d, slot); again != name {
			t.Errorf("slot %d is named %q and then %q", slot, name, again)
		}
		if name == SlotName(&other, slot) {
			t.Errorf("slot %d is named %q for two owners: a new owner would wait for its predecessor's pods", slot, name)
		}
		if bad := validation.IsDNS1123Label(name); len(bad) > 0 {
			t.Errorf("slot %d: %q is no host name: %s", slot, name, strings.Join(bad, ", "))
		}
	}
}

// The schema allows names of 52 characters and 100,000 replicas.
func TestTheLongestNamesAreHostNames(t *testing.T) {
	for _, identity := range []appsv1.Identity{appsv1.IdentityOrdinal, appsv1.IdentityRandom} {
		d := Desired{NamePrefix: strings.Repeat("x", 52), Identity: identity, UID: "owner-1"}
		for _, slot := range []int{0, 99_999, 199_999} {
			if bad := validation.IsDNS1123Label(SlotName(&d, slot)); len(bad) > 0 {
				t.Errorf("%s, slot %d: %s", identity, slot, strings.Join(bad, ", "))
			}
		}
	}
}

func TestSlotOfAName(t *testing.T) {
	ordinals, randoms := aFleet(0).desired, aFleet(0).random().desired
	for name, test := range map[string]struct {
		desired     Desired
		name, label string
		want        int
	}{
		"an ordinal is in the name":                    {ordinals, "web-7", "", 7},
		"the first ordinal":                            {ordinals, "web-0", "", 0},
		"the largest digit":                            {ordinals, "web-9", "", 9},
		"the sign before 0 is no digit":                {ordinals, "web-/", "", NoSlot},
		"the sign after 9 is no digit":                 {ordinals, "web-:", "", NoSlot},
		"the first random slot":                        {randoms, randomName(0), "0", 0},
		"the label of an ordinal does not matter":      {ordinals, "web-7", "3", 7},
		"a leading zero is another name":               {ordinals, "web-07", "7", NoSlot},
		"a sign is another name":                       {ordinals, "web-+7", "7", NoSlot},
		"a negative ordinal is none":                   {ordinals, "web--7", "-7", NoSlot},
		"an ordinal beyond any integer is none":        {ordinals, "web-99999999999999999999", "", NoSlot},
		"the pod of a longer owner's name is not ours": {ordinals, "web-1-0", "0", NoSlot},
		"a name without the prefix is not ours":        {ordinals, "api-0", "0", NoSlot},
		"the prefix alone is not ours":                 {ordinals, "web-", "0", NoSlot},
		"a random name needs the label":                {randoms, randomName(3), "3", 3},
		"without it the slot is unknown":               {randoms, randomName(3), "", NoSlot},
		"an edited label gives no other pod's slot":    {randoms, randomName(3), "4", NoSlot},
		"a label that is no number gives none":         {randoms, randomName(3), "three", NoSlot},
		"a negative label gives none":                  {randoms, randomName(3), "-3", NoSlot},
	} {
		t.Run(name, func(t *testing.T) {
			if got := SlotOf(&test.desired, test.name, test.label); got != test.want {
				t.Errorf("SlotOf(%q, %q) = %d, want %d", test.name, test.label, got, test.want)
			}
		})
	}
}
