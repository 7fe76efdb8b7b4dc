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
	title string
	began time.Time
	now   func() time.Time

	mu    sync.Mutex
	todo  map[string]bool
	total int
	last  string
}

func newProgress(title string, stale []string) *progress {
	p := &progress{title: title, now: time.Now, todo: map[string]bool{}}
	p.began = p.now()
	for _, name := range stale {
		p.todo[name] = true
	}
	p.total = len(p.todo)
	return p
}

// compiled takes a line of go's output and tells whether it named a package.
func (p *progress) compiled(line string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.todo[line] {
		return false
	}
	delete(p.todo, line)
	p.last = line
	return true
}

// line is what the screen shows. When no package is left, the linker is at work.
func (p *progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	took := p.now().Sub(p.began).Round(time.Second)
	if len(p.todo) == 0 {
		return fmt.Sprintf("%s: linking, %s", p.title, took)
	}
	done := p.total - len(p.todo)
	return fmt.Sprintf("%s: compiled %d of %d packages (%d%%), %s %s", p.title, done, p.total, 100*done/p.total, took, p.last)
}

// downloads counts the modules that go fetches.
type downloads struct {
	title string
	mu    sync.Mutex
	count int
	last  string
}

func newDownloads(title string) *downloads { return &downloads{title: title} }

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
		return d.title + ": looking at its packages"
	}
	return fmt.Sprintf("%s: downloaded %d modules, now %s", d.title, d.count, d.last)
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
