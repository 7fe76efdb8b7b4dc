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

package sim

// sums identify a state: full with everything that can have an effect, calm without
// how often objects were written. A calm state that comes again is a loop.
type sums struct{ full, calm uint64 }

func (r *run) sums() sums {
	if r.known.sums == nil {
		s := r.findSums()
		r.known.sums = &s
	}
	return *r.known.sums
}

func (r *run) findSums() sums {
	var objects sums
	for _, rec := range r.server.objects {
		objects.full += rec.full
		objects.calm += rec.content
	}
	for key, n := range r.server.incarnations {
		objects.full += hashOf(key, n)
	}
	for key, n := range r.server.generated {
		objects.full += hashOf("generated", key, n)
	}
	now := int(r.clock.now.Sub(began()))
	total := sums{hashOf(objects.full, r.acted, r.faults, now), hashOf(objects.calm, r.acted, r.faults, now)}
	for _, p := range r.processes {
		s := p.sums()
		total = sums{hashOf(total.full, s.full), hashOf(total.calm, s.calm)}
	}
	return total
}

func (p *process) sums() sums {
	parts := []any{p.memory, p.deposed, p.serving, p.queue.dirty}
	for _, req := range p.queue.ready {
		parts = append(parts, req.String())
	}
	now := p.run.clock.now
	for _, req := range sortedKeys(p.queue.timers) {
		t := p.queue.timers[req]
		parts = append(parts, "timer", req.String(), int(t.at.Sub(now)), int(t.wait))
	}
	if p.current != nil {
		parts = append(parts, "current", p.current.req.String())
	}
	full := parts
	for _, req := range sortedKeys(p.queue.failures) {
		full = append(full, "failures", req.String(), p.queue.failures[req])
	}
	for _, req := range sortedKeys(p.queue.fired) {
		full = append(full, "fired", req.String(), p.queue.fired[req])
	}
	s := sums{hashOf(append(full, p.chain)...), hashOf(parts...)}
	for _, kind := range p.cacheKinds() {
		c := p.caches[kind].sums(p.run.server.log[kind])
		s = sums{hashOf(s.full, kind.Kind, c.full), hashOf(s.calm, kind.Kind, c.calm)}
	}
	return s
}

func (c *cache) sums(log []change) sums {
	var s sums
	for _, rec := range c.objects {
		s.full += rec.full
		s.calm += rec.content
	}
	s = sums{hashOf(s.full, c.cut), hashOf(s.calm, c.cut)}
	for _, line := range log[c.at:] {
		for _, rec := range []*record{line.before, line.after} {
			if rec == nil {
				s = sums{hashOf(s.full), hashOf(s.calm)}
				continue
			}
			s = sums{hashOf(s.full, rec.full), hashOf(s.calm, rec.content)}
		}
	}
	return s
}
