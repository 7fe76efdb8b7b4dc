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
	"hash/fnv"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/rand"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// SlotName is the name of the pod in a slot. It follows from owner and slot
// alone, so a create that was applied but answered with a time-out comes back
// as AlreadyExists and never as a second pod.
//
// A Random suffix is made from the owner's UID, so that an owner that was
// deleted and made again under its old name does not wait for the terminating
// pods of its predecessor.
func SlotName(d *Desired, slot int) string {
	if d.Identity == appsv1.IdentityOrdinal {
		return d.NamePrefix + "-" + strconv.Itoa(slot)
	}
	h := fnv.New64a()
	var room [64]byte // a pod is looked at often: fmt would allocate each time
	_, _ = h.Write(strconv.AppendInt(append(append(room[:0], d.UID...), '/'), int64(slot), 10))
	// SafeEncodeString maps to an alphabet without vowels: no words.
	suffix := rand.SafeEncodeString(strconv.FormatUint(h.Sum64(), 36))
	return d.NamePrefix + "-" + suffix[max(0, len(suffix)-8):]
}

// SlotOf is the slot that a name stands for, or NoSlot. label is the value of
// the slot label; a name that does not follow from it has no slot, so an
// edited label never gives a pod another pod's slot.
func SlotOf(d *Desired, name, label string) int {
	if d.Identity == appsv1.IdentityOrdinal {
		rest, ok := strings.CutPrefix(name, d.NamePrefix)
		if !ok {
			return NoSlot
		}
		return ordinalOf(rest)
	}
	slot, err := strconv.Atoi(label)
	if err != nil || slot < 0 || SlotName(d, slot) != name {
		return NoSlot
	}
	return slot
}

// ordinalOf reads "-7", and nothing that SlotName would not write.
func ordinalOf(rest string) int {
	digits, ok := strings.CutPrefix(rest, "-")
	if !ok || digits == "" || digits[0] < '0' || digits[0] > '9' || digits[0] == '0' && len(digits) > 1 {
		return NoSlot
	}
	slot, err := strconv.Atoi(digits)
	if err != nil {
		return NoSlot
	}
	return slot
}
