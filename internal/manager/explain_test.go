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
	"io"
	"strings"
	"testing"
)

func TestFlagsOfTheRecorderThatContradictEachOther(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a file of nothing":         {[]string{"--record=false", "--record-file=/r"}, "--record-file has nothing to write with --record=false"},
		"a page of nothing":         {[]string{"--record=false", "--explain-bind-address=:1"}, "--explain-bind-address has nothing to explain"},
		"a page of other kinds":     {[]string{"--controllers=collector", "--explain-bind-address=:1"}, "--explain-bind-address explains PodManagers"},
		"an address without a port": {[]string{"--explain-bind-address=here"}, `--explain-bind-address is "here"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := ParseFlags(test.args, io.Discard); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("the error is %v, want %s", err, test.want)
			}
		})
	}
}
