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

package dashboard

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/utils/clock"
)

// What one user, one namespace and one source may take of what all share. The
// page needs one stream a tab and a request every few seconds.
const (
	maxStreams             = 64
	maxStreamsPerUser      = 8
	maxStreamsPerNamespace = 16

	// A bad token costs the API server a review as a good one does.
	badTokensPerSecond, badTokensAtOnce = 5, 50
	// A request costs it an access review for each object that it is about.
	requestsPerSecond, requestsAtOnce = 50, 200

	// What people do by hand costs more: writes, forecasts and logs.
	costlyPerSecond, costlyAtOnce = 4, 40
	forecastsAtOnce               = 1

	// A large template takes 16 MB while it is looked at.
	looksAtOnce = 4

	// remembered bounds the memory for sources, users and tokens. A forgotten
	// one begins anew.
	remembered = 4096
	// idle is after how long a source or a user has a full allowance again.
	idle = time.Minute
)

// limits keep one visitor from taking what is there for all.
type limits struct {
	clock clock.WithTicker
	// sources and users hold an allowance each, tokens the digests of those
	// that were good a moment ago.
	sources, users, tokens *cache.LRUExpireCache
	// hands holds an allowance of costly requests for each user.
	hands *cache.LRUExpireCache

	mu sync.Mutex
	// streams counts the open ones: in all, by user and by namespace.
	streams               int
	ofUsers, ofNamespaces map[string]int
}

func newLimits(c clock.WithTicker) *limits {
	return &limits{
		clock:   c,
		sources: cache.NewLRUExpireCacheWithClock(remembered, c), users: cache.NewLRUExpireCacheWithClock(remembered, c),
		tokens:  cache.NewLRUExpireCacheWithClock(remembered, c),
		hands:   cache.NewLRUExpireCacheWithClock(remembered, c),
		ofUsers: map[string]int{}, ofNamespaces: map[string]int{},
	}
}

// goodKey is where badTokens says what to do for a token that is good.
type goodKey struct{}

// badTokens lets a source bring only so many of them. A token counts as bad
// until it was reviewed. Users who share a source with the one who guesses,
// behind a forwarded port say, go on with the tokens they have.
func (l *limits) badTokens(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, source := digest(r), sourceOf(r)
		_, known := l.tokens.Get(token)
		if !known && !l.take(l.sources, source, badTokensPerSecond, badTokensAtOnce) {
			busy(w, "Too many bad tokens come from your address. Try again.")
			return
		}
		good := func() {
			l.tokens.Add(token, struct{}{}, believeTokens)
			if !known {
				l.giveBack(l.sources, source, badTokensPerSecond, badTokensAtOnce)
			}
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), goodKey{}, good)))
	})
}

// requests lets a user ask only so much. It comes after authentication, so that
// the token is a good one.
func (l *limits) requests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if good, ok := r.Context().Value(goodKey{}).(func()); ok {
			good()
		}
		who := visitor(r.Context()).GetName()
		if !l.take(l.users, sharers(who), requestsPerSecond, requestsAtOnce) {
			busy(w, who+" asks too much. Try again.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// costlyRequests lets a user ask only so much of what costs more.
func (l *limits) costlyRequests(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := visitor(r.Context()).GetName()
		if !l.take(l.hands, sharers(who), costlyPerSecond, costlyAtOnce) {
			busy(w, who+" asks too much. Try again.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// sharers names who shares an allowance with a user: all service accounts of a
// namespace do, because its owner can make any number of them.
func sharers(who string) string {
	if namespace, _, err := serviceaccount.SplitUsername(who); err == nil {
		return serviceaccount.MakeNamespaceGroupName(namespace)
	}
	return who
}

func busy(w http.ResponseWriter, message string) {
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusTooManyRequests, message)
}

// allowance is what is left for a source or a user; it grows with time.
type allowance struct {
	left float64
	at   time.Time
}

// take takes one, if there is one.
func (l *limits) take(of *cache.LRUExpireCache, key string, perSecond, atOnce float64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.allowance(of, key, perSecond, atOnce)
	if a.left < 1 {
		return false
	}
	a.left--
	of.Add(key, a, idle)
	return true
}

func (l *limits) giveBack(of *cache.LRUExpireCache, key string, perSecond, atOnce float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.allowance(of, key, perSecond, atOnce)
	a.left++
	of.Add(key, a, idle)
}

// allowance is that of a key now, a full one for a key that is new.
func (l *limits) allowance(of *cache.LRUExpireCache, key string, perSecond, atOnce float64) allowance {
	now := l.clock.Now()
	found, ok := of.Get(key)
	if !ok {
		return allowance{left: atOnce, at: now}
	}
	a := found.(allowance)
	return allowance{left: min(atOnce, a.left+perSecond*now.Sub(a.at).Seconds()), at: now}
}

// openStream counts a stream, or says why there is no room for it. namespace is
// the one that the reader's right is about, empty for one about all: accounts
// of one namespace, of which its owner can make any number, share its streams.
func (l *limits) openStream(user, namespace string) (end func(), full string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.streams >= maxStreams:
		return nil, fmt.Sprintf("%d streams are open; no more than that.", maxStreams)
	case l.ofUsers[user] >= maxStreamsPerUser:
		return nil, fmt.Sprintf("%s has %d streams open; no more than that.", user, maxStreamsPerUser)
	case namespace != "" && l.ofNamespaces[namespace] >= maxStreamsPerNamespace:
		return nil, fmt.Sprintf("%d streams of namespace %s are open; no more than that.", maxStreamsPerNamespace, namespace)
	}
	l.count(user, namespace, 1)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.count(user, namespace, -1)
	}, ""
}

func (l *limits) count(user, namespace string, change int) {
	l.streams += change
	add(l.ofUsers, user, change)
	add(l.ofNamespaces, namespace, change)
}

// add forgets a key that counts nothing.
func add(counts map[string]int, key string, change int) {
	if counts[key] += change; counts[key] == 0 {
		delete(counts, key)
	}
}

// digest stands for a request's token, which is not kept.
func digest(r *http.Request) [sha256.Size]byte {
	return sha256.Sum256([]byte(r.Header.Get("Authorization")))
}

// sourceOf is the address a request comes from; of an IPv6 address the network,
// because a host has as many addresses in it as it likes. What a proxy says of
// others is not believed.
func sourceOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	if ip := net.ParseIP(host); ip != nil && strings.Contains(host, ":") {
		return ip.Mask(net.CIDRMask(64, 128)).String()
	}
	return host
}
