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

// Command judge tests the judge of the fault tests: it breaks the operator on
// purpose, one fault at a time, and the small worlds or the simulator have to find
// each of them, without any unit test. make judge runs it.
//
// table.go names for every rule of the planner at least two faults that a person
// could make, each as an edit of the source, and the world that finds it. The
// compiler gets the edited file as an overlay; the checkout is never changed. A fault
// that is not found is a missing law, or a missing world.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// options narrow a run.
type options struct {
	match  *regexp.Regexp
	search bool
	// simulator: a search goes through the simulator, too.
	simulator bool
	write     bool
	workers   int
}

const page = "docs/reliability.md"

func main() {
	var o options
	match := flag.String("match", "", "try only faults whose RULE: FAULT matches this regular expression")
	flag.BoolVar(&o.search, "search", false, "look through all worlds for the quickest that finds a fault, and print it for the table")
	flag.BoolVar(&o.simulator, "sim", false, "with -search: look through schedules of the simulator, too")
	flag.BoolVar(&o.write, "write", false, "write what was found into "+page)
	flag.IntVar(&o.workers, "workers", max(1, runtime.GOMAXPROCS(0)/2), "how many faults are tried at a time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if o.match, err = regexp.Compile(*match); err == nil {
		err = run(ctx, o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) error {
	var faults []fault
	for _, f := range table() {
		if o.match.MatchString(f.name()) {
			faults = append(faults, f)
		}
	}
	t, err := begin(ctx, faults, o)
	if err != nil {
		return err
	}
	defer t.end()
	began := time.Now()
	verdicts := tryAll(ctx, t, faults, o, out)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var missed []string
	for i, v := range verdicts {
		switch {
		case v.err != nil:
			missed = append(missed, fmt.Sprintf("%s: %v", faults[i].name(), v.err))
		case v.broke == "":
			missed = append(missed, faults[i].name()+": not found")
		}
	}
	fmt.Fprintf(out, "%d of %d faults found in %s\n", len(faults)-len(missed), len(faults), time.Since(began).Round(time.Second))
	if len(missed) > 0 {
		return fmt.Errorf("%d faults are not found:\n%s", len(missed), strings.Join(missed, "\n"))
	}
	if o.write {
		return writeRows(page, rows(faults, verdicts))
	}
	return nil
}

// rows are those of the page's table: of each rule, how many faults were found, and
// which rules of the judge they broke first.
func rows(faults []fault, verdicts []verdict) []string {
	var order []string
	count, broke := map[string]int{}, map[string][]string{}
	for i := range faults {
		rule := faults[i].rule
		if count[rule]++; count[rule] == 1 {
			order = append(order, rule)
		}
		letter, _, _ := strings.Cut(strings.Fields(verdicts[i].broke)[0], ":")
		if !slices.Contains(broke[rule], letter) {
			broke[rule] = append(broke[rule], letter)
		}
	}
	var list []string
	for _, rule := range order {
		slices.Sort(broke[rule])
		list = append(list, fmt.Sprintf("| %s | %d | %s |", rule, count[rule], strings.Join(broke[rule], ", ")))
	}
	return list
}

// writeRows puts the rows into the page's table.
func writeRows(page string, rows []string) error {
	const begin, end = "<!-- judge -->", "<!-- /judge -->"
	raw, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text := string(raw)
	i, j := strings.Index(text, begin), strings.Index(text, end)
	if i < 0 || j < i {
		return fmt.Errorf("%s: the table between %s and %s is missing", page, begin, end)
	}
	head := "\n\n| rule of the planner | faults, all found | rules of the judge that they broke first |\n|---|---|---|\n"
	text = text[:i+len(begin)] + head + strings.Join(rows, "\n") + "\n\n" + text[j:]
	return os.WriteFile(page, []byte(text), 0o600)
}

// tryAll tries the faults, some at a time, and prints each as it is judged.
func tryAll(ctx context.Context, t *trial, faults []fault, o options, out io.Writer) []verdict {
	verdicts := make([]verdict, len(faults))
	queue := make(chan int)
	var mu sync.Mutex
	var workers sync.WaitGroup
	for range o.workers {
		workers.Go(func() {
			for i := range queue {
				v := t.try(ctx, i, faults[i])
				mu.Lock()
				verdicts[i] = v
				fmt.Fprintln(out, line(&faults[i], v))
				mu.Unlock()
			}
		})
	}
	for i := range faults {
		if ctx.Err() == nil {
			queue <- i
		}
	}
	close(queue)
	workers.Wait()
	return verdicts
}

// line is a row of the report: rule, fault, tier, seconds to the first violation, and
// the rule of the judge that was broken.
func line(f *fault, v verdict) string {
	switch {
	case v.err != nil:
		return fmt.Sprintf("| %s | %s | – | – | %v |", f.rule, f.what, firstLine(v.err.Error()))
	case v.broke == "":
		return fmt.Sprintf("| %s | %s | %s | – | not found |", f.rule, f.what, f.by)
	}
	return fmt.Sprintf("| %s | %s | %s | %.1f | %s |", f.rule, f.what, v.by, v.took.Seconds(), v.broke)
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
