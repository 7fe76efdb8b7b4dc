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

// Package explain asks the operator's HTTP side what it remembers. The operator
// authenticates users by their token, so that a login without one, such as a
// client certificate, cannot ask. Every caller of this package can do without:
// Connect says in a sentence why the operator cannot be asked, and the object's
// own history and events say less, but something.
//
// A token is worth as much as the person who has it, so it goes only to the
// operator. Which certificate the operator has is known from its webhook
// configuration, which no tenant can write; the certificate is verified before
// anything is sent. Where the API server makes one, the operator gets a token
// that is good for nothing else.
package explain

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/mycompany/pod-operator/internal/flight"
)

// maxAnswer bounds what is read of an answer: 500 records of a large fleet.
const maxAnswer = 256 << 20

// Client asks one operator as one person.
type Client struct {
	base *url.URL
	http *http.Client
	// plain verifies the operator as http does, and does not log in.
	plain http.RoundTripper
	close func()
}

// RefusedError is an answer that is an error.
type RefusedError struct {
	Code    int
	Message string
}

// Error implements error.
func (r *RefusedError) Error() string { return r.Message }

// Close ends the way to the operator, where one was opened.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	if c.close != nil {
		c.close()
	}
}

// Query selects records.
type Query struct {
	// Object and Pod are NAMESPACE/NAME; of both, one is enough. Namespace is
	// for all objects of one.
	Object, Pod, Namespace string
	Limit                  int
}

func (q Query) values() url.Values {
	v := url.Values{}
	for key, value := range map[string]string{"object": q.Object, "pod": q.Pod, "namespace": q.Namespace} {
		if value != "" {
			v.Set(key, value)
		}
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return v
}

// Whoami is how the operator knows the caller.
func (c *Client) Whoami(ctx context.Context) (string, error) {
	var answer struct {
		User string `json:"user"`
	}
	err := c.read(ctx, "api/whoami", nil, &answer)
	return answer.User, err
}

// Records are the newest records, newest first.
func (c *Client) Records(ctx context.Context, q Query) ([]flight.Entry, error) {
	var answer struct {
		Items []flight.Entry `json:"items"`
	}
	err := c.read(ctx, "api/records", q.values(), &answer)
	return answer.Items, err
}

// Record is one record with all that was seen.
func (c *Client) Record(ctx context.Context, id string) (flight.Entry, error) {
	var entry flight.Entry
	err := c.read(ctx, "api/records/"+url.PathEscape(id), nil, &entry)
	return entry, err
}

// Reconcile asks for a reconcile of a PodManager.
func (c *Client) Reconcile(ctx context.Context, namespace, name string) error {
	path := "api/podmanagers/" + url.PathEscape(namespace) + "/" + url.PathEscape(name) + "/reconcile"
	body, err := c.ask(ctx, http.MethodPost, path, nil)
	if err != nil {
		return err
	}
	return body.Close()
}

// Stream hands out records as they come, oldest first, beginning with the
// newest there are, until the context or the connection ends.
func (c *Client) Stream(ctx context.Context, q Query, visit func(flight.Entry)) error {
	body, err := c.ask(ctx, http.MethodGet, "api/records/stream", q.values())
	if err != nil {
		return err
	}
	defer body.Close()
	lines := bufio.NewReader(body)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("read the operator's stream: %w", err)
		}
		data, found := strings.CutPrefix(line, "data: ")
		if !found {
			continue
		}
		var entry flight.Entry
		if err := json.Unmarshal([]byte(data), &entry); err != nil {
			return fmt.Errorf("read a record of the operator's stream: %w", err)
		}
		visit(entry)
	}
}

func (c *Client) read(ctx context.Context, path string, query url.Values, into any) error {
	body, err := c.ask(ctx, http.MethodGet, path, query)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := json.NewDecoder(io.LimitReader(body, maxAnswer)).Decode(into); err != nil {
		return fmt.Errorf("read the operator's answer to %s: %w", path, err)
	}
	return nil
}

func (c *Client) ask(ctx context.Context, method, path string, query url.Values) (io.ReadCloser, error) {
	u := c.base.JoinPath(path)
	u.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, method, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(request)
	if err != nil {
		// The error's URL does not help to find the fault.
		if inner := (*url.Error)(nil); errors.As(err, &inner) {
			err = untrusted(inner.Err)
		}
		return nil, fmt.Errorf("it does not answer at %s: %w", c.base, err)
	}
	if response.StatusCode < 300 {
		return response.Body, nil
	}
	defer response.Body.Close()
	refused := &RefusedError{Code: response.StatusCode}
	var body struct {
		Message string `json:"message"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, 1<<20)).Decode(&body); err == nil {
		refused.Message = body.Message
	}
	if refused.Message == "" {
		refused.Message = "the operator answered " + response.Status
	}
	return nil, refused
}
