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

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/localkube/kubetest"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// canary is in every value that the tests write. It must not turn up in any record.
const canary = "c4n4ry"

// operator is the example running on a real API server.
type operator struct {
	t      testing.TB
	config *rest.Config
	user   client.Client
	cached client.Reader
	rec    *flightrecorder.Recorder
	tap    *flightrecorder.Tap
	file   string
	stop   func()

	// gate, where set, is what the operator's next write waits for.
	gate atomic.Pointer[chan struct{}]
}

func newUser(t testing.TB, cfg *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start runs the operator until the test ends or stop is called. The transforms are the caches'.
func start(t testing.TB, cfg *rest.Config, strip bool) *operator {
	t.Helper()
	o := &operator{t: t, config: cfg, user: newUser(t, cfg), file: filepath.Join(t.TempDir(), "records.jsonl")}
	var err error
	o.rec, err = flightrecorder.New(flightrecorder.Config{File: &flightrecorder.FileConfig{Path: o.file}})
	if err != nil {
		t.Fatal(err)
	}
	options := ctrl.Options{
		NewClient: o.newClient, Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{SyncPeriod: ptr.To(time.Hour)},
	}
	if strip {
		options.Cache.DefaultTransform = o.rec.StripManagedFields()
	}
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		t.Fatal(err)
	}
	o.cached = mgr.GetClient()
	if o.tap, err = setup(mgr, o.rec, controller.Options{SkipNameValidation: ptr.To(true)}); err != nil {
		t.Fatal(err)
	}
	if err := mgr.Add(o.rec); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	o.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := o.rec.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(o.stop)

	// What is there before the watches are is found at start-up; from the second one on, it is an event.
	for {
		cm := order("")
		cm.GenerateName = "ready-"
		o.must(o.user.Create(context.Background(), cm))
		_, trigger := o.triggeredBy(cm.Name, "an event of its own", func(t flightrecorder.Trigger) bool {
			return t.Object != nil && t.Object.Kind == "ConfigMap"
		})
		if trigger.Kind == flightrecorder.TriggerCreate {
			return o
		}
	}
}

// newClient is rec.NewClient with a gate below it.
func (o *operator) newClient(cfg *rest.Config, options client.Options) (client.Client, error) {
	inner, err := client.NewWithWatch(cfg, options)
	if err != nil {
		return nil, err
	}
	return o.rec.Client(interceptor.NewClient(inner, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if gate := o.gate.Load(); gate != nil {
				<-*gate
			}
			return c.Create(ctx, obj, opts...)
		},
	})), nil
}

// find waits for a record of the ConfigMap that fits.
func (o *operator) find(name string, what string, fits func(*flightrecorder.Record) bool) *flightrecorder.Record {
	o.t.Helper()
	var found *flightrecorder.Record
	err := wait.PollUntilContextTimeout(context.Background(), 10*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		for _, r := range o.rec.Query(flightrecorder.Query{Namespace: "default", Name: name}) {
			if fits(r) {
				found = r
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		var got strings.Builder
		for _, r := range o.rec.Query(flightrecorder.Query{Namespace: "default", Name: name}) {
			fmt.Fprintln(&got, asJSON(o.t, r))
		}
		o.t.Fatalf("no record with %s among:\n%s", what, &got)
	}
	return found
}

// triggeredBy waits for a record that has a trigger that fits.
func (o *operator) triggeredBy(name, what string, fits func(flightrecorder.Trigger) bool) (*flightrecorder.Record, flightrecorder.Trigger) {
	o.t.Helper()
	var trigger flightrecorder.Trigger
	r := o.find(name, what, func(r *flightrecorder.Record) bool {
		for _, t := range r.Triggers {
			if fits(t) {
				trigger = t
				return true
			}
		}
		return false
	})
	return r, trigger
}

func asJSON(t testing.TB, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func order(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"greet": "yes"}},
		Data:       map[string]string{"name": canary},
	}
}

func (o *operator) must(err error) {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *operator) patch(obj client.Object, manager, patch string) {
	o.t.Helper()
	o.must(o.user.Patch(context.Background(), obj, client.RawPatch(types.MergePatchType, []byte(patch)), client.FieldOwner(manager)))
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: name}}
}

func TestOnARealServer(t *testing.T) {
	cluster := kubetest.Start(t, localkube.Options{Components: localkube.APIOnly()})
	cfg := cluster.RESTConfig()

	t.Run("a change is followed from its writer to the last echo", func(t *testing.T) { story(t, cfg, false) })
	t.Run("and so it is where the cache strips managedFields", func(t *testing.T) { story(t, cfg, true) })
	t.Run("everything that came during a run is in the next", func(t *testing.T) { coalescing(t, cfg) })
	t.Run("failures are counted", func(t *testing.T) { failures(t, cfg) })
	t.Run("a new process finds everything at start-up", func(t *testing.T) { startup(t, cfg) })
}

func story(t *testing.T, cfg *rest.Config, strip bool) {
	o := start(t, cfg, strip)
	name := fmt.Sprintf("story-%v", strip)
	cm := order(name)
	o.must(o.user.Create(t.Context(), cm, client.FieldOwner("ada")))

	first, trigger := o.triggeredBy(name, "the creation", func(t flightrecorder.Trigger) bool {
		return t.Kind == flightrecorder.TriggerCreate && t.Object.Kind == "ConfigMap"
	})
	want := []flightrecorder.Change{{Manager: "ada", Operation: "Update"}}
	if diff := cmp.Diff(want, trigger.Changes); diff != "" || trigger.ResourceVersion == "" || first.Object.UID != cm.UID {
		t.Errorf("created: %s%+v", diff, trigger)
	}
	if len(first.Writes) != 1 || first.Writes[0].Verb != "create" || first.Writes[0].Object.String() != "Secret default/"+name || first.Writes[0].Code != 201 {
		t.Errorf("writes: %+v", first.Writes)
	}
	if string(first.Payload) != `{"secret":"created"}` || first.ReconcileID == "" || first.Outcome != flightrecorder.OutcomeSuccess {
		t.Errorf("record: %+v", first)
	}

	_, echo := o.triggeredBy(name, "the echo of its own write", func(t flightrecorder.Trigger) bool {
		return t.Kind == flightrecorder.TriggerCreate && t.Object.Kind == "Secret"
	})
	if echo.CausedBy != first.ID || echo.ResourceVersion != first.Writes[0].ResourceVersion {
		t.Errorf("echo %+v of %s", echo, first.ID)
	}

	o.patch(cm, "grace", `{"data":{"name":"`+canary+`-2"}}`)
	changed, trigger := o.triggeredBy(name, "the change", func(t flightrecorder.Trigger) bool {
		return t.Kind == flightrecorder.TriggerUpdate && t.Object.Kind == "ConfigMap"
	})
	want = []flightrecorder.Change{{Manager: "grace", Operation: "Update", Fields: []string{"data.name"}}}
	if diff := cmp.Diff(want, trigger.Changes); diff != "" || trigger.CausedBy != "" {
		t.Errorf("changed: %s%+v", diff, trigger)
	}
	_, echo = o.triggeredBy(name, "its echo", func(t flightrecorder.Trigger) bool {
		return t.Kind == flightrecorder.TriggerUpdate && t.Object.Kind == "Secret"
	})
	if echo.CausedBy != changed.ID || len(echo.Changes) != 1 || echo.Changes[0].Fields[0] != "data.greeting" {
		t.Errorf("echo %+v of %s", echo, changed.ID)
	}

	o.must(o.tap.Enqueue(flightrecorder.Manual{Request: request(name), User: "ada", Reason: "to see it again"}))
	if _, trigger := o.triggeredBy(name, "the manual request", func(t flightrecorder.Trigger) bool {
		return t.Kind == flightrecorder.TriggerManual
	}); trigger.User != "ada" {
		t.Errorf("manual: %+v", trigger)
	}

	o.must(o.user.Delete(t.Context(), &corev1.Secret{ObjectMeta: cm.ObjectMeta}))
	repaired, _ := o.triggeredBy(name, "the deletion", func(t flightrecorder.Trigger) bool {
		return t.Kind == flightrecorder.TriggerDelete && t.Object.Kind == "Secret"
	})
	if len(repaired.Writes) != 1 || repaired.Writes[0].Verb != "create" {
		t.Errorf("repaired with %+v", repaired.Writes)
	}
	o.touching(name)
	o.told(name)
}

// touching asks for the story of the Secret, which is not what the controller reconciles.
func (o *operator) touching(name string) {
	o.t.Helper()
	got := o.rec.Query(flightrecorder.Query{Touching: &flightrecorder.ObjectRef{Kind: "Secret", Namespace: "default", Name: name}})
	if len(got) < 3 {
		o.t.Errorf("%d records touch the Secret", len(got))
	}
}

// told ends the operator and checks everything it has left behind.
func (o *operator) told(name string) {
	o.t.Helper()
	o.stop()
	lines := 0
	if _, err := flightrecorder.ReadFiles(o.file, func(r *flightrecorder.Record) error {
		lines++
		if s := asJSON(o.t, r); strings.Contains(s, canary) || strings.Contains(s, "SGVsbG8s") {
			o.t.Errorf("a value is in the record: %s", s)
		}
		return nil
	}); err != nil {
		o.t.Fatal(err)
	}
	stats := o.rec.Stats()
	if lines != stats.Records || lines == 0 || stats.Faults != 0 || stats.FileDrops != 0 || stats.LateWrites != 0 {
		o.t.Errorf("%d lines of %+v", lines, stats)
	}
	replayed, err := flightrecorder.Replay(o.file, flightrecorder.Query{Namespace: "default", Name: name},
		func(_ *flightrecorder.Record, p struct{ Secret string }) error {
			if p.Secret == "" {
				return fmt.Errorf("no decision")
			}
			return nil
		})
	if err != nil || replayed.Replayed == 0 || replayed.Broken != 0 {
		o.t.Errorf("replay: %+v, %v", replayed, err)
	}

	// Nothing but the wrapped pieces adds to this queue: every run has a reason.
	for _, r := range o.rec.Query(flightrecorder.Query{Limit: -1}) {
		for _, t := range r.Triggers {
			if t.Kind == flightrecorder.TriggerUnattributed {
				o.t.Errorf("no cause is known: %s", asJSON(o.t, r))
			}
		}
	}
	records := make(chan *flightrecorder.Record, 1000)
	for _, r := range o.rec.Query(flightrecorder.Query{Limit: 1000}) {
		records <- r
	}
	close(records)
	var story bytes.Buffer
	tell(&story, records)
	o.t.Logf("the story, newest first:\n%s", &story)
}

// coalescing holds a run up while three people write, and expects all of that in the next run.
func coalescing(t *testing.T, cfg *rest.Config) {
	o := start(t, cfg, false)
	cm := order("busy")
	gate := make(chan struct{})
	o.gate.Store(&gate)
	o.must(o.user.Create(t.Context(), cm))
	want := map[string]int{}
	for i := range 20 {
		for _, who := range []string{"ada", "grace", "barbara"} {
			o.patch(cm, who, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, who, fmt.Sprint(canary, i)))
			want[who]++
		}
	}
	// What the informer has not brought yet would come one by one, and not during the run.
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		var seen corev1.ConfigMap
		err := o.cached.Get(ctx, client.ObjectKeyFromObject(cm), &seen)
		return err == nil && seen.ResourceVersion == cm.ResourceVersion, client.IgnoreNotFound(err)
	})
	o.must(err)
	o.gate.Store(nil)
	close(gate)

	first := o.find("busy", "the creation", func(r *flightrecorder.Record) bool {
		return r.Triggers[0].Kind == flightrecorder.TriggerCreate && r.Triggers[0].Object.Kind == "ConfigMap"
	})
	// The informer may bring the last of them only after the next run has begun.
	got := map[string]int{}
	runs := 0
	o.find("busy", "the last of 60 writes", func(*flightrecorder.Record) bool {
		clear(got)
		runs = 0
		for _, r := range o.rec.Query(flightrecorder.Query{Namespace: "default", Name: "busy"}) {
			found := 0
			for _, trigger := range r.Triggers {
				for _, c := range trigger.Changes {
					if !trigger.Carried && len(c.Fields) == 1 && c.Fields[0] == "metadata.annotations."+c.Manager {
						got[c.Manager]++
						found++
					}
				}
			}
			if found > 0 {
				runs++
			}
		}
		return cmp.Equal(want, got)
	})
	t.Logf("60 writes by three people during a run of %s: all found again, in the triggers of %d later runs", first.Duration, runs)
	if runs > 5 {
		t.Errorf("%d runs: the writes were not merged, so that this test shows nothing", runs)
	}
	o.told("busy")
}

func failures(t *testing.T, cfg *rest.Config) {
	o := start(t, cfg, false)
	cm := order("nameless")
	cm.Data = nil
	o.must(o.user.Create(t.Context(), cm))
	third, trigger := o.triggeredBy("nameless", "a third failure", func(t flightrecorder.Trigger) bool {
		return t.Kind == flightrecorder.TriggerRetry && t.Attempt == 2
	})
	if third.Failures != 3 || third.Outcome != flightrecorder.OutcomeError || trigger.Delay <= 0 || trigger.Early ||
		third.Error != "configmap default/nameless has no data.name to greet" {
		t.Errorf("third: %+v, %+v", third, trigger)
	}
	o.patch(cm, "ada", `{"data":{"name":"`+canary+`"}}`)
	mended := o.find("nameless", "success", func(r *flightrecorder.Record) bool {
		return r.Outcome == flightrecorder.OutcomeSuccess && len(r.Writes) == 1
	})
	if mended.Failures != 0 {
		t.Errorf("mended: %+v", mended)
	}
	o.told("nameless")
}

func startup(t *testing.T, cfg *rest.Config) {
	o := start(t, cfg, false)
	o.must(o.user.Create(t.Context(), order("old")))
	o.triggeredBy("old", "its creation", func(t flightrecorder.Trigger) bool { return t.Kind == flightrecorder.TriggerCreate })
	o.told("old")

	again := start(t, cfg, false)
	r, _ := again.triggeredBy("old", "start-up", func(t flightrecorder.Trigger) bool { return t.Kind == flightrecorder.TriggerStartup })
	if r.Outcome != flightrecorder.OutcomeSuccess {
		t.Errorf("record: %+v", r)
	}
}
