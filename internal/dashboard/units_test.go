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
	"io/fs"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/mycompany/pod-operator/test/browser"
)

// TestThePureModules runs testdata/units.js, the unit tests of those modules of
// the page that touch no document.
func TestThePureModules(t *testing.T) {
	files, err := fs.Sub(pageFiles, "page")
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/page/", http.StripPrefix("/page/", http.FileServerFS(files)))
	mux.Handle("/", http.FileServer(http.Dir("testdata")))
	https := httptest.NewTLSServer(mux)
	t.Cleanup(https.Close)
	b := browser.Open(t, https.URL, "")
	b.See("the tests have run", `Array.isArray(window.results)`)
	var results []struct{ Name, Error string }
	b.Do("read the results", chromedp.Evaluate(`window.results`, &results))
	if len(results) == 0 {
		t.Error("there are no tests")
	}
	for _, result := range results {
		t.Run(result.Name, func(t *testing.T) {
			if result.Error != "" {
				t.Error(result.Error)
			}
		})
	}
}
