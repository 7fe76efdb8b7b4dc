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
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/controller/crdgate"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

// maxPayload fits the largest pass that the planner makes: 1,000 deletes of pods
// with long names take 0.4 MB.
const maxPayload = 1 << 20

// maxRecords is what all records may take. A record takes about a kilobyte
// when it is packed, and one that was just made about five.
const maxRecords = 32 << 20

// maxTriggers is how many events of one look are told apart, and described: a
// fleet of thousands that moves has hundreds in each.
const maxTriggers = 64

// records is the flight recorder and its taps. A nil one records nothing, and
// hands out what the operator would use without it.
type records struct {
	recorder *flightrecorder.Recorder

	mu    sync.Mutex
	taps  map[schema.GroupKind]*flightrecorder.Tap
	gates map[schema.GroupKind]*crdgate.Gate
}

func newRecords(o Options) (*records, error) {
	if !o.Record {
		return nil, nil
	}
	config := flightrecorder.Config{MaxBytes: maxRecords, MaxTriggers: maxTriggers, MaxPayloadBytes: maxPayload}
	if o.Explain.RecordFile != "" {
		config.File = &flightrecorder.FileConfig{Path: o.Explain.RecordFile}
	}
	recorder, err := flightrecorder.New(config)
	if err != nil {
		return nil, fmt.Errorf("make the recorder: %w", err)
	}
	return &records{
		recorder: recorder, taps: map[schema.GroupKind]*flightrecorder.Tap{}, gates: map[schema.GroupKind]*crdgate.Gate{},
	}, nil
}

// tap connects a controller.
func (r *records) tap(mgr ctrl.Manager, controller string, gate *crdgate.Gate, object client.Object) (*flightrecorder.Tap, error) {
	if r == nil {
		return nil, nil
	}
	tap, err := flightrecorder.NewTap(r.recorder, mgr, controller, object)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.taps) == 0 {
		if err := mgr.Add(everyReplica(r.write)); err != nil {
			return nil, fmt.Errorf("write the records to their file: %w", err)
		}
	}
	r.taps[gate.GVK().GroupKind()] = tap
	return tap, nil
}

// shows keeps the gate of a kind that the page shows.
func (r *records) shows(gate *crdgate.Gate) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gates[gate.GVK().GroupKind()] = gate
}

// write keeps the file of the records, where there is one.
func (r *records) write(ctx context.Context) error {
	return errors.Join(r.recorder.Start(ctx), r.recorder.Close())
}

func (r *records) newClient() client.NewClientFunc {
	return func(config *rest.Config, options client.Options) (client.Client, error) {
		c, err := newWholeClient(config, options)
		if err != nil || r == nil {
			return c, err
		}
		return r.recorder.Client(c), nil
	}
}

// strip takes managedFields off what goes into the cache, remembering who
// wrote, and whatever else slim takes off.
func (r *records) strip(slim toolscache.TransformFunc) toolscache.TransformFunc {
	strip := cache.TransformStripManagedFields()
	if r != nil {
		strip = r.recorder.StripManagedFields()
	}
	if slim == nil {
		return strip
	}
	return func(in any) (any, error) {
		out, err := strip(in)
		if err != nil {
			return nil, err
		}
		return slim(out)
	}
}
