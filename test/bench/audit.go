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

package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/mycompany/pod-operator/internal/localkube"
)

// requests are what one user asked the API server for.
type requests struct {
	writes    map[string]int
	reads     map[string]int
	dryRuns   int
	lists     int
	conflicts int
	// last is when this process read of the last one that was no watch.
	last time.Time
}

// add counts another user's requests, too.
func (r *requests) add(other *requests) {
	for kind, n := range other.writes {
		r.writes[kind] += n
	}
	for kind, n := range other.reads {
		r.reads[kind] += n
	}
	r.dryRuns += other.dryRuns
	r.lists += other.lists
	r.conflicts += other.conflicts
}

// ledger counts requests by user, from the audit log. It reads only when
// asked to, so that nothing is read while the clock runs.
type ledger struct {
	path   string
	offset int64
	users  map[string]*requests
}

func newLedger(path string) *ledger { return &ledger{path: path, users: map[string]*requests{}} }

// reset forgets what was counted and what has not been read yet.
func (l *ledger) reset() error {
	if err := l.read(time.Time{}); err != nil {
		return err
	}
	l.users = map[string]*requests{}
	return nil
}

// of is what a user asked for since the last reset.
func (l *ledger) of(user string) *requests {
	r := l.users[user]
	if r == nil {
		r = &requests{writes: map[string]int{}, reads: map[string]int{}}
		l.users[user] = r
	}
	return r
}

// read counts what the log has grown by.
func (l *ledger) read(now time.Time) error {
	f, err := os.Open(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	defer f.Close()
	if _, err := f.Seek(l.offset, io.SeekStart); err != nil {
		return fmt.Errorf("audit log: %w", err)
	}
	reader := bufio.NewReaderSize(f, 1<<16)
	for {
		line, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // what follows the last newline is still being written
		}
		if err != nil {
			return fmt.Errorf("audit log: %w", err)
		}
		l.offset += int64(len(line))
		var e localkube.AuditEvent
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("audit log: %w", err)
		}
		l.count(&e, now)
	}
}

func (l *ledger) count(e *localkube.AuditEvent, now time.Time) {
	if e.Stage == "ResponseStarted" || e.ObjectRef.Resource == "leases" {
		return // a watch is logged again when it ends; leases do not count as work
	}
	r := l.of(e.User.Username)
	// A pod that is tried has the name of one that may be there, which says that it
	// was admitted.
	if e.ResponseStatus.Code == http.StatusConflict && !dryRun(e) {
		r.conflicts++
	}
	switch {
	case e.Mutating() && dryRun(e):
		r.dryRuns++
		r.last = now
	case e.Mutating():
		r.writes[kindOf(e)]++
		r.last = now
	case e.Verb == "list":
		r.lists++
		r.reads[kindOf(e)]++
		r.last = now
	case e.Verb == "get":
		r.reads[kindOf(e)]++
	}
}

// dryRun reports whether nothing was to be stored.
func dryRun(e *localkube.AuditEvent) bool {
	u, err := url.Parse(e.RequestURI)
	return err == nil && u.Query().Get("dryRun") != ""
}

func kindOf(e *localkube.AuditEvent) string {
	kind := e.Verb + " " + e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		kind += "/" + e.ObjectRef.Subresource
	}
	return kind
}

// lastOf is when any of the users last wrote or listed; nil means any user at all.
func (l *ledger) lastOf(users ...string) time.Time {
	var last time.Time
	if users == nil {
		for _, r := range l.users {
			if r.last.After(last) {
				last = r.last
			}
		}
	}
	for _, user := range users {
		if r := l.of(user); r.last.After(last) {
			last = r.last
		}
	}
	return last
}
