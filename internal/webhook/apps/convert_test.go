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

package apps

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	gort "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/mycompany/pod-operator/api/apps/v1alpha1"
)

func TestConversionHandler(t *testing.T) {
	tests := map[string]struct {
		desired string
		objects []string
		want    []string
		refused string
	}{
		"a list of v1 objects is shown as v1alpha1": {
			desired: "apps.mycompany.com/v1alpha1",
			objects: []string{
				`{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"name":"a"},"spec":{"image":"i","replicas":1}}`,
				`{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"name":"b"},"spec":{"fromTheFuture":1.5,"image":"i"}}`,
			},
			want: []string{
				`{"apiVersion":"apps.mycompany.com/v1alpha1","kind":"PodManager","metadata":{"name":"a"},"spec":{"image":"i","size":1}}`,
				`{"apiVersion":"apps.mycompany.com/v1alpha1","kind":"PodManager","metadata":{"annotations":{"apps.mycompany.com/v1":"{\"spec\":{\"fromTheFuture\":1.5}}"},"name":"b"},"spec":{"image":"i"}}`,
			},
		},
		"and comes back": {
			desired: "apps.mycompany.com/v1",
			objects: []string{
				`{"apiVersion":"apps.mycompany.com/v1alpha1","kind":"PodManager","metadata":{"annotations":{"apps.mycompany.com/v1":"{\"spec\":{\"fromTheFuture\":1.5}}"},"name":"b"},"spec":{"image":"i","size":9007199254740993}}`,
			},
			want: []string{
				`{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"name":"b"},"spec":{"fromTheFuture":1.5,"image":"i","replicas":9007199254740993}}`,
			},
		},
		"a version that does not exist": {
			desired: "apps.mycompany.com/v2",
			objects: []string{`{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"name":"a"}}`},
			refused: `PodManager /a cannot be converted from apps.mycompany.com/v1 to apps.mycompany.com/v2`,
		},
		"another kind": {
			desired: "apps.mycompany.com/v1",
			objects: []string{`{"apiVersion":"apps.mycompany.com/v1alpha1","kind":"Other","metadata":{"name":"a"}}`},
			refused: `Other /a cannot be converted from apps.mycompany.com/v1alpha1 to apps.mycompany.com/v1`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			response := convert(t, tt.desired, tt.objects)
			refused := ""
			if response.Result.Status != metav1.StatusSuccess {
				refused = response.Result.Message
			}
			if (refused == "") != (tt.refused == "") || !strings.HasPrefix(refused, tt.refused) {
				t.Fatalf("refused: %q, want %q", refused, tt.refused)
			}
			var got []string
			for _, object := range response.ConvertedObjects {
				got = append(got, string(object.Raw))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("converted (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAReviewDoesNotUnpackToEverything: some kilobytes of compressed annotations, as
// anyone may send them, take megabytes of memory and not gigabytes.
func TestAReviewDoesNotUnpackToEverything(t *testing.T) {
	for name, tc := range map[string]struct {
		values, objects int
		refused         bool
	}{
		"objects that are too large by themselves are passed over": {values: 1_300_000, objects: 12},
		"one that is just small enough is read":                    {values: 45_000, objects: 1},
		"many that are small enough are too many together":         {values: 45_000, objects: 50, refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			object := fmt.Sprintf(`{"apiVersion":"apps.mycompany.com/v1alpha1","kind":"PodManager","metadata":{"name":"a","annotations":{%q:%q}},"spec":{}}`,
				v1alpha1.AnnotationKept, packed(t, `{"spec":{"x":[`+strings.Repeat("{},", tc.values)+"{}]}}"))
			var before, after gort.MemStats
			gort.ReadMemStats(&before)
			response := convert(t, "apps.mycompany.com/v1", slices.Repeat([]string{object}, tc.objects))
			gort.ReadMemStats(&after)
			if refused := response.Result.Status != metav1.StatusSuccess; refused != tc.refused {
				t.Errorf("refused: %t, %s", refused, response.Result.Message)
			}
			if took := (after.TotalAlloc - before.TotalAlloc) >> 20; took > 300 { // read whole, it would be 2 GiB
				t.Errorf("it took %d MiB", took)
			}
		})
	}
}

// TestAnObjectOfTooManyValuesFailsNoList: it is shown as far as v1alpha1 has fields for
// it, and marked, and those beside it as ever.
func TestAnObjectOfTooManyValuesFailsNoList(t *testing.T) {
	const (
		good  = `{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"name":"a"},"spec":{"image":"i","replicas":1}}`
		shown = `{"apiVersion":"apps.mycompany.com/v1alpha1","kind":"PodManager","metadata":{"name":"a"},"spec":{"image":"i","size":1}}`
	)
	many := `[""` + strings.Repeat(`,""`, MostValues) + `]`
	for name, tc := range map[string]struct{ object, want string }{
		"of a template": {
			object: `{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"annotations":{"team":"a"},"generation":7,"name":"b","namespace":"n","uid":"u"},` +
				`"spec":{"replicas":2,"template":{"spec":{"containers":[{"name":"side","image":"s"},{"name":"app","image":"i","args":` + many + `}]}}},"status":{"nodes":["b-0"],"replicas":1}}`,
			want: `{"apiVersion":"apps.mycompany.com/v1alpha1","kind":"PodManager","metadata":{"name":"b","namespace":"n","uid":"u",` +
				`"labels":{"apps.mycompany.com/v1":"too-large"},"annotations":{"team":"a"}},"spec":{"image":"i","size":2},"status":{"nodes":["b-0"]}}`,
		},
		"of the API server's own notes, beside labels": {
			object: `{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"labels":{"tier":"front"},"managedFields":` + many + `,"name":"b"},"spec":{"image":"i"}}`,
			want: `{"apiVersion":"apps.mycompany.com/v1alpha1","kind":"PodManager","metadata":{"name":"b",` +
				`"labels":{"tier":"front","apps.mycompany.com/v1":"too-large"}},"spec":{"image":"i"}}`,
		},
		"without a container app": {
			object: `{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","metadata":{"labels":{},"name":"b"},"spec":{"template":{"spec":{"containers":[{"name":"web","image":"w"}]}},"reserveOrdinals":` + many + `}}`,
			want: `{"apiVersion":"apps.mycompany.com/v1alpha1","kind":"PodManager","metadata":{"name":"b",` +
				`"labels":{"apps.mycompany.com/v1":"too-large"}},"spec":{"image":"w"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			response := convert(t, "apps.mycompany.com/v1alpha1", []string{good, tc.object, good})
			if response.Result.Status != metav1.StatusSuccess {
				t.Fatalf("the whole list failed: %s", response.Result.Message)
			}
			var got []string
			for _, object := range response.ConvertedObjects {
				got = append(got, string(object.Raw))
			}
			if diff := cmp.Diff([]string{shown, tc.want, shown}, got); diff != "" {
				t.Errorf("converted (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a write as v1alpha1 is refused", func(t *testing.T) {
		response := convert(t, "apps.mycompany.com/v1", []string{
			`{"apiVersion":"apps.mycompany.com/v1alpha1","kind":"PodManager","metadata":{"name":"b","managedFields":` + many + `},"spec":{"image":"i"}}`,
		})
		if want := "convert PodManager /b: " + v1alpha1.ErrTooLarge.Error(); response.Result.Message != want {
			t.Errorf("answered %q, want %q", response.Result.Message, want)
		}
	})
}

func packed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func convert(t *testing.T, desired string, objects []string) *apiextensionsv1.ConversionResponse {
	t.Helper()
	review := apiextensionsv1.ConversionReview{Request: &apiextensionsv1.ConversionRequest{UID: "1", DesiredAPIVersion: desired}}
	for _, object := range objects {
		review.Request.Objects = append(review.Request.Objects, runtime.RawExtension{Raw: []byte(object)})
	}
	body, err := json.Marshal(review)
	if err != nil {
		t.Fatal(err)
	}
	recorder := httptest.NewRecorder()
	Convert(recorder, httptest.NewRequest(http.MethodPost, ConversionPath, bytes.NewReader(body)))
	var answer apiextensionsv1.ConversionReview
	if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%v in %s", err, recorder.Body)
	}
	if answer.Response == nil || answer.Response.UID != "1" {
		t.Fatalf("answer: %s", recorder.Body)
	}
	return answer.Response
}
