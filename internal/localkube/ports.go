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

package localkube

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
)

const (
	// The ports to choose from lie below the range that the kernel hands out
	// to outgoing connections (32768 and up on Linux). While a component is
	// down, its clients dial its port again and again; were the port in that
	// range, one of them would sooner or later get it as its own source port,
	// connect to itself, and keep the component from coming back.
	lowestPort  = 20000
	highestPort = 32000

	portTries = 200
)

// ports hands out free ports on 127.0.0.1, none of them twice.
type ports struct {
	given map[int]bool
}

func newPorts() *ports { return &ports{given: map[int]bool{}} }

func (p *ports) next() (int, error) {
	for range portTries {
		port := lowestPort + rand.IntN(highestPort-lowestPort) //nolint:gosec // a port to try is no secret
		if !p.given[port] && portIsFree(port) {
			p.given[port] = true
			return port, nil
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d on 127.0.0.1", lowestPort, highestPort)
}

// claim takes one certain port.
func (p *ports) claim(port int) error {
	if !portIsFree(port) {
		return fmt.Errorf("%w: 127.0.0.1:%d is taken by another process", ErrPortBusy, port)
	}
	p.given[port] = true
	return nil
}

func portIsFree(port int) bool {
	l, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

func httpsURL(port int) string { return "https://" + address(port) }

// errPortTaken marks a start that failed because another process took one of
// our ports between the check and the bind. Another try with other ports helps.
var errPortTaken = errors.New("a port was taken meanwhile")

// saysPortTaken looks for the kernel's message in a component's last words.
func saysPortTaken(logTail string) bool {
	return strings.Contains(logTail, "address already in use")
}

// FreePort is a port on 127.0.0.1 that no process listens on right now.
func FreePort() (int, error) { return newPorts().next() }
