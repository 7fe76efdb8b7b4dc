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

package demo

import (
	"net/http"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// Requests counts what is sent to the API server.
type Requests struct {
	count atomic.Int64
}

// Counted is a copy of the configuration whose clients' requests are counted.
func Counted(cfg *rest.Config) (*rest.Config, *Requests) {
	cfg = rest.CopyConfig(cfg)
	requests := &Requests{}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			requests.count.Add(1)
			response, err := next.RoundTrip(r)
			if err == nil && response.StatusCode == http.StatusTooManyRequests {
				requests.count.Add(-1) // turned away by a busy server, and sent again
			}
			return response, err
		})
	})
	return cfg, requests
}

// Since is how many requests f sends.
func (r *Requests) Since(f func() error) (int64, error) {
	before := r.count.Load()
	err := f()
	return r.count.Load() - before, err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
