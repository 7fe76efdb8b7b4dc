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

package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"reflect"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/lab/trace"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// ErrCrashed is what Start of an attached manager returns when a fault button crashed it.
var ErrCrashed = errors.New("lab: the operator crashed, as a fault button asked for")

// Attach shows a manager in a lab of its own, and serves the page as long as the manager
// runs: on $LAB_ADDRESS, or on a free port of 127.0.0.1. The log says where. Add controllers
// to the manager that it returns.
func Attach(mgr manager.Manager) (manager.Manager, error) {
	l := New(Options{})
	attached, err := l.Attach(mgr, "")
	if err != nil {
		return nil, err
	}
	address := os.Getenv("LAB_ADDRESS")
	if address == "" {
		address = "127.0.0.1:0"
	}
	return attached, attached.Add(&pageServer{lab: l, address: address, log: mgr.GetLogger()})
}

// pageServer serves the page also while the operator waits for its lease.
type pageServer struct {
	lab     *Lab
	address string
	log     logr.Logger
}

func (s *pageServer) Start(ctx context.Context) error {
	listener, err := net.Listen("tcp", s.address)
	if err != nil {
		return fmt.Errorf("lab: %w", err)
	}
	s.log.Info("the lab shows this operator", "page", s.lab.Link(listener))
	return s.lab.Serve(ctx, listener)
}

func (s *pageServer) NeedLeaderElection() bool { return false }

// process is an attached manager: one running operator.
type process struct {
	manager.Manager
	lab      *Lab
	name     string
	recorder *flightrecorder.Recorder
	client   client.Client
	kinds    kinds

	// handling is held while an event handler runs, so that what is added to a queue
	// meanwhile is known to come from this event.
	handling sync.Mutex

	mu       sync.Mutex
	dead     bool
	died     chan struct{}
	delivery *delivery
	queues   []*queue
	cached   map[string]string // resource version, by object
	streams  map[*stream]bool
	expire   map[string]bool // resources whose next watch is answered with 410
}

// Attach shows a manager as the process of this name; one that crashed is replaced by the
// manager of the same name that is attached next.
func (l *Lab) Attach(mgr manager.Manager, name string) (manager.Manager, error) {
	recorder, err := flightrecorder.New(flightrecorder.Config{})
	if err != nil {
		return nil, err
	}
	p := &process{
		Manager: mgr, lab: l, name: name, recorder: recorder, kinds: kinds{mapper: mgr.GetRESTMapper()}, died: make(chan struct{}),
		cached: map[string]string{}, streams: map[*stream]bool{}, expire: map[string]bool{},
	}
	// The cache and the clients of a manager share this one HTTP client, by pointer.
	shared := mgr.GetHTTPClient()
	if shared.Transport == nil {
		shared.Transport = http.DefaultTransport
	}
	shared.Transport = &transport{process: p, inner: shared.Transport}
	p.client = recorder.Client(p.reading(mgr.GetClient()))
	l.mu.Lock()
	l.processes = slices.DeleteFunc(l.processes, func(other *process) bool { return other.name == name })
	l.processes = append(l.processes, p)
	l.mu.Unlock()
	return p, nil
}

// GetClient returns a client whose reads and writes are shown.
func (p *process) GetClient() client.Client { return p.client }

// GetCache returns a cache whose handlers are shown.
func (p *process) GetCache() cache.Cache {
	return &tappedCache{Cache: p.Manager.GetCache(), process: p}
}

// Add taps controllers.
func (p *process) Add(r manager.Runnable) error {
	if c, ok := r.(controller.Controller); ok {
		if err := p.tap(c); err != nil {
			return err
		}
	}
	return p.Manager.Add(r)
}

type newQueueFunc = func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request]

// tap puts the flight recorder's taps and the lab's around the queue and the reconciler.
func (p *process) tap(c controller.Controller) error {
	fields := reflect.ValueOf(c)
	name, ok := exported[string](fields, "Name")
	newQueue, okQueue := exported[newQueueFunc](fields, "NewQueue")
	do, okDo := exported[reconcile.Reconciler](fields, "Do")
	if !ok || !okQueue || !okDo {
		return fmt.Errorf("lab: %T has no fields Name, NewQueue and Do: this version of controller-runtime is not supported", c)
	}
	// The recorder wants to know the kind for its records; a controller does not keep it.
	object := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "lab/v1", Kind: *name}}
	tap, err := flightrecorder.NewTap(p.recorder, p.Manager, *name, object)
	if err != nil {
		return err
	}
	q := &queue{process: p, controller: *name, tap: tap, keys: map[reconcile.Request]*keyState{}, stopped: make(chan struct{})}
	tapped := tap.Options(controller.Options{NewQueue: *newQueue}).NewQueue
	*newQueue = func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		q.PriorityQueue = tapped(name, &rateLimiter{TypedRateLimiter: limiter, queue: q}).(priorityqueue.PriorityQueue[reconcile.Request])
		return q
	}
	*do = &reconciler{process: p, queue: q, inner: tap.Reconciler(*do)}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queues = append(p.queues, q)
	return nil
}

// exported finds a field of a struct behind a pointer.
func exported[T any](pointer reflect.Value, name string) (*T, bool) {
	if pointer.Kind() != reflect.Pointer || pointer.Elem().Kind() != reflect.Struct {
		return nil, false
	}
	field := pointer.Elem().FieldByName(name)
	if !field.IsValid() || !field.CanSet() {
		return nil, false
	}
	value, ok := field.Addr().Interface().(*T)
	return value, ok
}

// Start runs the manager until the context ends or a fault button crashes it.
func (p *process) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-p.died:
			cancel()
		case <-ctx.Done():
		}
	}()
	p.say(trace.BoxReconcile, "start", "", text("The operator starts, with an empty cache and an empty queue.", "operator 启动，缓存和队列都是空的。"))
	err := p.Manager.Start(ctx)
	if p.kill() {
		return err
	}
	return ErrCrashed
}

// kill ends the process's share in the lab. It returns false where it had ended before.
func (p *process) kill() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dead {
		return false
	}
	p.dead = true
	p.cached = map[string]string{}
	close(p.died)
	return true
}

func (p *process) isDead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

// crash ends the process as a fault asks for it, and says so.
func (p *process) crash(t trace.Text) {
	if !p.isDead() {
		p.say(trace.BoxFault, "crash", "", t)
	}
	p.kill()
}

// say adds a step of this process.
func (p *process) say(box, verb, object string, t trace.Text) {
	p.step(trace.Step{Box: box, Verb: verb, Object: object, Text: t})
}

// step adds a step of this process. One that has crashed does nothing any more that counts, though its
// goroutines still end.
func (p *process) step(s trace.Step) {
	if p.isDead() {
		return
	}
	s.Process = p.name
	p.lab.step(s)
}

// cachedList names the objects in the indexer. It is called with the lock held.
func (p *process) cachedList() []string {
	list := []string{}
	for _, object := range slices.Sorted(maps.Keys(p.cached)) {
		list = append(list, object+" @"+p.cached[object])
	}
	return list
}
