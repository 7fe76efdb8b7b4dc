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
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// writing runs the recorder as the manager does, and returns what stops it.
func writing(t *testing.T, rec *Recorder) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- rec.Start(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func readAll(t *testing.T, path string) ([]*Record, ReplayStats) {
	t.Helper()
	var records []*Record
	stats, err := ReadFiles(path, func(r *Record) error {
		records = append(records, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return records, stats
}

func TestTheFileHoldsTheSameRecordsAsTheMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records.jsonl")
	rec := newRecorder(t, Config{File: &FileConfig{Path: path}})
	stop := writing(t, rec)
	for i := range 20 {
		rec.keep(full(i))
	}
	eventually(t, "a quiet recorder's file is complete", func() bool {
		_, stats := readAll(t, path)
		return stats.Lines == 20
	})
	rec.keep(full(20))
	stop()
	rec.keep(full(21)) // a reconcile that ends after the manager's Start did
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	fromFile, _ := readAll(t, path)
	inMemory := rec.Query(Query{Limit: -1})
	if diff := cmp.Diff(inMemory, fromFile, cmpopts.SortSlices(func(a, b *Record) bool { return a.Seq < b.Seq })); diff != "" {
		t.Errorf("-memory +file:\n%s", diff)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if rec.NeedLeaderElection() {
		t.Error("a standby's recorder would not run")
	}
}

func TestFilesAreRotatedBySize(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "records.jsonl")
	rec := newRecorder(t, Config{File: &FileConfig{Path: path, MaxBytes: 4 << 10, Backups: 2}})
	for i := range 200 {
		r := recordFor("web")
		r.Payload = json.RawMessage(fmt.Sprint(i))
		rec.keep(r)
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{path, path + ".1", path + ".2"}, names); diff != "" {
		t.Error(diff)
	}
	for _, name := range names {
		if info, err := os.Stat(name); err != nil || info.Size() > 4<<10 || info.Size() == 0 {
			t.Errorf("%s: %d bytes, %v", name, info.Size(), err)
		}
	}
	records, stats := readAll(t, path)
	if stats.Broken != 0 || len(records) < 20 {
		t.Fatalf("%+v", stats)
	}
	for i, r := range records {
		if want := uint64(200 - len(records) + 1 + i); r.Seq != want {
			t.Fatalf("record %d has number %d, want %d", i, r.Seq, want)
		}
	}
}

func TestWithoutBackupsTheFileStartsAnew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "records.jsonl")
	rec := newRecorder(t, Config{File: &FileConfig{Path: path, MaxBytes: 1 << 10, Backups: -1}})
	for range 50 {
		rec.keep(recordFor("web"))
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	names, _ := filepath.Glob(filepath.Join(dir, "*"))
	records, _ := readAll(t, path)
	if len(names) != 1 || len(records) == 0 || records[len(records)-1].Seq != 50 {
		t.Errorf("%v, %d records", names, len(records))
	}
}

func TestALineThatACrashCutShortSpoilsNoOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records.jsonl")
	if err := os.WriteFile(path, []byte(`{"id":"old-1","seq":1}`+"\n"+`{"id":"old-2","se`), 0o600); err != nil {
		t.Fatal(err)
	}
	rec := newRecorder(t, Config{File: &FileConfig{Path: path}})
	rec.keep(recordFor("web"))
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	records, stats := readAll(t, path)
	if diff := cmp.Diff(ReplayStats{Lines: 3, Broken: 1}, stats); diff != "" {
		t.Error(diff)
	}
	if records[0].ID != "old-1" || records[1].ID != "test-web" {
		t.Errorf("%v", records)
	}
}

func TestADiskThatFailsCostsRecordsAndNothingElse(t *testing.T) {
	if _, err := New(Config{File: &FileConfig{Path: filepath.Join(t.TempDir(), "no", "such", "folder")}}); err == nil {
		t.Error("a file that cannot be opened was taken")
	}

	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	clock := newClock()
	rec := newRecorder(t, Config{Now: clock.Now, File: &FileConfig{Path: filepath.Join(dir, "records.jsonl"), MaxBytes: 512}})
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	flush := func(n int) {
		for range n {
			rec.keep(recordFor("web"))
		}
		rec.file.drain()
	}
	flush(20) // the rotation fails: its folder is gone
	s := rec.Stats()
	if s.FileErrors == 0 || s.FileDrops == 0 || s.Records != 20 {
		t.Errorf("stats: %+v", s)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	clock.move(fileRetryWait + time.Second)
	flush(1)
	if records, _ := readAll(t, filepath.Join(dir, "records.jsonl")); len(records) != 1 {
		t.Errorf("%d records after the disk came back", len(records))
	}
}

func TestAFullQueueDropsForTheFileOnly(t *testing.T) {
	rec := newRecorder(t, Config{RecordsPerObject: 2 * fileQueue, File: &FileConfig{Path: filepath.Join(t.TempDir(), "r")}})
	for range fileQueue + 7 { // no writer runs: Start was not called
		rec.keep(recordFor("web"))
	}
	if s := rec.Stats(); s.FileDrops != 7 || s.Records != fileQueue+7 {
		t.Errorf("stats: %+v", s)
	}
}

func TestReplayDecidesAgain(t *testing.T) {
	type observation struct{ Have, Want int }
	path := filepath.Join(t.TempDir(), "records.jsonl")
	rec := newRecorder(t, Config{File: &FileConfig{Path: path}})
	for i := range 5 {
		reconcileOnce(t, rec, func(ctx context.Context) error {
			if i > 0 {
				SetPayload(ctx, observation{Have: i, Want: 3})
			}
			return nil
		})
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	var got []int
	stats, err := Replay(path, Query{Namespace: "shop", Name: "web"}, func(_ *Record, o observation) error {
		got = append(got, o.Want-o.Have)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{2, 1, 0, -1}, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(ReplayStats{Lines: 5, Replayed: 4, WithoutPayload: 1}, stats); diff != "" {
		t.Error(diff)
	}

	stop := errors.New("differs")
	_, err = Replay(path, Query{}, func(*Record, observation) error { return stop })
	if !errors.Is(err, stop) {
		t.Errorf("got %v", err)
	}
	_, err = Replay(path, Query{}, func(*Record, string) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "ReplicationController shop/web") {
		t.Errorf("a payload of another type: %v", err)
	}
	if _, err := Replay(path+".none", Query{}, func(*Record, string) error { return nil }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}
