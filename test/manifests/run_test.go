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

package manifests

import (
	"io"
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// An operator on a user's own machine is for that machine: neighbours in the
// same network reach none of its servers.
func TestMakeRunListensOnThisMachineOnly(t *testing.T) {
	for _, target := range []string{"run", "debug"} {
		t.Run(target, func(t *testing.T) {
			show := exec.CommandContext(t.Context(), "make", "--no-print-directory", "-n", target)
			show.Dir = testkit.Root()
			out, err := show.Output()
			if err != nil {
				t.Fatal(err)
			}
			// The flags outside the playground; on it, playground operator-flags prints others.
			_, flags, found := strings.Cut(string(out), "; flags='")
			flags, _, ended := strings.Cut(flags, "'")
			last := strings.TrimSpace(string(out))
			if !found || !ended || !strings.HasSuffix(last, " $flags") {
				t.Fatalf("make %s runs\n%s", target, out)
			}
			options, err := manager.ParseFlags(strings.Fields(flags), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			for what, address := range map[string]string{
				"webhooks": options.Webhooks.Address, "probes": options.ProbeAddress, "metrics": options.MetricsAddress, "explanations": options.Explain.Address,
			} {
				host, _, err := net.SplitHostPort(address)
				if ip := net.ParseIP(host); address != "0" && (err != nil || ip == nil || !ip.IsLoopback()) {
					t.Errorf("the %s listen on %q", what, address)
				}
			}
		})
	}
}
