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
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// progress counts the packages that go build -v names as it compiles them.
type progress struct {
	began time.Time
	now   func() time.Time

	mu    sync.Mutex
	todo  map[string]bool
	total int // packages to compile; 0 where that is unknown
	done  int
	last  string
}

func newProgress(stale []string) *progress {
	p := &progress{now: time.Now, todo: map[string]bool{}}
	p.began = p.now()
	for _, name := range stale {
		p.todo[name] = true
	}
	p.total = len(p.todo)
	return p
}

// compiled takes a line of go's output and reports whether it named a package.
// Where the packages are unknown, a word alone on its line is one.
func (p *progress) compiled(line string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total == 0 && (line == "" || strings.ContainsAny(line, " :#")) || p.total > 0 && !p.todo[line] {
		return false
	}
	delete(p.todo, line)
	p.done++
	p.last = line
	return true
}

// line is what the screen shows. When no package is left, the linker is at work.
func (p *progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := p.now().Sub(p.began)
	after := took.Round(time.Second)
	switch {
	case p.total == 0:
		return fmt.Sprintf("compiling: %d packages, after %s %s", p.done, after, p.last)
	case len(p.todo) == 0:
		return fmt.Sprintf("linking, after %s", after)
	}
	return fmt.Sprintf("compiling: %d of %d packages (%d%%), after %s%s %s",
		p.done, p.total, 100*p.done/p.total, after, left(took, p.done, p.total), p.last)
}

// left estimates what is to come, once enough is done to estimate from.
func left(took time.Duration, done, total int) string {
	if done*10 < total {
		return ""
	}
	rest := time.Duration(float64(took) * float64(total-done) / float64(done))
	if rest < time.Minute {
		return ", less than a minute left"
	}
	return fmt.Sprintf(", about %d min left", int((rest + 30*time.Second).Minutes()))
}

// downloads counts the modules that go fetches.
type downloads struct {
	mu    sync.Mutex
	count int
	last  string
}

func (d *downloads) saw(line string) bool {
	rest, ok := strings.CutPrefix(line, "go: downloading ")
	if !ok {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count++
	d.last = rest
	return true
}

func (d *downloads) line() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.count == 0 {
		return "looking at the packages, and compiling the standard library"
	}
	return fmt.Sprintf("downloading: %d modules, now %s; compiling the standard library meanwhile", d.count, d.last)
}

// screen shows a line that is written over on a terminal, and written again
// now and then where there is none, such as in the log of a CI job.
type screen struct {
	out      io.Writer
	terminal bool
	interval time.Duration

	stop chan struct{}
	done chan struct{}
}

const (
	terminalInterval = 200 * time.Millisecond
	plainInterval    = 15 * time.Second
	lineWidth        = 100
)

func newScreen(out *os.File) *screen {
	s := &screen{out: out, interval: plainInterval}
	if info, err := out.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb" {
		s.terminal, s.interval = true, terminalInterval
	}
	return s
}

// show keeps showing the line until clear.
func (s *screen) show(line func() string) {
	s.stop, s.done = make(chan struct{}), make(chan struct{})
	s.write(line()) // at once: the first line must not keep people waiting
	go func() {
		defer close(s.done)
		ticker := time.NewTicker(s.interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				s.write(line())
			case <-s.stop:
				return
			}
		}
	}()
}

func (s *screen) write(line string) {
	if !s.terminal {
		fmt.Fprintln(s.out, line)
		return
	}
	// A line that wraps could not be written over.
	if len(line) > lineWidth {
		line = line[:lineWidth-3] + "..."
	}
	fmt.Fprintf(s.out, "\r%s\x1b[K", line)
}

// clear stops showing and leaves an empty line behind.
func (s *screen) clear() {
	close(s.stop)
	<-s.done
	if s.terminal {
		fmt.Fprint(s.out, "\r\x1b[K")
	}
}
