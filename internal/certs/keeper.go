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
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

const (
	// DefaultLifetime of a pair. It is short, because making a new one costs
	// nothing, and because that is how long a vanished replica's CA stays in
	// the bundles.
	DefaultLifetime = 24 * time.Hour
	// maxSettle is how long a change of a bundle is given to reach everyone who
	// trusts it. API servers watch and need milliseconds; Prometheus gets the
	// ConfigMap through its operator and a mounted file, which takes minutes.
	maxSettle = 10 * time.Minute
	// propagation is what the first bundle is given to reach the API servers
	// before Trusted says so.
	propagation = time.Second
	// calm is the least time between two passes, so that a fight over a
	// bundle with another writer stays a slow one.
	calm = 200 * time.Millisecond
	// retry is the wait after a failed pass.
	retry = time.Second
	// republish is the wait after the ConfigMap could not be written.
	republish = time.Minute
)

// Options say how a Keeper works.
type Options struct {
	// Holder tells this process from the others that serve the same webhooks.
	Holder string
	// Lifetime of a pair; a new one is made at half of it.
	Lifetime time.Duration
	// URL, where set, is the address that the API server shall call in place
	// of the Service: https://host:port.
	URL     string
	Targets []Target
	// Hosts are further names to serve under, besides those that the targets
	// call.
	Hosts []string
	// ConfigMap, where it has a name, gets the CAs too, for clients that are no
	// API servers.
	ConfigMap types.NamespacedName
	// Paths are those of the webhooks by their names, and of the conversion
	// under the empty name. The API server is told to call them with a secret
	// at the end.
	Paths map[string]string
	// Foreign: another program keeps the certificate and has the API server
	// trust it. The Keeper keeps the paths alone.
	Foreign bool
	Clock   clock.Clock
}

// Keeper keeps a certificate that the API server trusts.
type Keeper struct {
	options Options
	reader  client.Reader
	writer  client.Writer
	paths   *callPaths

	// looking is held while the objects are read for a caller, and looked is
	// when that began last.
	looking sync.Mutex
	looked  time.Time

	mu sync.Mutex
	// serving is nil until the hosts are known.
	serving *pair
	// next waits until its CA has settled in the bundles, since when it is
	// in all of them.
	next      *pair
	nextKnown time.Time
	// last is the pair before; its CA leaves the bundles after lastUntil.
	last      *pair
	lastUntil time.Time
	// trusted is when every target's bundle had the serving CA for the first
	// time.
	trusted time.Time
}

// NewKeeper makes a Keeper. reader has to read past any cache.
func NewKeeper(reader client.Reader, writer client.Writer, o Options) (*Keeper, error) {
	if o.URL != "" {
		u, err := url.Parse(o.URL)
		if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.Path != "" {
			return nil, fmt.Errorf("%q is no address of a webhook server: give https://HOST:PORT", o.URL)
		}
	}
	if o.Lifetime <= 0 {
		return nil, fmt.Errorf("a certificate cannot live for %s", o.Lifetime)
	}
	return &Keeper{options: o, reader: reader, writer: writer, paths: newCallPaths(o.Paths, o.Lifetime/2)}, nil
}

// settle is how long a step of a rotation waits for the one before.
func (k *Keeper) settle() time.Duration { return min(maxSettle, k.options.Lifetime/8) }

// GetCertificate is for tls.Config.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.serving == nil {
		return nil, errors.New("there is no serving certificate yet")
	}
	return k.serving.certificate, nil
}

// Trusted is nil once the API servers trust our certificate.
func (k *Keeper) Trusted() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.trusted.IsZero() || k.options.Clock.Since(k.trusted) < propagation {
		return errors.New("the API servers have not been told yet which certificate to trust")
	}
	return nil
}

// Run keeps the certificate until the context ends.
func (k *Keeper) Run(ctx context.Context, config *rest.Config, mapper meta.RESTMapper) error {
	wake, err := k.watch(ctx, config, mapper)
	if err != nil {
		return err
	}
	logger := log.FromContext(ctx).WithName("certs")
	for {
		wait, err := k.Tend(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
		case apierrors.IsConflict(err):
			wait = 0 // replicas that start together meet at the bundles
		default:
			wait = max(wait, retry)
			logger.Error(err, "Cannot publish the CA of the serving certificate, trying again")
		}
		if !k.pause(ctx, calm, nil) || !k.pause(ctx, wait, wake) {
			return nil
		}
	}
}

// pause waits; it returns false when the context has ended.
func (k *Keeper) pause(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	timer := k.options.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wake:
	case <-timer.C():
	}
	return true
}

// watch wakes the Keeper when a target is written. Only metadata is watched, of
// the named objects alone: a role can be limited to them.
func (k *Keeper) watch(ctx context.Context, config *rest.Config, mapper meta.RESTMapper) (<-chan struct{}, error) {
	wake := make(chan struct{}, 1)
	nudge := func() {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	for _, t := range append(slices.Clone(k.options.Targets), k.published()...) {
		kind := &metav1.PartialObjectMetadata{}
		kind.SetGroupVersionKind(t.GVK)
		selected := cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", t.Name)}
		if t.Namespace != "" {
			selected.Namespaces = map[string]cache.Config{t.Namespace: {}}
		}
		// A cache each, because a cache knows a kind by one selector.
		informers, err := cache.New(config, cache.Options{Mapper: mapper, ByObject: map[client.Object]cache.ByObject{kind: selected}})
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", t, err)
		}
		informer, err := informers.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", t, err)
		}
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { nudge() }, UpdateFunc: func(any, any) { nudge() },
		})
		if err != nil {
			return nil, fmt.Errorf("watch %s: %w", t, err)
		}
		go func() { _ = informers.Start(ctx) }() // it ends with the context and only then
	}
	return wake, nil
}

// published is the ConfigMap, where there is one.
func (k *Keeper) published() []Target {
	if k.options.ConfigMap.Name == "" {
		return nil
	}
	return []Target{configMap(k.options.ConfigMap)}
}

// Tend takes the next step, where one is due, and says how long to wait for
// the one after it.
func (k *Keeper) Tend(ctx context.Context) (time.Duration, error) {
	objects, err := k.read(ctx, k.options.Targets)
	if err != nil {
		return 0, err
	}
	now := k.options.Clock.Now()
	k.paths.learn(objects, now)
	bundle := func(old []byte) []byte { return old }
	if !k.options.Foreign {
		cas, err := k.prepare(k.hosts(objects), now)
		if err != nil {
			return 0, err
		}
		bundle = func(old []byte) []byte { return merge(old, k.options.Holder, cas, now) }
	}
	wanted := k.paths.wanted(now)
	for _, object := range objects {
		if err := write(ctx, k.writer, object, patches(object, k.options.URL, wanted, bundle)); err != nil {
			return 0, err
		}
	}
	// Webhooks do not wait for Prometheus: where the ConfigMap cannot be
	// written, the rotation goes on without it.
	err = k.publish(ctx, bundle)
	wait := k.advance(now)
	if err != nil {
		wait = min(wait, republish)
	}
	return wait, err
}

// publish writes the CAs to the ConfigMap.
func (k *Keeper) publish(ctx context.Context, bundle func([]byte) []byte) error {
	objects, err := k.read(ctx, k.published())
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := write(ctx, k.writer, object, publication(object, bundle)); err != nil {
			return err
		}
	}
	return nil
}

// hosts are the names to serve under, sorted.
func (k *Keeper) hosts(objects []*unstructured.Unstructured) []string {
	hosts := slices.Clone(k.options.Hosts)
	if k.options.URL == "" {
		hosts = append(hosts, hostsOf(objects)...)
	} else {
		u, _ := url.Parse(k.options.URL) // NewKeeper has parsed it
		hosts = append(hosts, u.Hostname())
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// read gets the targets that are installed.
func (k *Keeper) read(ctx context.Context, targets []Target) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, t := range targets {
		object := t.object()
		err := k.reader.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", t, err)
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// prepare makes the pairs that are needed and returns the CAs to trust. Hosts
// that no certificate covers cannot wait for a rotation: their callers are
// refused already. A host that is no longer called can.
func (k *Keeper) prepare(hosts []string, now time.Time) ([]*x509.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case len(hosts) > 0:
	case k.serving == nil:
		// Nothing is installed, so only our own probe calls.
		hosts = []string{"localhost"}
	default:
		hosts = k.serving.hosts
	}
	fit := k.serving != nil && k.serving.covers(hosts)
	switch {
	case !fit || !k.serving.ca.NotAfter.After(now):
		fresh, err := issue(k.options.Holder, hosts, now, k.options.Lifetime)
		if err != nil {
			return nil, err
		}
		k.retire(now)
		k.serving, k.next = fresh, nil
	case k.next == nil && !now.Before(k.serving.ca.NotAfter.Add(-k.options.Lifetime/2)):
		fresh, err := issue(k.options.Holder, hosts, now, k.options.Lifetime)
		if err != nil {
			return nil, err
		}
		k.next, k.nextKnown = fresh, time.Time{}
	}
	if k.last != nil && !now.Before(k.lastUntil) {
		k.last = nil
	}
	var cas []*x509.Certificate
	for _, p := range []*pair{k.last, k.serving, k.next} {
		if p != nil {
			cas = append(cas, p.ca)
		}
	}
	return cas, nil
}

// retire keeps the serving CA in the bundles for a while.
func (k *Keeper) retire(now time.Time) {
	k.last, k.lastUntil = k.serving, now.Add(k.settle())
}

// advance is called when all bundles hold what prepare returned.
func (k *Keeper) advance(now time.Time) time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.trusted.IsZero() {
		k.trusted = now
	}
	if k.options.Foreign {
		return k.paths.wait(now)
	}
	until := k.serving.ca.NotAfter.Add(-k.options.Lifetime / 2)
	if k.next != nil {
		if k.nextKnown.IsZero() {
			k.nextKnown = now
		}
		until = k.nextKnown.Add(k.settle())
		if !now.Before(until) {
			k.retire(now)
			k.serving, k.next = k.next, nil
			until = k.lastUntil
		}
	}
	if k.last != nil && k.lastUntil.Before(until) {
		until = k.lastUntil
	}
	return max(0, min(until.Sub(now), k.paths.wait(now)))
}
