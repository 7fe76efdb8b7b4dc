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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ReplayStats says what a replay met.
type ReplayStats struct {
	// Lines is how many there were; Broken, how many were not a whole record (the last line of a
	// crashed operator, say).
	Lines, Broken int
	// Replayed is how many records were selected and had a payload, and so reached the function.
	Replayed int
	// WithoutPayload is how many were selected and had none.
	WithoutPayload int
}

// maxLine is the longest line that a replay takes into memory.
const maxLine = 64 << 20

// ReadRecords reads JSON lines, as Config.File writes them, and calls visit with each record in turn
// until it returns an error, which ReadRecords returns. Broken lines are counted and left out.
func ReadRecords(in io.Reader, visit func(*Record) error) (stats ReplayStats, err error) {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		stats.Lines++
		record := &Record{}
		if json.Unmarshal(lines.Bytes(), record) != nil {
			stats.Broken++
		} else if err := visit(record); err != nil {
			return stats, err
		}
	}
	if err := lines.Err(); err != nil {
		return stats, fmt.Errorf("flightrecorder: reading line %d: %w", stats.Lines+1, err)
	}
	return stats, nil
}

// ReadFiles is ReadRecords over a file and those that were rotated away from it, oldest first.
func ReadFiles(path string, visit func(*Record) error) (stats ReplayStats, err error) {
	last := 0
	for {
		if _, err := os.Stat(backupName(path, last+1)); err != nil {
			break
		}
		last++
	}
	for i := last; i >= 0; i-- {
		f, err := os.Open(backupName(path, i))
		if errors.Is(err, fs.ErrNotExist) && i > 0 {
			continue // rotated away meanwhile
		}
		if err != nil {
			return stats, fmt.Errorf("flightrecorder: %w", err)
		}
		s, err := ReadRecords(f, visit)
		err = errors.Join(err, f.Close())
		stats.Lines += s.Lines
		stats.Broken += s.Broken
		if err != nil {
			return stats, err
		}
	}
	return stats, nil
}

// Replay hands the payload of every selected record in the files to a function, decoded as P: the
// operator decides again, offline, from what it saw then, and compares. query.Limit is not looked at.
//
//	stats, err := flightrecorder.Replay("/var/log/records.jsonl", flightrecorder.Query{Name: "web", Namespace: "shop"},
//		func(rec *flightrecorder.Record, was Decision) error {
//			if got := plan.Plan(was.Desired, was.Observed, was.Now); !equal(got, was) { … }
//			return nil
//		})
func Replay[P any](path string, query Query, decide func(*Record, P) error) (ReplayStats, error) {
	var selected, without int
	stats, err := ReadFiles(path, func(r *Record) error {
		if !query.Matches(r) {
			return nil
		}
		if len(r.Payload) == 0 {
			without++
			return nil
		}
		var payload P
		if err := json.Unmarshal(r.Payload, &payload); err != nil {
			return fmt.Errorf("flightrecorder: payload of record %s (%s): %w", r.ID, r.Object, err)
		}
		selected++
		return decide(r, payload)
	})
	stats.Replayed, stats.WithoutPayload = selected, without
	return stats, err
}
