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
	"crypto/rand"
	"encoding/hex"
	"maps"
	"regexp"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// lingers is for how long a path is answered that no object names any more:
	// API servers learn of a new one a moment later than the operator.
	lingers = time.Minute
	// bareFor is for how long a path without a secret stays: an operator of a
	// version without secrets put it there, and would put it back while it runs.
	bareFor = time.Minute
	// lookEvery limits the reads that strangers cause, and lookPatience is how long one may take.
	lookEvery, lookPatience = time.Second, 5 * time.Second
)

// secret is what a path ends in, after the webhook's own path.
var secret = regexp.MustCompile(`^/[0-9a-f]{32}$`)

// callPaths are the paths at which the API server calls the webhooks. Each ends
// in a secret, which the objects that name it are the only place to hold: only the
// API server and administrators read them, so that a call at such a path is one of
// theirs. Each webhook has its own, because the API server shows users the path of
// a webhook that fails closed when it cannot reach it.
type callPaths struct {
	// bases are the webhooks' own paths, by their names.
	bases map[string]string
	// renew is the age at which a secret is replaced.
	renew time.Duration

	mu sync.Mutex
	// named are the paths in the objects, by webhook, and since when they have been seen there.
	named map[string]sighting
	// former are answered until a time: what was named before, and what is
	// being written.
	former map[string]time.Time
}

type sighting struct {
	path  string
	since time.Time
}

func newCallPaths(bases map[string]string, renew time.Duration) *callPaths {
	return &callPaths{bases: bases, renew: renew, named: map[string]sighting{}, former: map[string]time.Time{}}
}

// learn takes over what the objects name now.
func (p *callPaths) learn(objects []*unstructured.Unstructured, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.named
	p.named = map[string]sighting{}
	for _, object := range objects {
		for _, c := range clientConfigs(object) {
			seen := sighting{path: c.path(), since: now}
			if before[c.webhook].path == seen.path {
				seen.since = before[c.webhook].since
			}
			p.named[c.webhook] = seen
		}
	}
	maps.DeleteFunc(p.former, func(_ string, until time.Time) bool { return !now.Before(until) })
	for name, old := range before {
		if p.named[name].path != old.path {
			p.former[old.path] = now.Add(lingers)
		}
	}
}

// answered reports whether calls at a path are answered.
func (p *callPaths) answered(path string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, seen := range p.named {
		if seen.path == path {
			return true
		}
	}
	until, ok := p.former[path]
	return ok && now.Before(until)
}

// wanted are the paths to be named, by webhook. New ones are answered from now
// on, before the API server learns of them.
func (p *callPaths) wanted(now time.Time) map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := map[string]string{}
	for name, seen := range p.named {
		base, ours := p.bases[name]
		if !ours {
			continue
		}
		wanted[name] = seen.path
		if now.Before(seen.since.Add(p.stays(base, seen.path))) {
			continue
		}
		wanted[name] = base + "/" + draw()
		p.former[wanted[name]] = now.Add(lingers)
	}
	return wanted
}

// stays is for how long a path stays as it is.
func (p *callPaths) stays(base, path string) time.Duration {
	rest, ours := strings.CutPrefix(path, base)
	switch {
	case ours && secret.MatchString(rest):
		return p.renew
	case path == base:
		return bareFor
	}
	return 0
}

// wait is how long nothing has to be replaced.
func (p *callPaths) wait(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait := p.renew
	for name, seen := range p.named {
		if base, ours := p.bases[name]; ours {
			wait = min(wait, seen.since.Add(p.stays(base, seen.path)).Sub(now))
		}
	}
	return max(0, wait)
}

func draw() string {
	raw := make([]byte, 16)
	_, _ = rand.Read(raw) // it never fails
	return hex.EncodeToString(raw)
}

// Answers reports whether the API server calls at a path. For one that is not
// known the objects are read: another replica may have named it a moment ago. One
// read serves all who wait for it, so that strangers cause few.
func (k *Keeper) Answers(ctx context.Context, path string) bool {
	if k.paths.answered(path, k.options.Clock.Now()) {
		return true
	}
	if at := strings.LastIndex(path, "/"); at < 0 || !secret.MatchString(path[at:]) {
		return false
	}
	arrived := k.options.Clock.Now()
	k.looking.Lock()
	defer k.looking.Unlock()
	if !k.looked.After(arrived) {
		if early := k.looked.Add(lookEvery).Sub(arrived); early > 0 && !k.pause(ctx, early, nil) {
			return false
		}
		k.looked = k.options.Clock.Now()
		// One who hangs up does not answer for all others.
		whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookPatience)
		defer cancel()
		if objects, err := k.read(whole, k.options.Targets); err == nil {
			k.paths.learn(objects, k.looked)
		}
	}
	return k.paths.answered(path, k.options.Clock.Now())
}
