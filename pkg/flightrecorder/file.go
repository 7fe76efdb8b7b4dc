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
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// FileConfig is a file that gets every record, as one line of JSON.
type FileConfig struct {
	// Path is the file that is written to. Full ones are renamed to Path.1, Path.2 …, .1 being the newest.
	Path string
	// MaxBytes is when a file is full. 0 is DefaultFileBytes.
	MaxBytes int64
	// Backups is how many full ones are kept. 0 is DefaultFileBackups; below 0, none.
	Backups int
}

// The defaults of FileConfig.
const (
	DefaultFileBytes   = 64 << 20
	DefaultFileBackups = 3
)

const (
	fileQueue     = 1024            // records that wait for the disk
	fileRetryWait = 5 * time.Second // after a failed write, until the next try
)

// fileWriter takes records from a bounded queue, so that the disk never holds up a reconcile, and
// appends them to the file. What a failing disk costs is counted; the next try is some seconds later.
type fileWriter struct {
	config FileConfig
	now    func() time.Time
	queue  chan *Record
	drops  atomic.Uint64
	errors atomic.Uint64

	mu      sync.Mutex // the fields below: one goroutine writes, until close
	file    *os.File
	out     *bufio.Writer
	size    int64
	closed  bool
	retryAt time.Time
}

func newFileWriter(config FileConfig, now func() time.Time) (*fileWriter, error) {
	if config.MaxBytes <= 0 {
		config.MaxBytes = DefaultFileBytes
	}
	config.Backups = max(0, cmp.Or(config.Backups, DefaultFileBackups))
	w := &fileWriter{config: config, now: now, queue: make(chan *Record, fileQueue)}
	if err := w.open(); err != nil {
		return nil, err
	}
	return w, nil
}

// open appends to what is there. A line that a crash cut short gets its end, so that it spoils no other.
func (w *fileWriter) open() error {
	f, err := os.OpenFile(w.config.Path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("opening the record file: %w", err)
	}
	info, err := f.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("opening the record file: %w", err), f.Close())
	}
	w.file, w.out, w.size = f, bufio.NewWriterSize(f, 64<<10), info.Size()
	last := make([]byte, 1)
	if w.size > 0 {
		if _, err := f.ReadAt(last, w.size-1); err == nil && last[0] != '\n' {
			_ = w.out.WriteByte('\n')
			w.size++
		}
	}
	return nil
}

func (w *fileWriter) offer(r *Record) {
	select {
	case w.queue <- r:
	default:
		w.drops.Add(1)
	}
}

func (w *fileWriter) run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			w.drain()
			return nil
		case r := <-w.queue:
			w.mu.Lock()
			w.append(r)
			w.mu.Unlock()
			w.drain()
		}
	}
}

// drain writes everything that waits, then flushes: a quiet operator's file is always complete.
func (w *fileWriter) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		select {
		case r := <-w.queue:
			w.append(r)
		default:
			if w.file != nil {
				w.failed(w.out.Flush())
			}
			return
		}
	}
}

func (w *fileWriter) append(r *Record) {
	if !w.ready() {
		w.drops.Add(1)
		return
	}
	line, err := json.Marshal(r)
	if err != nil { // no field of a Record can cause this
		w.errors.Add(1)
		return
	}
	line = append(line, '\n')
	if w.size > 0 && w.size+int64(len(line)) > w.config.MaxBytes {
		if w.failed(w.rotate()) {
			w.drops.Add(1)
			return
		}
	}
	n, err := w.out.Write(line)
	w.size += int64(n)
	w.failed(err)
}

// ready reopens the file after a failure, when it is time for that.
func (w *fileWriter) ready() bool {
	if w.file != nil {
		return true
	}
	if w.closed || w.now().Before(w.retryAt) {
		return false
	}
	return !w.failed(w.open())
}

// failed counts an error and puts the file aside for a while.
func (w *fileWriter) failed(err error) bool {
	if err == nil {
		return false
	}
	w.errors.Add(1)
	w.retryAt = w.now().Add(fileRetryWait)
	if w.file != nil {
		_ = w.file.Close()
		w.file = nil
	}
	return true
}

func (w *fileWriter) rotate() error {
	if err := w.out.Flush(); err != nil {
		return err
	}
	if err := w.file.Close(); err != nil {
		return err
	}
	w.file = nil
	if w.config.Backups == 0 {
		if err := os.Remove(w.config.Path); err != nil {
			return err
		}
		return w.open()
	}
	for i := w.config.Backups - 1; i >= 0; i-- {
		err := os.Rename(backupName(w.config.Path, i), backupName(w.config.Path, i+1))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return w.open()
}

// backupName is path for 0, the file being written.
func backupName(path string, i int) string {
	if i == 0 {
		return path
	}
	return path + "." + strconv.Itoa(i)
}

func (w *fileWriter) close() error {
	w.drain()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	if w.file == nil {
		return nil
	}
	err := w.file.Close()
	w.file = nil
	if err != nil {
		return fmt.Errorf("closing the record file: %w", err)
	}
	return nil
}
