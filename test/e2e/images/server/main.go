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

// Command server is the workload of the end to end tests. It tells its version
// and its names, lets its readiness be switched, crashes and eats memory when it is asked to,
// and writes down how it was ended.
//
// A version that begins with "crash" ends with an error a moment after it has
// started, as a broken release does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/mycompany/pod-operator/internal/version"
)

func main() {
	address := flag.String("address", ":8080", "Where to listen.")
	journal := flag.String("journal", "", "A file that gets a line for each start and each end.")
	drain := flag.Duration("drain", 0, "How long to go on serving after SIGTERM.")
	flag.Parse()
	if err := run(*address, *journal, *drain); err != nil {
		log.Fatal(err)
	}
}

func run(address, journal string, drain time.Duration) error {
	if strings.HasPrefix(version.Version, "crash") {
		return fmt.Errorf("version %s cannot start", version.Version)
	}
	if err := note(journal, "started "+version.Version); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	server := &http.Server{Addr: address, Handler: newWorkload().routes(), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServe() }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	if err := note(journal, "SIGTERM"); err != nil {
		return err
	}
	<-time.After(drain)
	if err := server.Shutdown(context.Background()); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return note(journal, "ended in peace")
}

// note appends a line to the journal and to the log.
func note(journal, line string) error {
	log.Print(line)
	if journal == "" {
		return nil
	}
	f, err := os.OpenFile(journal, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, line)
	return errors.Join(err, f.Close())
}

// workload is what the tests play with.
type workload struct {
	unready atomic.Bool

	mu    sync.Mutex
	eaten [][]byte
}

func newWorkload() *workload { return &workload{} }

func (w *workload) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", func(out http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(out, version.Version)
	})
	mux.HandleFunc("GET /names", names)
	mux.HandleFunc("GET /readyz", func(out http.ResponseWriter, _ *http.Request) {
		if w.unready.Load() {
			out.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	mux.HandleFunc("POST /ready/{value}", func(out http.ResponseWriter, in *http.Request) {
		ready, err := strconv.ParseBool(in.PathValue("value"))
		if err != nil {
			http.Error(out, err.Error(), http.StatusBadRequest)
			return
		}
		w.unready.Store(!ready)
	})
	mux.HandleFunc("POST /crash", func(http.ResponseWriter, *http.Request) { log.Fatal("asked to crash") })
	mux.HandleFunc("POST /eat/{mebibytes}", w.eat)
	return mux
}

// names says how the container calls itself: its host name, and the file that
// the kubelet wrote for it.
func names(out http.ResponseWriter, _ *http.Request) {
	host, err := os.Hostname()
	file, readErr := os.ReadFile("/etc/hosts")
	if err = errors.Join(err, readErr); err != nil {
		http.Error(out, err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintf(out, "%s\n%s", host, file)
}

// eat takes memory and writes to it, so that it counts, and never gives it back.
func (w *workload) eat(out http.ResponseWriter, in *http.Request) {
	mebibytes, err := strconv.Atoi(in.PathValue("mebibytes"))
	if err != nil || mebibytes < 0 {
		http.Error(out, "how many mebibytes?", http.StatusBadRequest)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for range mebibytes {
		block := make([]byte, 1<<20)
		for i := 0; i < len(block); i += 4096 {
			block[i] = 1
		}
		w.eaten = append(w.eaten, block)
	}
}
