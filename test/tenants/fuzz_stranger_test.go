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

package tenants

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
	"github.com/mycompany/pod-operator/internal/testkit/specs"
	"github.com/mycompany/pod-operator/internal/webhook/paths"
)

// drawingStranger sends requests to the operator's ports, on this machine alone: without a
// token, with a tenant's, and with one of its own making.
type drawingStranger struct {
	judge    *judge
	ports    []port
	client   *http.Client
	requests int
	answers  map[int]int
	log      drawLog
}

// port is a server of the operator's.
type port struct {
	url   string
	paths []string
	// reviews: it reads reviews, and no tokens.
	reviews bool
}

func newDrawingStranger(op *theProcess, j *judge) *drawingStranger {
	s := &drawingStranger{judge: j, answers: map[int]int{}}
	s.client = &http.Client{
		Timeout:       20 * time.Second,
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, MaxIdleConnsPerHost: 4},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var api []string
	for _, in := range []string{j.bystander, "kube-system", "default"} {
		for _, path := range []string{
			"fleets/podmanagers/%s/web", "fleets/podmanagers/%s/web/rights", "fleets/podmanagers/%s/web/outlook", "fleets/podmanagers/%s/web/plan",
			"fleets/podmanagers/%s/web/act", "podmanagers/%s/web/revisions", "pods/%s/web-0", "pods/%s/web-0/events", "pods/%s/web-0/log",
			"podmanagers/%s/web", "podmanagers/%s/web/samples", "podmanagers/%s/web/reconcile", "records?namespace=%s", "fleets/pods/%s/web-0",
		} {
			api = append(api, "/api/"+fmt.Sprintf(path, in))
		}
	}
	s.ports = []port{
		{"https://" + op.options.Webhooks.Address, slices.Sorted(maps.Values(paths.All())), true},
		{"https://" + op.metrics, []string{"/metrics", "/debug/pprof/heap"}, false},
		{"http://" + op.options.ProbeAddress, []string{"/healthz", "/readyz", "/readyz?verbose", "/readyz/watches", "/healthz/ping", "/metrics"}, false},
		{"https://" + op.explain, append(api, "/", "/api/whoami", "/api/fleets", "/api/podmanagers", "/api/records", "/api/records/stream", "/api/records/1", "/debug/pprof/heap"), false},
	}
	return s
}

// attack draws n times; connections that it opens stay until the end.
func (s *drawingStranger) attack(ctx context.Context, rng *rand.Rand, n int, tenantsToken string) {
	var open []net.Conn
	defer func() {
		for _, c := range open {
			_ = c.Close()
		}
	}()
	for range n {
		p := s.ports[rng.IntN(len(s.ports))]
		if rng.IntN(2) == 0 {
			p = s.ports[0] // what can cause most
		}
		if rng.IntN(20) == 0 {
			open = append(open, s.connect(ctx, p, rng)...)
			continue
		}
		s.send(ctx, p, rng, tenantsToken)
	}
}

// send sends a request and reads the answer.
func (s *drawingStranger) send(ctx context.Context, p port, rng *rand.Rand, tenantsToken string) {
	path, method := p.paths[rng.IntN(len(p.paths))], http.MethodGet
	if p.reviews && rng.IntN(4) == 0 {
		path = paths.EvictionsPath // the one that writes
	}
	var body []byte
	if p.reviews || rng.IntN(3) == 0 {
		method, body = http.MethodPost, s.body(path, rng)
	}
	switch rng.IntN(15) {
	case 0:
		method = []string{http.MethodPut, http.MethodDelete, http.MethodOptions, "BREW"}[rng.IntN(4)]
	case 1:
		path += "/" + strings.Repeat("a", rng.IntN(20000))
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(1+rng.IntN(longestWait()))*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, p.url+path, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Content-Type", []string{"application/json", "application/json", "application/json", "text/plain", ""}[rng.IntN(5)])
	switch rng.IntN(3) {
	case 0:
		request.Header.Set("Authorization", "Bearer "+tenantsToken)
	case 1:
		request.Header.Set("Authorization", fmt.Sprintf("Bearer %x", rng.Uint64()))
	}
	s.log.add("%s %s with %d bytes: %s", method, p.url+path[:min(len(path), 80)], len(body), body[:min(len(body), 150)])
	s.requests++
	response, err := s.client.Do(request)
	if err != nil {
		s.answers[0]++
		return
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 8<<20)) // a stream ends with the time
	s.answers[response.StatusCode]++
	if bytes.Contains(text, []byte(s.judge.secret)) {
		s.judge.fault("%s %s tells a stranger a name of another namespace: %.300s", method, path, text)
	}
}

// longestWait is for how many seconds a stranger waits for an answer, and keeps a
// stream open.
func longestWait() int {
	if *fuzzTime == 0 {
		return 2
	}
	return 10
}

// body is a review of anything, or no review at all.
func (s *drawingStranger) body(path string, rng *rand.Rand) []byte {
	switch rng.IntN(10) {
	case 0: // as large as it may be, and larger
		return bytes.Repeat([]byte("x"), rng.IntN(9<<20))
	case 1: // many values in little text
		return []byte(`{"request": {"object": [` + strings.Repeat("{},", rng.IntN(1<<20)) + `{}]}}`)
	case 2:
		deep := rng.IntN(1 << 18)
		return []byte(strings.Repeat("[", deep) + strings.Repeat("]", deep))
	case 3:
		raw := make([]byte, rng.IntN(1000))
		for i := range raw {
			raw[i] = byte(rng.Uint32())
		}
		return raw
	}
	if path == paths.All()[paths.Conversion] {
		return s.conversionReview(rng)
	}
	return s.admissionReview(path, rng)
}

func encode(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

func (s *drawingStranger) conversionReview(rng *rand.Rand) []byte {
	var objects []any
	for range 1 + rng.IntN(20) {
		objects = append(objects, oldPodManager(s.judge.bystander, "web", rng).Object)
	}
	return encode(map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
		"request": map[string]any{"uid": "1", "desiredAPIVersion": []string{"apps.mycompany.com/v1", "apps.mycompany.com/v1alpha1", "v9"}[rng.IntN(3)], "objects": objects},
	})
}

// admissionReview is one that the API server might send, of an object in a namespace
// in which the stranger has no rights.
func (s *drawingStranger) admissionReview(path string, rng *rand.Rand) []byte {
	namespace := []string{s.judge.bystander, s.judge.bystander, "kube-system", "default", "nowhere"}[rng.IntN(5)]
	name := []string{"web", "web-0", "web-1", "bare", "db-0", "other"}[rng.IntN(6)]
	meta := map[string]any{"namespace": namespace, "name": name}
	object := map[string]any{"apiVersion": "apps.mycompany.com/v1", "kind": "PodManager", "metadata": meta, "spec": map[string]any{"replicas": rng.IntN(2000), "image": "a"}}
	resource, subresource := "podmanagers", ""
	switch {
	case path == paths.EvictionsPath:
		object = map[string]any{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta}
		resource, subresource = "pods", "eviction"
	case strings.Contains(path, "scale"):
		object = map[string]any{"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": meta, "spec": map[string]any{"replicas": rng.IntN(2000)}}
		subresource = "scale"
	case strings.Contains(path, "v1-podmanager"):
		object["spec"] = specs.Draw(func(_ string, n int) int { return rng.IntN(n) })
	case strings.Contains(path, "collector"):
		object = map[string]any{"apiVersion": "collector.ip.mycompany.com/v1", "kind": "Collector", "metadata": meta, "spec": map[string]any{"namespaces": []string{s.judge.bystander}}}
		resource = "collectors"
	}
	kind := map[string]any{"group": "apps.mycompany.com", "version": "v1", "kind": object["kind"]}
	gvr := map[string]any{"group": "apps.mycompany.com", "version": "v1", "resource": resource}
	return encode(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": map[string]any{
			"uid": "1", "kind": kind, "resource": gvr, "subResource": subresource, "requestKind": kind, "requestResource": gvr,
			"namespace": namespace, "name": name, "operation": []string{"CREATE", "UPDATE", "DELETE", "CONNECT"}[rng.IntN(4)],
			"userInfo": map[string]any{"username": "system:admin", "groups": []string{"system:masters"}}, "object": object, "oldObject": object,
		},
	})
}

// connect opens many connections that say nothing, or the beginning of a request.
func (s *drawingStranger) connect(ctx context.Context, p port, rng *rand.Rand) (open []net.Conn) {
	many := 1 + rng.IntN(40)
	if *fuzzTime > 0 {
		many = 1 + rng.IntN(200)
	}
	scheme, address, _ := strings.Cut(p.url, "://")
	s.log.add("%d connections to %s", many, p.url)
	s.requests += many
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	for range many {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			s.answers[0]++
			continue
		}
		open = append(open, conn)
		if rng.IntN(2) == 0 || scheme == "http" {
			_, _ = conn.Write([]byte("POST /convert HTTP/1.1\r\nHost: a\r\nContent-Length: 7000000\r\n")) // in TLS, it is garbage
			continue
		}
		secure := tls.Client(conn, &tls.Config{InsecureSkipVerify: true})
		_ = secure.SetDeadline(time.Now().Add(5 * time.Second))
		if secure.HandshakeContext(ctx) == nil {
			_, _ = secure.Write([]byte("POST /convert HTTP/1.1\r\nHost: a\r\nContent-Length: 7000000\r\n\r\n{"))
		}
	}
	return open
}

// oldPodManager has an annotation that unpacks to much more than it is.
func oldPodManager(namespace, name string, rng *rand.Rand) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": rng.Int64N(5)}}}
	object.SetAPIVersion("apps.mycompany.com/v1alpha1")
	object.SetKind("PodManager")
	object.SetNamespace(namespace)
	object.SetName(name)
	if rng.IntN(3) > 0 {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write([]byte(`{"spec": {"template": {"a": [`))
		_, _ = w.Write(bytes.Repeat([]byte("{},"), rng.IntN(4<<20)/3))
		_, _ = w.Write([]byte(`{}]}}}`))
		_ = w.Close()
		object.SetAnnotations(map[string]string{v1alpha1.AnnotationKept: base64.StdEncoding.EncodeToString(packed.Bytes())})
	}
	return object
}
