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

package lab

import (
	"context"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/mycompany/pod-operator/lab/exercises"
	"github.com/mycompany/pod-operator/lab/trace"
)

//go:embed page
var pageFiles embed.FS

// Serve serves the page until the context ends. The page can change the cluster, so the listener
// has to be on loopback.
func (l *Lab) Serve(ctx context.Context, listener net.Listener) error {
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok || !address.IP.IsLoopback() {
		return errors.Join(fmt.Errorf("lab: %s is not a loopback address", listener.Addr()), listener.Close())
	}
	handler, err := l.Handler(address.Port)
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() {
		<-ctx.Done()
		_ = server.Close() // streams would keep a gentler end waiting
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Link is what to open in a browser. The token is behind the #, which a browser sends nowhere.
func (l *Lab) Link(listener net.Listener) string {
	return "http://" + listener.Addr().String() + "/#token=" + l.token
}

// Handler is the page and what it asks for. It answers requests to a loopback name with this port.
// Files of the page are for all; the rest is for those who have the token of the link.
func (l *Lab) Handler(port int) (http.Handler, error) {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		return nil, err
	}
	api := http.NewServeMux()
	api.HandleFunc("GET /api/stream", l.stream)
	api.HandleFunc("GET /api/walk", func(w http.ResponseWriter, _ *http.Request) { answer(w, l.Walk()) })
	api.HandleFunc("GET /api/walks/{number}", l.showWalk)
	api.HandleFunc("GET /api/exercises", l.listExercises)
	api.HandleFunc("GET /api/exercises/{number}", l.showExercise)
	api.HandleFunc("POST /api/do/{what}", l.do)
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServerFS(files))
	mux.Handle("/api/", l.known(api))
	return guarded(port, mux), nil
}

// known refuses those without the token of the link. It is no cookie: those of 127.0.0.1 are sent
// to every port, and other users have ports, too.
func (l *Lab) known(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+l.token)) != 1 {
			http.Error(w, "open the link that the lab printed: it has the token that this page lacks", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// policy lets the page load what the lab serves and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guarded refuses what another site asks for, also one whose name was made to lead here.
func guarded(port int, next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	var hosts []string
	for _, name := range []string{"127.0.0.1", "localhost", "::1"} {
		hosts = append(hosts, net.JoinHostPort(name, strconv.Itoa(port)))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		site, navigation := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Sec-Fetch-Mode") == "navigate"
		if !slices.Contains(hosts, r.Host) || !navigation && (site == "cross-site" || site == "same-site") {
			http.Error(w, "the lab answers its own page only", http.StatusForbidden)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // a visitor who left needs no answer
}

// State is what the page shows beside the steps.
type State struct {
	Paused     bool                `json:"paused"`
	Held       map[string][]string `json:"held"`
	Faults     []string            `json:"faults"` // armed or on
	Offered    []string            `json:"offered"`
	Changes    []Change            `json:"changes"`
	Alive      []string            `json:"alive"`
	Since      Since               `json:"since"`
	Kubeconfig string              `json:"kubeconfig,omitempty"`
	Versions   map[string]string   `json:"versions"`
	Map        bool                `json:"map"`
}

// State is what the page shows now.
func (l *Lab) State() State {
	s := State{
		Faults: l.faults.state(), Offered: l.offered(), Changes: l.options.Changes, Kubeconfig: l.options.Kubeconfig,
		Versions: versions(), Map: l.options.Root != "", Alive: []string{},
	}
	var frozen bool
	if s.Paused, frozen, s.Held = l.gates.state(); frozen {
		s.Faults = append(s.Faults, FaultFreeze)
	}
	for _, p := range l.alive() {
		s.Alive = append(s.Alive, p.name)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.Since = l.since
	s.Since.Runs = slices.Clone(l.since.Runs)
	return s
}

// pinned are the versions in go.mod, for a program that does not know what it was built from: a
// test, for example.
func pinned() map[string]string {
	return map[string]string{"k8s.io/client-go": "v0.37.1", "sigs.k8s.io/controller-runtime": "v0.25.2"}
}

// versions are those of the libraries that the boxes link to, in this very program.
func versions() map[string]string {
	found := pinned()
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if _, wanted := found[module.Path]; wanted {
				found[module.Path] = module.Version
			}
		}
	}
	return found
}

// stream sends the steps from a number on, and the state, whenever there is news.
func (l *Lab) stream(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.Atoi(r.URL.Query().Get("from"))
	changed, end := l.subscribe()
	defer end()
	w.Header().Set("Content-Type", "text/event-stream")
	flush := http.NewResponseController(w)
	for {
		first, steps := l.stepsFrom(from)
		from = first + len(steps)
		body, err := json.Marshal(map[string]any{"first": first, "steps": steps, "state": l.State()})
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", body); err != nil || flush.Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}

// do does what a button asks for.
func (l *Lab) do(w http.ResponseWriter, r *http.Request) {
	var err error
	which := r.URL.Query().Get("which")
	switch r.PathValue("what") {
	case "run":
		l.gates.set(func(g *gates) { g.paused = false })
	case "pause":
		l.gates.set(func(g *gates) { g.paused = true })
	case "step":
		if _, ok := l.gates.step(which); !ok {
			err = errors.New("nothing is held there")
		}
	case "fault":
		err = l.inject(which)
	case "change":
		err = l.change(r.Context(), which)
	default:
		err = errors.New("there is no such button")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (l *Lab) change(ctx context.Context, id string) error {
	i := slices.IndexFunc(l.options.Changes, func(c Change) bool { return c.ID == id })
	if i < 0 {
		return fmt.Errorf("there is no change %q", id)
	}
	c := l.options.Changes[i]
	l.changing(c.Name, c.Object)
	l.step(trace.Step{Box: trace.BoxUser, Verb: c.ID, Object: c.Object, Text: trace.Text{EN: "You: " + c.Name.EN + ".", ZH: "你：" + c.Name.ZH + "。"}})
	err := c.Do(ctx)
	if errors.Is(err, ErrUnchanged) {
		l.step(trace.Step{Box: trace.BoxAPI, Verb: "unchanged", Object: c.Object, Text: text(
			"%s is so already, so the API server stores nothing and sends no event. What is armed still waits.",
			"%s 本来就是这样：API server 没有存储任何内容，也没有事件。已准备的故障仍在等待。", c.Object)})
		return nil
	}
	return err
}

func (l *Lab) showWalk(w http.ResponseWriter, r *http.Request) {
	e, ok := l.exercise(w, r)
	if !ok {
		return
	}
	l.sendFile(w, e.Walk(), "application/json")
}

// listExercises is the map.
func (l *Lab) listExercises(w http.ResponseWriter, _ *http.Request) {
	progress := exercises.Progress{Exercises: map[string]exercises.Result{}}
	if raw, err := os.ReadFile(filepath.Join(l.options.Root, exercises.ProgressFile)); err == nil {
		if err := json.Unmarshal(raw, &progress); err != nil {
			http.Error(w, fmt.Sprintf("%s: %v", exercises.ProgressFile, err), http.StatusInternalServerError)
			return
		}
	}
	type entry struct {
		exercises.Exercise
		File   string            `json:"file"`
		Result *exercises.Result `json:"result,omitempty"`
		Walk   bool              `json:"walk"`
	}
	list := []entry{}
	for _, e := range exercises.All() {
		one := entry{Exercise: e, File: e.File()}
		if result, ok := progress.Exercises[e.Number]; ok {
			one.Result = &result
		}
		_, err := os.Stat(filepath.Join(l.options.Root, e.Walk()))
		one.Walk = err == nil
		list = append(list, one)
	}
	answer(w, list)
}

// showExercise sends the text of an exercise.
func (l *Lab) showExercise(w http.ResponseWriter, r *http.Request) {
	if e, ok := l.exercise(w, r); ok {
		l.sendFile(w, e.Readme(r.URL.Query().Get("lang")), "text/plain; charset=utf-8")
	}
}

func (l *Lab) exercise(w http.ResponseWriter, r *http.Request) (exercises.Exercise, bool) {
	for _, e := range exercises.All() {
		if e.Number == r.PathValue("number") && l.options.Root != "" {
			return e, true
		}
	}
	http.Error(w, "there is no such exercise", http.StatusNotFound)
	return exercises.Exercise{}, false
}

func (l *Lab) sendFile(w http.ResponseWriter, name, contentType string) {
	file, err := os.OpenInRoot(l.options.Root, name)
	if err != nil {
		http.Error(w, name+" does not exist", http.StatusNotFound)
		return
	}
	defer file.Close()
	w.Header().Set("Content-Type", contentType)
	_, _ = io.Copy(w, file) // a visitor who left needs no answer
}
