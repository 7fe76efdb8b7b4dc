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

package oracle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// service is what the rules about serving pods remember of a pod that is there,
// or went a short while ago.
type service struct {
	owner types.UID
	pod   *corev1.Pod
	serves,
	// gone: the pod does not live any more.
	gone bool
	// from is the version since which it serves, or served last, and began when
	// that was; until is the version at which it ceased to, and taken says that
	// the operator took it.
	from, until int64
	began       time.Time
	taken       bool
	// bornAt is the version of its creation. inBase: since then, its ordinal was
	// among those that always have a pod.
	bornAt int64
	inBase bool
	// asked is the version at which its eviction was first asked for, and then is
	// how many pods served at that version. standsIn: it was made for a pod that
	// had to leave, or as one more than the base.
	asked, then int64
	standsIn    bool
}

// slack is by how much the times that the API stores, whole seconds, and those of
// the history may differ.
const slack = 2 * time.Second

// follow keeps the service of a pod after a change of it.
func (c *checker) follow(r *Revision, pod *corev1.Pod) {
	s := c.services[pod.UID]
	owner, ok := owned(pod)
	if s == nil {
		if !ok {
			return
		}
		s = &service{bornAt: r.Version, standsIn: c.madeToStandIn(owner, pod)}
		c.services[pod.UID] = s
	}
	s.pod = pod
	if ok {
		s.owner = owner
	}
	s.gone = s.gone || r.Gone || !Live(pod)
	c.judgeService(r, s)
	s.inBase = s.inBase || c.inBase(s)
	if s.asked == 0 && evictionRequested(pod) != (time.Time{}) {
		s.asked = r.Version
		for _, other := range c.services {
			if other.owner == s.owner && other.serves {
				s.then++
			}
		}
	}
}

// judgeService decides anew whether a pod serves.
func (c *checker) judgeService(r *Revision, s *service) {
	serves := !s.gone && Serves(s.pod) && !c.lost(s.pod)
	switch {
	case serves && !s.serves:
		s.from, s.began = r.Version, r.Time
	case !serves && s.serves:
		s.until, s.taken = r.Version, r.Actor == Operator || r.Actor == Late
	}
	s.serves = serves
}

// lost: the pod's node is deleted, or tainted out-of-service: its pods are
// replaced. Where no node is known, none is missing.
func (c *checker) lost(pod *corev1.Pod) bool {
	if pod.Spec.NodeName == "" || len(c.machines) == 0 {
		return false
	}
	node := c.machines[pod.Spec.NodeName]
	return node == nil || slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeOutOfService })
}

// followNode looks at the pods of a node that changed.
func (c *checker) followNode(r *Revision, node *corev1.Node) {
	c.machines[node.Name] = node
	if r.Gone {
		c.machines[node.Name] = nil
	}
	for _, s := range c.services {
		if s.pod.Spec.NodeName == node.Name {
			c.judgeService(r, s)
		}
	}
}

// followOwner notes which ordinals belong to the base from now on.
func (c *checker) followOwner(owner types.UID) {
	for _, s := range c.services {
		if s.owner == owner && !s.gone {
			s.inBase = s.inBase || c.inBase(s)
		}
	}
}

func (c *checker) inBase(s *service) bool {
	versions := c.owners[s.owner]
	if len(versions) == 0 {
		return false
	}
	spec := versions[len(versions)-1].Spec
	ordinal, ok := spec.Ordinal(s.pod.Name)
	return ok && !spec.Random && spec.InBase(ordinal)
}

// served: the pod serves, or did when the writer looked or since, unless the
// operator itself took it. With a length of time, it did so for that long.
func (s *service) served(r *Revision, length time.Duration) bool {
	if !s.serves && (s.until <= r.Seen || s.taken) {
		return false
	}
	return length == 0 || r.Time.Sub(s.began)+slack >= length
}

// surelyServed: the pod serves, and did since before the writer looked.
func (s *service) surelyServed(r *Revision) bool { return s.serves && s.from <= r.Seen }

// left counts the pods of the same owner that serve without this one.
func (c *checker) left(r *Revision, s *service, length time.Duration) int {
	n := 0
	for _, other := range c.services {
		if other != s && other.owner == s.owner && other.served(r, length) {
			n++
		}
	}
	return n
}

// candidates are the versions of an owner that the writer may have acted on: what
// it had read, or a later one.
func (c *checker) candidates(r *Revision, owner types.UID) []ownerVersion {
	versions := c.owners[owner]
	for i := len(versions) - 1; i > 0; i-- {
		if versions[i].version <= r.Floor {
			return versions[i:]
		}
	}
	return versions
}

// evictionRequested is since when an eviction of the pod waits, or zero.
func evictionRequested(pod *corev1.Pod) time.Time {
	at, _ := time.Parse(time.RFC3339, pod.Annotations[appsv1.AnnotationEvictionRequested])
	return at
}
