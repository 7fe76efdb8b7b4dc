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

	"github.com/google/go-cmp/cmp"
)

func TestControllersFlag(t *testing.T) {
	for name, c := range map[string]struct {
		args    []string
		want    []string
		problem string
	}{
		"nothing means all":     {nil, []string{"podmanager", "imoocpod", "helloworld", "collector"}, ""},
		"two of them":           {[]string{"--controllers=imoocpod, podmanager"}, []string{"podmanager", "imoocpod"}, ""},
		"one twice":             {[]string{"--controllers=collector,collector"}, []string{"collector"}, ""},
		"one that is not there": {[]string{"--controllers=podmanager,pods"}, nil, `there is no controller "pods", choose from podmanager, imoocpod, helloworld, collector`},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := ParseFlags(c.args, io.Discard)
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Errorf("got %v, want it to say %s", err, c.problem)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, k := range chosenKinds(o) {
				got = append(got, k.name)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("controllers (-want +got):\n%s", diff)
			}
		})
	}
}
