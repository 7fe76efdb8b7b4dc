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

// Package shard decides which operator process works on which slice of the
// cluster, so that many can be active at once.
//
// Every owner belongs to one of K virtual shards, by a hash of its namespace
// and name. Each shard is held through a Lease: only its holder works on its
// owners. The processes find each other through Leases of their own and share
// the shards out evenly, each computing the same assignment from the same list.
// A process that is not meant to have a shard first stops its work on it and
// then gives the Lease back; the one that is meant to have it takes it when the
// Lease is free. So a shard changes hands without an overlap, and without a
// longer gap than it takes to notice.
//
// The package knows nothing of pods: what work on a shard means is the
// caller's.
package shard

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
)

// Of is the shard of an owner, from 0 to shards-1. The value is written into
// labels, so it must never change for the same input.
func Of(namespace, name string, shards int) int {
	return int(mix(namespace, name) % uint64(shards)) //nolint:gosec // there are 1 to 256 shards
}

// mix hashes two strings. FNV-1a hardly mixes its high bits for short strings,
// and names such as web-1 to web-9 differ in their last byte alone, so the sum
// goes through the finalizer of SplitMix64, where every bit of the input
// changes about half the bits of the output.
func mix(a, b string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(a))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(b))
	x := h.Sum64()
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return x
}

// Assign shares the shards out among the members: the result holds, for each
// shard, the member that is meant to have it. No two members differ by more
// than one shard. A member that comes or goes moves little besides what it
// takes or leaves, because each shard has its own order of preference over the
// members (rendezvous hashing) and is only denied a member that is full.
func Assign(members []string, shards int) []string {
	if len(members) == 0 {
		return make([]string, shards)
	}
	members = slices.Clone(members)
	slices.Sort(members)
	members = slices.Compact(members)
	floor, extra := shards/len(members), shards%len(members)
	load := make(map[string]int, len(members))
	assigned := make([]string, shards)
	for s := range assigned {
		key := strconv.Itoa(s)
		byPreference := slices.SortedFunc(slices.Values(members), func(a, b string) int {
			return cmp.Or(cmp.Compare(mix(b, key), mix(a, key)), cmp.Compare(a, b))
		})
		for _, m := range byPreference {
			if load[m] < floor || load[m] == floor && extra > 0 {
				if load[m] == floor {
					extra--
				}
				load[m]++
				assigned[s] = m
				break
			}
		}
	}
	return assigned
}
