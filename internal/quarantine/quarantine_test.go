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
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

const (
	good = `{"metadata":{"namespace":"a","name":"good"},"spec":{"replicas":2}}`
	bad  = `{"metadata":{"namespace":"b","name":"bad","finalizers":["x"]},"spec":{"replicas":99999999999}}`
	path = "/apis/apps.mycompany.com/v1/podmanagers"
)

func newQuarantine(t *testing.T) *Quarantine {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return New(scheme, Kind{GroupVersionKind: appsv1.GroupVersion.WithKind("PodManager"), Resource: "podmanagers"})
}

// ask gets a path from a server that answers with a status and a text.
func ask(t *testing.T, q *Quarantine, path string, status int, text string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}))
	defer server.Close()
	c := &http.Client{Transport: q.Wrap(http.DefaultTransport)}
	response, err := c.Get(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(got)
}

func (q *Quarantine) names() string {
	var names []string
	for _, e := range q.Entries() {
		names = append(names, e.Object.Namespace+"/"+e.Object.Name)
	}
	return strings.Join(names, " ")
}

func TestAListWithoutWhatCannotBeDecoded(t *testing.T) {
	for name, test := range map[string]struct{ path, given, want, aside string }{
		"all is well":    {path, `{"items":[` + good + `]}`, `{"items":[` + good + `]}`, ""},
		"one is bad":     {path, `{"metadata":{"resourceVersion":"7"},"items":[` + bad + `,` + good + `]}`, `{"items":[` + good + `],"metadata":{"resourceVersion":"7"}}`, "b/bad"},
		"in a namespace": {"/apis/apps.mycompany.com/v1/namespaces/b/podmanagers", `{"items":[` + bad + `]}`, `{"items":[]}`, "b/bad"},
		"another kind":   {"/apis/apps.mycompany.com/v1/others", `{"items":[` + bad + `]}`, `{"items":[` + bad + `]}`, ""},
		"one object":     {path + "/bad", bad, bad, ""},
		"no list":        {path, `[]`, `[]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQuarantine(t)
			if diff := cmp.Diff(test.want, ask(t, q, test.path, http.StatusOK, test.given)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := q.names(); got != test.aside {
				t.Errorf("set aside: %q, want %q", got, test.aside)
			}
		})
	}
}

func TestAWatchWithoutWhatCannotBeDecoded(t *testing.T) {
	q := newQuarantine(t)
	event := func(kind, object string) string { return `{"type":"` + kind + `","object":` + object + `}` + "\n" }
	mended := strings.Replace(bad, "99999999999", "1", 1)
	bookmark := event("BOOKMARK", `{"metadata":{"resourceVersion":"9"}}`)
	got := ask(t, q, path+"?watch=true", http.StatusOK, event("ADDED", good)+event("MODIFIED", bad)+bookmark)
	var events []string
	for decoder := json.NewDecoder(bytes.NewBufferString(got)); decoder.More(); {
		var e struct {
			Type   string
			Object struct {
				Metadata struct{ Name string }
				Spec     map[string]any
			}
		}
		if err := decoder.Decode(&e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e.Type+" "+e.Object.Metadata.Name)
	}
	if diff := cmp.Diff([]string{"ADDED good", "DELETED bad", "BOOKMARK "}, events); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if q.names() != "b/bad" {
		t.Errorf("set aside: %q", q.names())
	}
	ask(t, q, path+"?watch=true", http.StatusOK, event("MODIFIED", mended))
	if q.names() != "" {
		t.Errorf("set aside after it was mended: %q", q.names())
	}
	ask(t, q, path+"?watch=true", http.StatusOK, event("ADDED", bad)+event("DELETED", bad))
	if q.names() != "" {
		t.Errorf("set aside after it was deleted: %q", q.names())
	}
}

// A list tells all that is there, so what it does not tell is gone.
func TestAListBeginsAnew(t *testing.T) {
	q := newQuarantine(t)
	ask(t, q, path, http.StatusOK, `{"items":[`+bad+`]}`)
	ask(t, q, path+"?continue=x", http.StatusOK, `{"items":[`+good+`]}`)
	if q.names() != "b/bad" {
		t.Errorf("after the second page: %q", q.names())
	}
	ask(t, q, path, http.StatusOK, `{"items":[`+good+`]}`)
	if q.names() != "" {
		t.Errorf("after a new list: %q", q.names())
	}
}

func TestOrphansAreToldApart(t *testing.T) {
	for spec, want := range map[string]bool{
		`{"replicas":99999999999}`: false, `{"replicas":99999999999,"deletion":{"policy":"Orphan"}}`: true,
		`{"deletion":{"policy":7}}`: true, `{"replicas":99999999999,"deletion":{"policy":"Delete"}}`: false,
	} {
		q := newQuarantine(t)
		ask(t, q, path, http.StatusOK, `{"items":[{"metadata":{"name":"bad"},"spec":`+spec+`}]}`)
		if list := q.Entries(); len(list) != 1 || list[0].Orphans != want {
			t.Errorf("%s: %+v, want orphans: %t", spec, list, want)
		}
	}
}

func TestFailingStreams(t *testing.T) {
	const watch = path + "?watch=true"
	for name, test := range map[string]struct {
		status  int
		text    string
		failing bool
	}{
		"answered":               {http.StatusOK, "", false},
		"forbidden":              {http.StatusForbidden, `{"message":"no"}`, true},
		"too old":                {http.StatusGone, `{}`, false},
		"the CRD was removed":    {http.StatusNotFound, `404 page not found`, false},
		"its own conversion":     {http.StatusInternalServerError, `{"message":"conversion webhook for x failed"}`, false},
		"the API server is down": {http.StatusServiceUnavailable, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			q := newQuarantine(t)
			if got := ask(t, q, watch, test.status, test.text); got != test.text {
				t.Errorf("the answer became %q", got)
			}
			if err := q.Failing(0); (err != nil) != test.failing {
				t.Errorf("failing: %v", err)
			}
			ask(t, q, watch, http.StatusOK, "")
			if err := q.Failing(0); err != nil {
				t.Errorf("after an answer: %v", err)
			}
		})
	}
}

// A stream that ended while it failed, as when a shard moves away, does not keep the
// operator from being ready for ever.
func TestAStreamThatEndedDoesNotFail(t *testing.T) {
	q := newQuarantine(t)
	ask(t, q, path, http.StatusForbidden, "")
	f := q.failing[path+"?&"]
	f.since, f.last = f.since.Add(-2*endedAfter), f.last.Add(-endedAfter)
	q.failing[path+"?&"] = f
	if err := q.Failing(0); err != nil {
		t.Errorf("%v", err)
	}
}

// What one watch can decode is out of quarantine, also when another had put it there.
func TestAnObjectThatAnotherWatchCanDecode(t *testing.T) {
	q := newQuarantine(t)
	ask(t, q, "/apis/apps.mycompany.com/v1/namespaces/b/podmanagers", http.StatusOK, `{"items":[`+bad+`]}`)
	mended := strings.Replace(bad, "99999999999", "1", 1)
	ask(t, q, path+"?watch=true", http.StatusOK, `{"type":"MODIFIED","object":`+mended+`}`+"\n")
	if q.names() != "" {
		t.Errorf("set aside: %q", q.names())
	}
}
