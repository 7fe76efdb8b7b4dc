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

package manager

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	admissionv1 "k8s.io/api/admission/v1"

	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
)

func TestReviewsHaveBounds(t *testing.T) {
	for name, tc := range map[string]struct {
		body    string
		chunked bool
		want    int
	}{
		"a small review":                   {body: `{"request":{}}`, want: http.StatusOK},
		"a large object":                   {body: `{"object":"` + strings.Repeat("x", 3<<20) + `"}`, want: http.StatusOK},
		"a body without a length":          {body: `{"request":{}}`, chunked: true, want: http.StatusOK},
		"too large":                        {body: strings.Repeat("x", largestReview+1), want: http.StatusRequestEntityTooLarge},
		"too large, and it says no length": {body: strings.Repeat("x", largestReview+1), chunked: true, want: http.StatusRequestEntityTooLarge},
		"too many values":                  {body: "[" + strings.Repeat("{},", mostValues) + "{}]", want: http.StatusRequestEntityTooLarge},
		"commas in a string are no values": {body: `{"a":"` + strings.Repeat(",", mostValues) + `"}`, want: http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			served := ""
			handler := newBounds().within(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				served = string(body)
			}))
			r := httptest.NewRequest(http.MethodPost, "/convert", strings.NewReader(tc.body))
			if tc.chunked {
				r.ContentLength = -1
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if w.Code != tc.want {
				t.Fatalf("answered %d %s, want %d", w.Code, w.Body, tc.want)
			}
			if w.Code == http.StatusOK && served != tc.body {
				t.Errorf("the handler got %d bytes of %d", len(served), len(tc.body))
			}
		})
	}
}

// Most webhooks fail open: a status other than 200 would let pass what they refuse.
func TestAReviewOfTooManyValuesIsDenied(t *testing.T) {
	many := `{"spec":[""` + strings.Repeat(`,""`, mostValues) + `]}`
	for name, object := range map[string]string{
		"a new object": `"object":` + many,
		"an old object that was stored unreviewed": `"object":{},"oldObject":` + many,
	} {
		t.Run(name, func(t *testing.T) {
			review := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"7",` + object + `}}`
			w := httptest.NewRecorder()
			newBounds().within(http.NotFoundHandler()).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/validate", strings.NewReader(review)))
			var answer admissionv1.AdmissionReview
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
				t.Fatalf("answered %d %s", w.Code, w.Body)
			}
			r := answer.Response
			if answer.Kind != "AdmissionReview" || answer.APIVersion != "admission.k8s.io/v1" || r == nil || r.UID != "7" || r.Allowed || !strings.Contains(r.Result.Message, "200,000") {
				t.Errorf("answered %s", w.Body)
			}
		})
	}
}

// TestOneAddressLeavesRoom: a client that fills its share keeps waiting, and another
// one is served.
func TestOneAddressLeavesRoom(t *testing.T) {
	r := newRoom(100)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var leaves []func()
	for range 5 {
		leave, err := r.enter(ctx, "10.0.0.1:1000", 10)
		if err != nil {
			t.Fatal(err)
		}
		leaves = append(leaves, leave)
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := r.enter(ended, "10.0.0.1:1001", 10); err == nil {
		t.Error("one address got more than half of the room")
	}
	leave, err := r.enter(ctx, "10.0.0.2:1000", 50)
	if err != nil {
		t.Fatalf("another address got nothing: %v", err)
	}
	leave()
	if _, err := r.enter(ctx, "10.0.0.3:1000", 51); err == nil {
		t.Error("a request that is larger than any share got in")
	}
	for _, leave := range leaves {
		leave()
	}
	if len(r.hosts) != 0 {
		t.Errorf("%d addresses are remembered after their requests", len(r.hosts))
	}
	if !r.total.TryAcquire(100) {
		t.Error("room was not given back")
	}
}

// All reviews come from the API server's address: large objects of one tenant, whose
// trials take their time, must not hold up an eviction of another.
func TestLargeReviewsLeaveRoomForSmallOnes(t *testing.T) {
	dense := strings.Repeat("{},", smallReview/4) + "{}"
	for name, body := range map[string]string{
		"large objects":                        `{"object":[` + dense + `],"more":"` + strings.Repeat("x", 3<<20) + `"}`,
		"objects of many values":               `{"object":[` + dense + `]}`,
		"objects with an annotation to unpack": `{"object":"` + v1alpha1.AnnotationKept + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				trials, end := context.WithCancel(t.Context())
				hook := newBounds().within(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					if r.URL.Path != "/evictions" {
						<-trials.Done()
					}
				}))
				post := func(path, body string) int {
					w := httptest.NewRecorder()
					hook.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
					return w.Code
				}
				for range 32 {
					go post("/validate", body)
				}
				synctest.Wait()
				begin := time.Now()
				if code := post("/evictions", `{"request":{"namespace":"other"}}`); code != http.StatusOK || time.Since(begin) > 0 {
					t.Errorf("after %s the eviction is answered %d", time.Since(begin), code)
				}
				end()
			})
		})
	}
}

// TestTheLargestReviewIsServed: what is allowed also finds room.
func TestTheLargestReviewIsServed(t *testing.T) {
	if most := int64(largestReview*copies + 2*mostValues*valueSize); most > workRoom/2 {
		t.Errorf("the largest review costs %d bytes, and one address gets %d", most, int64(workRoom/2))
	}
}
