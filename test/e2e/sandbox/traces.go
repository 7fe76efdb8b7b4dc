//go:build linux

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

package sandbox

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// sysctls are what the kubelet sets. They are the whole machine's, in whichever
// namespace they are set.
func sysctls() []string {
	return []string{
		"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
	}
}

// traces are the things of the machine that something inside could have touched.
type traces struct {
	sysctls    map[string]string
	interfaces []string
	hostname   string
}

// machine looks at the machine.
func machine() traces {
	t := traces{sysctls: map[string]string{}}
	for _, name := range append(sysctls(), "net/ipv4/ip_forward") {
		value, _ := os.ReadFile("/proc/sys/" + name) // not every kernel has all
		t.sysctls[name] = strings.TrimSpace(string(value))
	}
	entries, _ := os.ReadDir("/sys/class/net")
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), BridgePrefix) {
			t.interfaces = append(t.interfaces, entry.Name())
		}
	}
	t.hostname, _ = os.Hostname()
	return t
}

// BridgePrefix begins the names of the nodes' bridges.
const BridgePrefix = "e2e"

// compare says what is not as it was.
func (t traces) compare(now traces) error {
	var changed error
	for _, name := range slices.Sorted(maps.Keys(t.sysctls)) {
		if t.sysctls[name] != now.sysctls[name] {
			changed = errors.Join(changed, fmt.Errorf("%s was %s and is %s now", filepath.Base(name), t.sysctls[name], now.sysctls[name]))
		}
	}
	if !slices.Equal(t.interfaces, now.interfaces) {
		changed = errors.Join(changed, fmt.Errorf("the interfaces were %v and are %v now", t.interfaces, now.interfaces))
	}
	if t.hostname != now.hostname {
		changed = errors.Join(changed, fmt.Errorf("the host was called %s and is called %s now", t.hostname, now.hostname))
	}
	if changed != nil {
		return fmt.Errorf("the machine was changed: %w", changed)
	}
	return nil
}
