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
	"log"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
)

// A server logs a line for each handshake that fails, and every client can have it fail.
const linesPerSecond, linesAtOnce = 1, 20

// errorLog is where a server says what is wrong with its connections.
func errorLog(server string) *log.Logger {
	return log.New(&fewLines{
		log: ctrl.Log.WithName(server), pace: flowcontrol.NewTokenBucketRateLimiter(linesPerSecond, linesAtOnce),
	}, "", 0)
}

// fewLines drops the lines of a flood.
type fewLines struct {
	log  logr.Logger
	pace flowcontrol.RateLimiter
}

// Write implements io.Writer.
func (f *fewLines) Write(line []byte) (int, error) {
	if f.pace.TryAccept() {
		f.log.Info("A connection failed", "error", strings.TrimSpace(string(line)))
	}
	return len(line), nil
}
