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
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
)

// Handshakes that fail must not fill the disk of the node.
func TestAFloodOfErrorsIsNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines := 0
		l := errorLog("page")
		l.Writer().(*fewLines).log = funcr.New(func(string, string) { lines++ }, funcr.Options{})
		for range 1000 {
			l.Print("http: TLS handshake error from 10.0.0.9:1: EOF")
		}
		if lines != linesAtOnce {
			t.Errorf("of 1000 lines %d are logged, want %d", lines, linesAtOnce)
		}
		<-time.After(time.Second)
		if l.Print("another"); lines != linesAtOnce+1 {
			t.Error("the next one is not logged")
		}
	})
}
