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

package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
)

func TestTheEndOfAVerbIsToldInPlainWords(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	failed := errors.New("no such thing")
	for name, test := range map[string]struct {
		ctx  context.Context
		err  error
		code int
		said string
	}{
		"it went well":                  {t.Context(), nil, 0, ""},
		"it went well after Ctrl-C":     {interrupted, nil, 0, ""},
		"the answer is no":              {t.Context(), fmt.Errorf("pods would go: %w", ErrNo), ExitNo, ""},
		"it failed":                     {t.Context(), failed, ExitFailed, "error: no such thing\n"},
		"Ctrl-C while it was listing":   {interrupted, fmt.Errorf("list the PodManagers: %w", context.Canceled), ExitInterrupted, "interrupted\n"},
		"Ctrl-C, told by another error": {interrupted, failed, ExitInterrupted, "interrupted\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			if code := End(test.ctx, &said, test.err); code != test.code || said.String() != test.said {
				t.Errorf("exit code %d with %q, want %d with %q", code, said.String(), test.code, test.said)
			}
		})
	}
}
