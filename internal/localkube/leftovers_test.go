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

package localkube_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/mycompany/pod-operator/internal/localkube"
)

// victimEnv makes the test binary a process that starts a cluster and ends in
// the way the variable names.
const victimEnv = "LOCALKUBE_TEST_VICTIM"

// traces are what a cluster must not leave behind.
type traces struct {
	PIDs  []int
	Ports []int
	Dir   string
}

func TestNothingIsLeftWhenTheCallerEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts clusters and kills them: make test-rest runs it")
	}
	for name, tc := range map[string]struct {
		how    string
		signal os.Signal
	}{
		"by a panic":                        {how: "panic"},
		"by returning without Stop":         {how: "return"},
		"by SIGKILL":                        {how: "wait", signal: syscall.SIGKILL},
		"by Ctrl-C, without a handler":      {how: "wait", signal: syscall.SIGINT},
		"by Ctrl-C, with Stop in a handler": {how: "stop on interrupt", signal: syscall.SIGINT},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			victim := exec.Command(os.Args[0])
			victim.Env = append(os.Environ(), victimEnv+"="+tc.how)
			out, err := victim.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := victim.Start(); err != nil {
				t.Fatal(err)
			}
			left := readTraces(t, out)
			if tc.signal != nil {
				if err := victim.Process.Signal(tc.signal); err != nil {
					t.Fatal(err)
				}
			}
			_ = victim.Wait() // how it ended is the point of the test
			eventually(t, "everything is gone", func(context.Context) error { return left.present() })
		})
	}
}

func readTraces(t *testing.T, out interface{ Read([]byte) (int, error) }) traces {
	t.Helper()
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		t.Fatalf("the victim did not come up: %v", err)
	}
	var left traces
	if err := json.Unmarshal(line, &left); err != nil {
		t.Fatalf("the victim said %q: %v", line, err)
	}
	return left
}

// present is an error as long as something is there.
func (l traces) present() error {
	if len(l.PIDs) == 0 || len(l.Ports) == 0 {
		return errors.New("there was nothing to begin with")
	}
	for _, pid := range l.PIDs {
		if err := syscall.Kill(pid, 0); err == nil {
			return fmt.Errorf("process %d lives", pid)
		}
	}
	for _, port := range l.Ports {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			return err
		}
		if err := listener.Close(); err != nil {
			return err
		}
	}
	return nil
}

func tracesOf(c *localkube.Cluster) traces {
	left := traces{Dir: c.Dir()}
	for _, component := range c.Components() {
		process, err := c.Process(component)
		if err != nil {
			panic(err)
		}
		left.PIDs = append(left.PIDs, process.PID())
		left.Ports = append(left.Ports, c.Port(component))
	}
	return left
}

// beVictim runs in a process of its own.
func beVictim(how string) {
	interrupted := make(chan os.Signal, 1)
	if how == "stop on interrupt" {
		signal.Notify(interrupted, os.Interrupt)
	}
	c, err := localkube.Start(context.Background(), localkube.Options{Components: localkube.APIOnly()})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	line, err := json.Marshal(tracesOf(c))
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
	switch how {
	case "panic":
		panic("on purpose")
	case "return":
	case "stop on interrupt":
		<-interrupted
		if err := c.Stop(); err != nil {
			panic(err)
		}
	default:
		<-time.After(time.Minute) // far longer than the test takes to send its signal
	}
}
