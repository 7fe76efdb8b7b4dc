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
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	kjson "sigs.k8s.io/json"
)

// Wrap has the answers to lists and watches of the kinds pass through the
// Quarantine. It fits rest.Config.Wrap.
func (q *Quarantine) Wrap(base http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		response, err := base.RoundTrip(request)
		kind, ok := q.kindOf(request)
		if !ok {
			return response, err
		}
		query := request.URL.Query()
		// The stream is the same for a list and for the watch that follows it.
		s := &sieve{quarantine: q, kind: kind, stream: request.URL.Path + "?" + query.Get("labelSelector") + "&" + query.Get("fieldSelector")}
		q.note(request.Context(), s.stream, response, err)
		if err != nil || response.StatusCode != http.StatusOK || !isJSON(response) {
			return response, err
		}
		if !isTrue(query.Get("watch")) {
			return s.list(response)
		}
		if isTrue(query.Get("sendInitialEvents")) {
			q.restart(s.stream)
		}
		return s.watch(response), nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// kindOf finds the kind that a request lists or watches:
// /apis/GROUP/VERSION/RESOURCE, or in a namespace
// /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE.
func (q *Quarantine) kindOf(r *http.Request) (Kind, bool) {
	_, path, ok := strings.Cut(r.URL.Path, "/apis/")
	parts := strings.Split(path, "/")
	if !ok || r.Method != http.MethodGet {
		return Kind{}, false
	}
	if len(parts) == 5 && parts[2] == "namespaces" {
		parts = append(parts[:2:2], parts[4])
	}
	kind, ok := q.kinds[strings.Join(parts, "/")]
	return kind, ok && len(parts) == 3
}

func isTrue(text string) bool {
	value, err := strconv.ParseBool(text)
	return err == nil && value
}

func isJSON(r *http.Response) bool {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && kind == "application/json"
}

// sieve lets through what can be decoded.
type sieve struct {
	quarantine *Quarantine
	kind       Kind
	stream     string
}

// list takes out of a list what cannot be decoded. A list in which everything
// can is passed on as it is.
func (s *sieve) list(response *http.Response) (*http.Response, error) {
	raw, err := io.ReadAll(response.Body)
	if err := errors.Join(err, response.Body.Close()); err != nil {
		return nil, fmt.Errorf("read a list of %s: %w", s.kind.Resource, err)
	}
	response.Body = io.NopCloser(bytes.NewReader(raw))
	envelope := map[string]json.RawMessage{}
	var items []json.RawMessage
	if json.Unmarshal(raw, &envelope) != nil || json.Unmarshal(envelope["items"], &items) != nil {
		return response, nil // not a list: a table, for example
	}
	if response.Request.URL.Query().Get("continue") == "" { // the first page
		s.quarantine.restart(s.stream)
	}
	good := make([]json.RawMessage, 0, len(items))
	for _, item := range items {
		if s.pass(item) == nil {
			good = append(good, item)
		}
	}
	if len(good) == len(items) {
		return response, nil
	}
	if envelope["items"], err = json.Marshal(good); err != nil {
		return nil, err
	}
	if raw, err = json.Marshal(envelope); err != nil {
		return nil, err
	}
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
	response.Header.Del("Content-Length")
	return response, nil
}

// pass looks at one object. bad is what an object that cannot be decoded still
// shows, and nil for others.
func (s *sieve) pass(raw []byte) (bad *metav1.PartialObjectMetadata) {
	object, err := s.quarantine.scheme.New(s.kind.GroupVersionKind)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, object)
	}
	var good metav1.Object
	if err == nil {
		good, err = meta.Accessor(object)
	}
	if err == nil {
		s.quarantine.release(s.kind.Kind, good.GetNamespace(), good.GetName())
		return nil
	}
	bad = &metav1.PartialObjectMetadata{}
	if unreadable := kjson.UnmarshalCaseSensitivePreserveInts(raw, bad); unreadable != nil {
		// Not even its metadata: the name has to do.
		bad = nameOf(raw)
	}
	bad.SetGroupVersionKind(s.kind.GroupVersionKind)
	s.quarantine.put(Entry{stream: s.stream, Kind: s.kind, Object: *bad, Orphans: orphans(raw), Reason: err.Error()})
	return bad
}

func nameOf(raw []byte) *metav1.PartialObjectMetadata {
	var name struct {
		Metadata struct {
			Namespace       string `json:"namespace"`
			Name            string `json:"name"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	_ = json.Unmarshal(raw, &name) // what cannot be read stays empty
	object := &metav1.PartialObjectMetadata{}
	object.Namespace, object.Name, object.ResourceVersion = name.Metadata.Namespace, name.Metadata.Name, name.Metadata.ResourceVersion
	return object
}

// orphans reads the one field that matters when a bad object is deleted.
func orphans(raw []byte) bool {
	var object struct {
		Spec struct {
			Deletion struct {
				Policy string `json:"policy"`
			} `json:"deletion"`
		} `json:"spec"`
	}
	return json.Unmarshal(raw, &object) != nil || object.Spec.Deletion.Policy == "Orphan"
}

// watch takes out of a watch what cannot be decoded: for the cache such an
// object is deleted.
func (s *sieve) watch(response *http.Response) *http.Response {
	reader, writer := io.Pipe()
	body := response.Body
	go func() {
		frames := json.NewDecoder(body)
		for {
			var frame json.RawMessage
			err := frames.Decode(&frame)
			if err == nil {
				_, err = writer.Write(append(s.frame(frame), '\n'))
			}
			if err != nil {
				_ = writer.CloseWithError(err)
				return
			}
		}
	}()
	response.Body = &pipedBody{Reader: reader, close: func() error { return errors.Join(reader.Close(), body.Close()) }}
	return response
}

type pipedBody struct {
	io.Reader
	close func() error
}

func (b *pipedBody) Close() error { return b.close() }

// frame is one event, changed where its object cannot be decoded.
func (s *sieve) frame(raw []byte) []byte {
	var event struct {
		Type   watch.EventType `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if json.Unmarshal(raw, &event) != nil {
		return raw
	}
	switch event.Type {
	case watch.Added, watch.Modified:
		if bad := s.pass(event.Object); bad != nil {
			return deleted(raw, bad)
		}
	case watch.Deleted:
		// The last state of a bad object is as bad.
		if bad := s.pass(event.Object); bad != nil {
			s.quarantine.release(s.kind.Kind, bad.Namespace, bad.Name)
			return deleted(raw, bad)
		}
	case watch.Bookmark, watch.Error:
	}
	return raw
}

func deleted(raw []byte, metadata *metav1.PartialObjectMetadata) []byte {
	frame, err := json.Marshal(map[string]any{"type": watch.Deleted, "object": metadata})
	if err != nil {
		return raw
	}
	return frame
}
