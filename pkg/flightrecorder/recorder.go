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

package flightrecorder

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// Config says how much to keep. The zero value is a good start.
type Config struct {
	// MaxBytes bounds the memory of the whole recorder: records, waiting triggers, names of
	// writers. 0 is DefaultMaxBytes. When it is used up, the oldest records of the namespace that has
	// most go first.
	MaxBytes int
	// RecordsPerObject bounds how many records one object may have, so that a busy one does not
	// push out the others. 0 is DefaultRecordsPerObject.
	RecordsPerObject int
	// MaxTriggers bounds the triggers kept apart in one record; later ones are folded into those
	// for the same object. 0 is DefaultMaxTriggers.
	MaxTriggers int
	// MaxFields bounds the changed fields kept per trigger. 0 is DefaultMaxFields.
	MaxFields int
	// MaxWrites bounds the writes kept per record. 0 is DefaultMaxWrites.
	MaxWrites int
	// MaxPayloadBytes bounds a record's payload; a larger one is dropped whole, and the record says
	// so. 0 is DefaultMaxPayloadBytes.
	MaxPayloadBytes int

	// File, where set, writes all records to a file as well, one line of JSON each. The Recorder
	// has to be added to the manager for that: mgr.Add(rec).
	File *FileConfig

	// TracerProvider, where set, makes a span of every reconcile and of every write in it.
	TracerProvider trace.TracerProvider
	// TraceparentAnnotation is where objects carry their trace context; "" is TraceparentAnnotation.
	TraceparentAnnotation string

	// RedactError, where set, has the last word on an error's message before it is kept.
	RedactError func(message string) string
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// The defaults of Config.
const (
	DefaultMaxBytes         = 64 << 20
	DefaultRecordsPerObject = 64
	DefaultMaxTriggers      = 128
	DefaultMaxFields        = 64
	DefaultMaxWrites        = 1024
	DefaultMaxPayloadBytes  = 256 << 10
)

func (c Config) withDefaults() Config {
	for value, fallback := range map[*int]int{
		&c.MaxBytes: DefaultMaxBytes, &c.RecordsPerObject: DefaultRecordsPerObject, &c.MaxTriggers: DefaultMaxTriggers,
		&c.MaxFields: DefaultMaxFields, &c.MaxWrites: DefaultMaxWrites, &c.MaxPayloadBytes: DefaultMaxPayloadBytes,
	} {
		if *value <= 0 {
			*value = fallback
		}
	}
	if c.TraceparentAnnotation == "" {
		c.TraceparentAnnotation = TraceparentAnnotation
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Recorder keeps the records of all controllers of an operator. It is made once, and wired to each
// controller through a Tap. All its methods may be called from any goroutine, and none waits for
// anything but a short lock.
type Recorder struct {
	config   Config
	instance string
	store    *store
	differ   *differ
	names    *interner
	managers *managerTable
	redactor *redactor
	writes   *writeTable
	tracing  *tracing
	file     *fileWriter

	runs         atomic.Uint64
	pendingBytes atomic.Int64
	maxPending   int64
	lateWrites   atomic.Uint64
	faults       atomic.Uint64
}

// New makes a recorder. It fails only where Config.File cannot be opened.
func New(config Config) (*Recorder, error) {
	config = config.withDefaults()
	var id [4]byte
	_, _ = rand.Read(id[:]) // never fails: it crashes the program where there is no randomness
	names := newInterner()
	r := &Recorder{
		config:   config,
		instance: hex.EncodeToString(id[:]),
		names:    names,
		differ:   newDiffer(names, config.MaxFields),
		redactor: newRedactor(),
		writes:   newWriteTable(),
		tracing:  newTracing(config),
		// A quarter for who wrote the objects whose managedFields are gone, an eighth each for the
		// details of what waits in the queues and for what is not counted. The rest is for records,
		// less what a very long queue needs.
		managers:   newManagerTable(names, config.MaxBytes/4),
		maxPending: int64(config.MaxBytes / 8),
	}
	r.store = newStore(config.MaxBytes/2, config.RecordsPerObject, func() int {
		return int(max(0, r.pendingBytes.Load()-r.maxPending))
	})
	if config.File != nil {
		file, err := newFileWriter(*config.File, config.Now)
		if err != nil {
			return nil, fmt.Errorf("flightrecorder: %w", err)
		}
		r.file = file
	}
	return r, nil
}

// Start writes the file, where one is configured, until the context ends. It makes the Recorder a
// manager.Runnable. Without a file it just waits.
func (r *Recorder) Start(ctx context.Context) error {
	if r.file == nil {
		<-ctx.Done()
		return nil
	}
	return r.file.run(ctx)
}

// NeedLeaderElection is false: a Recorder runs on every replica.
func (r *Recorder) NeedLeaderElection() bool { return false }

// Close writes what is left for the file and closes it. Call it after the manager has stopped;
// records that come later are kept in memory only.
func (r *Recorder) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.close()
}

// keep stores a finished record.
func (r *Recorder) keep(record *Record) {
	r.store.add(record)
	if r.file != nil {
		r.file.offer(record)
	}
}

// Stats says how full the recorder is and what it had to leave out.
type Stats struct {
	// Records and Objects are what is kept now, in about Bytes of memory, of at most MaxBytes.
	Records  int `json:"records"`
	Objects  int `json:"objects"`
	Bytes    int `json:"bytes"`
	MaxBytes int `json:"maxBytes"`
	// Evicted counts the records that made room for newer ones.
	Evicted uint64 `json:"evicted"`
	// Subscribers is how many streams are open; StreamDrops counts records their readers were too slow for.
	Subscribers int    `json:"subscribers"`
	StreamDrops uint64 `json:"streamDrops"`
	// FileDrops counts records that the disk was too slow for; FileErrors, failed writes.
	FileDrops  uint64 `json:"fileDrops"`
	FileErrors uint64 `json:"fileErrors"`
	// LateWrites counts API writes made with a reconcile's context after the reconcile had ended.
	LateWrites uint64 `json:"lateWrites"`
	// Faults counts panics inside the recorder, each of which cost details of one trigger or one
	// payload and nothing else. It should be 0.
	Faults uint64 `json:"faults"`
}

// Stats returns the current numbers.
func (r *Recorder) Stats() Stats {
	s := r.store
	s.mu.Lock()
	defer s.mu.Unlock()
	stats := Stats{
		Records: s.count, Objects: len(s.objects), Evicted: s.evicted,
		Bytes: s.bytes + r.managers.bytes() + int(r.pendingBytes.Load()), MaxBytes: r.config.MaxBytes,
		Subscribers: len(s.subscriptions), StreamDrops: s.streamDrops,
		LateWrites: r.lateWrites.Load(), Faults: r.faults.Load(),
	}
	if r.file != nil {
		stats.FileDrops, stats.FileErrors = r.file.drops.Load(), r.file.errors.Load()
	}
	return stats
}
