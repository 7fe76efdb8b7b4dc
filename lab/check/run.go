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

package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/lab/exercises"
)

// Options say what to check.
type Options struct {
	// Root is the folder of the repository.
	Root string
	// Number is that of the exercise: 03, or 3.
	Number string
	// Language is en or zh.
	Language string
	// Solution grades the solution instead of the learner's file, and keeps no progress.
	Solution bool
	// WithoutServer leaves out the real API server.
	WithoutServer bool
	Out           io.Writer
	Now           func() time.Time
}

// Run grades one exercise, prints the result, and keeps the progress and the walk. It
// reports whether the exercise is passed.
func Run(ctx context.Context, o Options) (passed bool, err error) {
	entry, err := find(o.Number)
	if err != nil {
		return false, err
	}
	e := All()[entry.Number].Exercise()
	if o.Solution {
		e = All()[entry.Number].Solution()
	}
	v, err := e.Run()
	if err != nil {
		return false, err
	}
	w := wordsOf(o.Language)
	w.report(o.Out, entry, &e, v)
	passed = v.Broken == ""
	if passed && !o.WithoutServer {
		fmt.Fprint(o.Out, w.real)
		if e.Real == nil {
			fmt.Fprint(o.Out, w.without)
		} else if passed, err = o.real(ctx, w, entry.Number); err != nil {
			return false, err
		}
	}
	if o.Solution {
		return passed, nil
	}
	walk := filepath.Join(o.Root, entry.Walk())
	if v.Walk != nil {
		if err := write(walk, v.Walk); err != nil {
			return false, err
		}
		fmt.Fprintf(o.Out, "\n"+w.shown, entry.Walk())
	} else if err := os.Remove(walk); err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, fmt.Errorf("remove the old walk: %w", err)
	}
	w.goOn(o.Out, entry, passed)
	return passed, o.keep(entry.Number, passed)
}

// find finds an exercise by its number, with or without the leading zero.
func find(number string) (exercises.Exercise, error) {
	all := exercises.All()
	if len(number) == 1 {
		number = "0" + number
	}
	i := slices.IndexFunc(all, func(e exercises.Exercise) bool { return e.Number == number })
	if i < 0 {
		var numbers []string
		for _, e := range all {
			numbers = append(numbers, e.Number)
		}
		return exercises.Exercise{}, fmt.Errorf("there is no exercise %q; there are %s", number, strings.Join(numbers, ", "))
	}
	return all[i], nil
}

// real runs the reconciler on a real API server, where one is built.
func (o *Options) real(ctx context.Context, w words, number string) (passed bool, err error) {
	cluster, err := StartCluster(ctx, o.Root)
	if errors.Is(err, localkube.ErrNoBinaries) {
		fmt.Fprint(o.Out, w.noServer)
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("start an API server: %w", err)
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	e := All()[number].Exercise()
	if o.Solution {
		e = All()[number].Solution()
	}
	if failed := cluster.Run(ctx, e); failed != nil {
		fmt.Fprintf(o.Out, w.missed, failed)
		return false, nil
	}
	fmt.Fprint(o.Out, w.reached)
	return true, nil
}

// keep adds a try to the progress.
func (o *Options) keep(number string, passed bool) error {
	file := filepath.Join(o.Root, filepath.FromSlash(exercises.ProgressFile))
	var progress exercises.Progress
	raw, err := os.ReadFile(filepath.Clean(file))
	if err == nil {
		err = json.Unmarshal(raw, &progress)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read the progress: %w", err)
	}
	if progress.Exercises == nil {
		progress.Exercises = map[string]exercises.Result{}
	}
	progress.Exercises[number] = exercises.Result{
		Passed: passed, At: o.Now().UTC().Format(time.RFC3339), Tries: progress.Exercises[number].Tries + 1,
	}
	return write(file, progress)
}

// write replaces a file at once, so that the page never reads half of it.
func write(file string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		return fmt.Errorf("make the folder of %s: %w", file, err)
	}
	if err := os.WriteFile(file+".new", append(raw, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
