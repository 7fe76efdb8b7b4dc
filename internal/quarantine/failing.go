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

package quarantine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// failure is what a stream was answered: since when nothing else, and when last.
type failure struct {
	since, last time.Time
	what        string
}

// endedAfter is how long a stream that failed may go without another request
// before it counts as ended: a shard moved away, or a kind was given up. A reflector
// that is alive asks again within a minute.
const endedAfter = 2 * time.Minute

// maxAnswer is how much of an answer is kept.
const maxAnswer = 1024

// note remembers whether a list or a watch was answered. These are no failures: a
// version that is too old, because a new list follows; a kind whose CRD was removed;
// a conversion that does not answer, because the operator itself may be what
// converts, and it is called only while it is ready.
func (q *Quarantine) note(ctx context.Context, stream string, response *http.Response, err error) {
	what := ""
	switch {
	case ctx.Err() != nil:
		return // cancelled by the caller
	case err != nil:
		what = err.Error()
	case response.StatusCode == http.StatusGone, response.StatusCode == http.StatusNotFound:
	case response.StatusCode >= http.StatusBadRequest:
		what = peek(response)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if what == "" || strings.Contains(what, "conversion webhook") {
		delete(q.failing, stream)
		return
	}
	before, failed := q.failing[stream]
	if !failed {
		before.since = time.Now()
	}
	before.what, before.last = what, time.Now()
	q.failing[stream] = before
}

// peek reads the beginning of an answer, and puts it back.
func peek(response *http.Response) string {
	begin, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err.Error()
	}
	body := response.Body
	response.Body = &pipedBody{Reader: io.MultiReader(bytes.NewReader(begin), body), close: body.Close}
	return response.Status + ": " + strings.TrimSpace(string(begin))
}

// Failing names a stream that has not been answered for so long, if there is one.
func (q *Quarantine) Failing(long time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, stream := range slices.Sorted(maps.Keys(q.failing)) {
		if f := q.failing[stream]; time.Since(f.since) >= long && time.Since(f.last) < endedAfter {
			path, _, _ := strings.Cut(stream, "?")
			return fmt.Errorf("%s has not been answered for %s: %s", path, time.Since(f.since).Round(time.Second), f.what)
		}
	}
	return nil
}
