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

package manager

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
	webhookapps "github.com/mycompany/pod-operator/internal/webhook/apps"
)

// What one review may cost, and what all of them together may at a time. The
// operator is to live within 512Mi whatever it is sent, and by whom.
const (
	// largestReview holds an object and its old version, each as large as the API
	// server takes them, and some more.
	largestReview = 7 << 20
	// mostValues bounds the JSON values of a review, and of each object that is to be
	// converted. valueSize is what Go takes for one, measured with the smallest there are.
	mostValues = webhookapps.MostValues
	valueSize  = 130
	// copies is how often the text of a review is held at a time: as it came, in
	// its parts, decoded, and encoded for the answer.
	copies = 4
	// bodyRoom is what the bodies that are being read may take together, and
	// workRoom what the reviews that are being worked on may. One address gets no
	// more than half of it, so that no client keeps the API server out by itself.
	bodyRoom = 32 << 20
	workRoom = 160 << 20
	// smallReview is the size of a review of an eviction, a scale or a usual object, and
	// smallCost what one may cost. They have room of their own: large objects of one tenant
	// come from the API server's address, as all reviews do.
	smallReview = 64 << 10
	smallCost   = 8 * smallReview
	smallRoom   = 16 << 20
	// patience is how long a review waits for room. The API server itself waits for
	// ten seconds.
	patience = 8 * time.Second
)

// bounds limit what reviews cost: one is read whole, within limits, and weighed
// before anything is built from it.
type bounds struct {
	bodies, work, smallBodies, smallWork *room
}

func newBounds() *bounds {
	return &bounds{bodies: newRoom(bodyRoom), work: newRoom(workRoom), smallBodies: newRoom(smallRoom), smallWork: newRoom(smallRoom)}
}

// within serves a review that is within the bounds.
func (b *bounds) within(next http.Handler) http.Handler { return b.weighed(weigh, next) }

// weighed serves a review that is within the bounds and that weigh has not refused.
func (b *bounds) weighed(weigh func(body []byte) (cost int64, ok bool), next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), patience)
		defer cancel()
		size := r.ContentLength
		if size < 0 {
			size = largestReview
		}
		if size > largestReview {
			http.Error(w, "a review has at most 7 MiB", http.StatusRequestEntityTooLarge)
			return
		}
		bodies := b.bodies
		if size <= smallReview {
			bodies = b.smallBodies
		}
		leave, err := bodies.enter(ctx, r.RemoteAddr, size)
		if err != nil {
			tooBusy(w)
			return
		}
		defer leave()
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience)) // not every writer can, and then the server's own limit holds
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, largestReview))
		if err != nil {
			http.Error(w, "cannot read the review: "+err.Error(), http.StatusRequestEntityTooLarge)
			return
		}
		cost, ok := weigh(body)
		if !ok {
			tooManyValues(w, body)
			return
		}
		work := b.work
		if cost <= smallCost {
			work = b.smallWork
		}
		leaveWork, err := work.enter(ctx, r.RemoteAddr, cost)
		if err != nil {
			tooBusy(w)
			return
		}
		defer leaveWork()
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// weigh is what a review may cost, unless it holds too many values.
func weigh(body []byte) (cost int64, ok bool) {
	if v1alpha1.CountValues(body) > mostValues {
		return 0, false
	}
	return weighConversion(body)
}

// weighConversion is what a conversion may cost. It is never refused for its values:
// one object of the review is built at a time, and none that has too many.
func weighConversion(body []byte) (cost int64, ok bool) {
	cost = int64(copies*len(body) + valueSize*min(v1alpha1.CountValues(body), mostValues))
	if bytes.Contains(body, []byte(v1alpha1.AnnotationKept)) {
		cost += valueSize * mostValues // what it may unpack to
	}
	return cost, true
}

// tooManyValues denies what is asked for. To a webhook that fails open any other status
// than 200 is as if it had allowed the object.
func tooManyValues(w http.ResponseWriter, body []byte) {
	const message = "with its stored version the object has more than 200,000 JSON values: put files and long lists into ConfigMaps, and remove labels that are not needed"
	var review struct {
		metav1.TypeMeta
		Request struct {
			UID types.UID `json:"uid"`
		} `json:"request"`
	}
	if json.Unmarshal(body, &review) != nil || review.Kind != "AdmissionReview" {
		http.Error(w, message, http.StatusRequestEntityTooLarge)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: &admissionv1.AdmissionResponse{
		UID:    review.Request.UID,
		Result: &metav1.Status{Code: http.StatusRequestEntityTooLarge, Reason: metav1.StatusReasonRequestEntityTooLarge, Message: message},
	}})
}

func tooBusy(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, "too many reviews at a time: try again", http.StatusTooManyRequests)
}

// room is an amount of memory that requests share. Those of one address get half
// of it at most.
type room struct {
	size  int64
	total *semaphore.Weighted

	mu    sync.Mutex
	hosts map[string]*share
}

// share is what one address may have, while requests of it are there. One of them at a
// time waits for the room of all, so that addresses take turns.
type share struct {
	*semaphore.Weighted
	turn     *semaphore.Weighted
	requests int
}

func newRoom(size int64) *room {
	return &room{size: size, total: semaphore.NewWeighted(size), hosts: map[string]*share{}}
}

var errTooLarge = errors.New("larger than the room of one address")

// enter waits for room and returns how to give it back.
func (r *room) enter(ctx context.Context, address string, size int64) (leave func(), err error) {
	if size > r.size/2 {
		return nil, errTooLarge
	}
	host := hostOf(address)
	own := r.share(host)
	if err := own.Acquire(ctx, size); err != nil {
		r.forget(host)
		return nil, err
	}
	if err := r.takeTurn(ctx, own, size); err != nil {
		own.Release(size)
		r.forget(host)
		return nil, err
	}
	return r.leave(host, own, size), nil
}

func (r *room) takeTurn(ctx context.Context, own *share, size int64) error {
	if err := own.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer own.turn.Release(1)
	return r.total.Acquire(ctx, size)
}

// leave gives room back.
func (r *room) leave(host string, own *share, size int64) func() {
	return func() {
		r.total.Release(size)
		own.Release(size)
		r.forget(host)
	}
}

// hostOf is the address without its port.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}

func (r *room) share(host string) *share {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.hosts[host]
	if s == nil {
		s = &share{Weighted: semaphore.NewWeighted(r.size / 2), turn: semaphore.NewWeighted(1)}
		r.hosts[host] = s
	}
	s.requests++
	return s
}

func (r *room) forget(host string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.hosts[host]
	if s.requests--; s.requests == 0 {
		delete(r.hosts, host)
	}
}
