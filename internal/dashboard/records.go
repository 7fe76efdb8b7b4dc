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

package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/mycompany/pod-operator/internal/flight"
	"github.com/mycompany/pod-operator/pkg/flightrecorder"
)

const (
	maxRecords = 500
	// streamFor ends a stream, so that its reader has to show a token that
	// is still good.
	streamFor = 10 * time.Minute
	// streamBeat is short, so that a page soon notices that nothing comes.
	streamBeat = 2 * time.Second
	// streamAhead is how many records are kept alive for the reader of a stream.
	streamAhead = 64
	// writePatience is how long a reader may take for one write, and listPatience for
	// a list. Until then the records that it is sent are kept alive.
	writePatience = 10 * time.Second
	listPatience  = time.Minute
)

// readQuery reads namespace=, object=NAMESPACE/NAME, kind=, pod=NAMESPACE/NAME,
// before=, limit= and writes=true.
func readQuery(values url.Values) (flightrecorder.Query, error) {
	q := flightrecorder.Query{Kind: values.Get("kind"), Namespace: values.Get("namespace"), WithWrites: values.Get("writes") == "true"}
	if q.Kind == "" {
		q.Kind = "PodManager"
	}
	if object := values.Get("object"); object != "" {
		namespace, name, ok := strings.Cut(object, "/")
		if !ok || namespace == "" || name == "" {
			return q, fmt.Errorf("object=%q is not NAMESPACE/NAME", object)
		}
		q.Namespace, q.Name = namespace, name
	}
	if pod := values.Get("pod"); pod != "" {
		namespace, name, ok := strings.Cut(pod, "/")
		if !ok || namespace == "" || name == "" {
			return q, fmt.Errorf("pod=%q is not NAMESPACE/NAME", pod)
		}
		q.Touching = &flightrecorder.ObjectRef{Kind: "Pod", Namespace: namespace, Name: name}
		q.Namespace = namespace
	}
	if before := values.Get("before"); before != "" {
		n, err := strconv.ParseUint(before, 10, 64)
		if err != nil {
			return q, fmt.Errorf("before=%q is not a number", before)
		}
		q.Before = n
	}
	q.Limit = flightrecorder.DefaultLimit
	if limit := values.Get("limit"); limit != "" {
		n, err := strconv.Atoi(limit)
		if err != nil || n < 1 || n > maxRecords {
			return q, fmt.Errorf("limit=%q is not a number from 1 to %d", limit, maxRecords)
		}
		q.Limit = n
	}
	return q, nil
}

// question is a query with what the visitor may see of its answer.
type question struct {
	flightrecorder.Query
	// may asks each time: the door remembers the answers for a moment, and a
	// stream outlives the right it was opened with.
	may func(*flightrecorder.Record) bool
	// right is the namespace that the visitor's right is about; empty means
	// all of them.
	right string
}

// asked reads the query of a request and finds out which of the records the
// visitor may see: those of the object they ask for, or of the namespaces in
// which they may get all objects. Those who may see none get no answer.
func (s *Server) asked(w http.ResponseWriter, r *http.Request) (q question, ok bool) {
	query, err := readQuery(r.URL.Query())
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return q, false
	}
	kind, known := s.kindOf(query.Kind)
	if !known {
		refuse(w, http.StatusBadRequest, fmt.Sprintf("kind=%q has no records", query.Kind))
		return q, false
	}
	ctx := r.Context()
	q = question{Query: query, may: func(record *flightrecorder.Record) bool {
		ok, err := s.mayOn(ctx, "get", kind, record.Object.Namespace, query.Name)
		return err == nil && ok
	}}
	everywhere, err := s.mayOn(ctx, "get", kind, "", "")
	if err == nil && everywhere {
		return q, true
	}
	what := "get " + kind.Resource.Resource + " in any namespace that has one"
	granted := false
	if q.right = query.Namespace; q.right != "" {
		what = strings.TrimSpace(fmt.Sprintf("get %s in %s %s", kind.Resource.Resource, query.Namespace, query.Name))
		granted, err = s.mayOn(ctx, "get", kind, query.Namespace, query.Name)
	} else if err == nil {
		q.right, granted, err = s.somewhere(ctx, kind)
	}
	return q, admitted(w, granted, err, what, visitor(ctx))
}

// somewhere finds the first namespace with something to see in which the
// visitor may see it.
func (s *Server) somewhere(ctx context.Context, kind Kind) (namespace string, ok bool, err error) {
	found := sets.New[string]()
	if kind.Kind == s.PodManagers.Kind {
		managers, err := s.podManagers(ctx)
		if err != nil {
			return "", false, err
		}
		for i := range managers {
			found.Insert(managers[i].Namespace)
		}
	}
	for _, record := range s.Recorder.Query(flightrecorder.Query{Kind: kind.Kind, Limit: maxRecords}) {
		found.Insert(record.Object.Namespace)
	}
	for _, namespace := range sets.List(found) {
		if ok, err := s.mayOn(ctx, "get", kind, namespace, ""); ok || err != nil {
			return namespace, ok, err
		}
	}
	return "", false, nil
}

// mayRead asks about one record, whose name the user knows.
func (s *Server) mayRead(ctx context.Context, record *flightrecorder.Record) bool {
	kind, known := s.kindOf(record.Object.Kind)
	if !known {
		return false
	}
	ok, err := s.mayOn(ctx, "get", kind, record.Object.Namespace, record.Object.Name)
	return err == nil && ok
}

func (s *Server) listRecords(w http.ResponseWriter, r *http.Request) {
	q, ok := s.asked(w, r)
	if !ok {
		return
	}
	// One by one, because a list takes megabytes for each reader that does not read.
	w.Header().Set("Content-Type", "application/json")
	out, comma := newStream(w, listPatience), ""
	out.write(`{"items":[`)
	for _, record := range s.Recorder.Query(q.Query) {
		if out.err == nil && q.may(record) {
			out.entry(comma, record, "")
			comma = ","
		}
	}
	out.write("]}\n")
	if out.err != nil {
		panic(http.ErrAbortHandler) // half a list must not look like a whole one
	}
}

// showRecord shows all of one record. One that the visitor may not see is as
// unknown as one that does not exist.
func (s *Server) showRecord(w http.ResponseWriter, r *http.Request) {
	record, ok := s.Recorder.Get(r.PathValue("id"))
	if !ok || !s.mayRead(r.Context(), record) {
		refuse(w, http.StatusNotFound, "There is no such record, it had to make room for newer ones, or you may not see its object.")
		return
	}
	e, err := flight.NewEntry(record, true)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	answer(w, http.StatusOK, e)
}

// streamRecords sends the records as they come, oldest first, beginning with
// the newest limit of those there are.
func (s *Server) streamRecords(w http.ResponseWriter, r *http.Request) {
	q, ok := s.asked(w, r)
	if !ok {
		return
	}
	leave, full := s.limits.openStream(visitor(r.Context()).GetName(), q.right)
	if full != "" {
		busy(w, full)
		return
	}
	defer leave()
	subscription, earlier := s.Recorder.Subscribe(q.Query, streamAhead)
	defer subscription.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	out := newStream(w, streamFor+writePatience)
	for i := len(earlier) - 1; i >= 0; i-- {
		if q.may(earlier[i]) {
			out.send(earlier[i])
		}
	}
	out.beat()
	end, beat := s.Clock.NewTimer(streamFor), s.Clock.NewTicker(streamBeat)
	defer end.Stop()
	defer beat.Stop()
	for out.err == nil {
		select {
		case <-r.Context().Done():
			return
		case <-end.C():
			return
		case <-beat.C():
			if !s.Door.stillKnows(r.Context()) {
				return
			}
			out.beat()
		case record, open := <-subscription.C:
			if !open {
				return
			}
			if q.may(record) {
				out.send(record)
			}
		}
	}
}

// stream writes piece by piece until the reader is gone.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	end     time.Time
	err     error
}

func newStream(w http.ResponseWriter, lasts time.Duration) *stream {
	return &stream{w: w, control: http.NewResponseController(w), end: time.Now().Add(lasts)}
}

func (s *stream) send(record *flightrecorder.Record) {
	s.entry("id: "+record.ID+"\nevent: record\ndata: ", record, "\n\n")
}

func (s *stream) entry(before string, record *flightrecorder.Record, after string) {
	e, err := flight.NewEntry(record, false)
	if err != nil {
		s.err = err
		return
	}
	raw, err := json.Marshal(e)
	if err != nil {
		s.err = err
		return
	}
	s.write("%s%s%s", before, raw, after)
}

// beat says that the operator is there, and keeps the connection open through proxies
// that close idle ones.
func (s *stream) beat() { s.write(": beat\n\n") }

func (s *stream) write(format string, args ...any) { _, _ = fmt.Fprintf(s, format, args...) } // err keeps what went wrong

// Write implements io.Writer.
func (s *stream) Write(p []byte) (n int, err error) {
	if s.err != nil {
		return 0, s.err
	}
	deadline := time.Now().Add(writePatience)
	if s.end.Before(deadline) {
		deadline = s.end
	}
	_ = s.control.SetWriteDeadline(deadline) // not every writer can
	if n, s.err = s.w.Write(p); s.err == nil {
		s.err = s.control.Flush()
	}
	return n, s.err
}
