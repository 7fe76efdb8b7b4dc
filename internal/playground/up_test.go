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

package playground

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestPlayground is a day with the playground, in the background.
func TestPlayground(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a playground through everything: make test-rest runs it")
	}
	p := newProject(t).withOperator()
	t.Cleanup(func() { p.run("down") })

	out := p.mustRun("up", "--detach", "--audit")
	contains(t, out, "kube-apiserver is ready", "the operator is ready", "my-pod-manager: 3 pods wanted, 3 there, 3 ready",
		"Up after", "kubectl scale pm/my-pod-manager", "logs/operator.log")
	uid := p.mustRun("kubectl", "--", "get", "pm", "my-pod-manager", "-o", "jsonpath={.metadata.uid}")

	t.Run("status shows every process and the API server's health", func(t *testing.T) {
		contains(t, p.mustRun("status"), "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "operator", "is healthy", "The operator's log is ")
	})
	t.Run("a second up says that it is up", func(t *testing.T) {
		contains(t, p.mustRun("up"), "is up already")
		contains(t, p.mustRun("up", "--detach"), "is up already")
	})
	t.Run("kubectl works with and without the dashes", func(t *testing.T) {
		contains(t, p.mustRun("kubectl", "--", "get", "pods", "-l", "app=my-app"), "my-pod-manager-0", "my-pod-manager-2")
		contains(t, p.mustRun("kubectl", "get", "pods", "-o", "wide"), "node-")
	})
	t.Run("the operator is its own ServiceAccount", func(t *testing.T) { testOperatorUser(t, p) })
	t.Run("the page's guest sees what the tour shows", func(t *testing.T) { testGuest(t, p) })
	t.Run("claims get volumes", func(t *testing.T) { testVolumes(t, p) })
	t.Run("an operator that is killed comes back", func(t *testing.T) { testOperatorComesBack(t, p) })
	t.Run("nothing is left of a playground that is killed", func(t *testing.T) { testKilled(t, p) })
	t.Run("up after a kill continues with the data", func(t *testing.T) {
		contains(t, p.mustRun("up", "--detach"), "An earlier run", "was killed", "Up after")
		got := p.mustRun("kubectl", "--", "get", "pm", "my-pod-manager", "-o", "jsonpath={.metadata.uid}")
		if got != uid {
			t.Errorf("the sample is another one: %s, before it was %s", got, uid)
		}
	})
	t.Run("down leaves nothing running", func(t *testing.T) {
		left := p.traces()
		contains(t, p.mustRun("down"), "is down")
		p.waitGone(left)
		contains(t, p.mustRun("down"), "is not up")
		if _, code := p.run("status"); code == 0 {
			t.Error("status of a playground that is down ends well")
		}
	})
	t.Run("a busy port ends in a sentence", func(t *testing.T) { testBusyPort(t, p) })
	t.Run("data that cannot be used ends in a sentence", func(t *testing.T) {
		if err := os.WriteFile(p.cluster()+"/etcd/member/snap/db", []byte("not a database"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, code := p.run("up", "--detach")
		if code == 0 {
			t.Fatal("it came up")
		}
		contains(t, out, "etcd died", `"bin/playground reset" removes it`, "did not come up")
	})
	t.Run("reset removes the data", func(t *testing.T) {
		contains(t, p.mustRun("reset"), "data is removed")
		entries, err := os.ReadDir(p.dir())
		if err != nil || len(entries) != 0 {
			t.Errorf("left in .playground: %v, %v", entries, err)
		}
	})
}

func testOperatorUser(t *testing.T, p *project) {
	const user = `"username":"system:serviceaccount:pod-operator-system:pod-operator-controller-manager"`
	eventually(t, "the audit log shows who created the pods", func() error {
		audit, err := os.ReadFile(p.cluster() + "/logs/audit.log")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(audit)) {
			if strings.Contains(line, `"verb":"create"`) && strings.Contains(line, `"name":"my-pod-manager-0"`) && strings.Contains(line, user) {
				return nil
			}
		}
		return fmt.Errorf("no create of my-pod-manager-0 by %s", user)
	})
}

// testGuest: the link of make up hides nothing that the page can show, and Secrets are
// not on the page.
func testGuest(t *testing.T, p *project) {
	contains(t, p.mustRun("page"), "#token=")
	const who = "--as=system:serviceaccount:" + guestNamespace + ":" + guest
	can := func(words ...string) string {
		out, _ := p.run(slices.Concat([]string{"kubectl", "--", "auth", "can-i", who}, words)...)
		return strings.TrimSpace(out)
	}
	for _, right := range []string{
		"list podmanagers", "patch podmanagers", "list imoocpods", "patch imoocpods", "list helloworlds", "list collectors",
		"list controllerrevisions.apps", "list events", "get pods", "patch pods", "get pods --subresource=log",
	} {
		if out := can(strings.Fields(right)...); !strings.HasSuffix(out, "yes") {
			t.Errorf("the guest may not %s: %s", right, out)
		}
	}
	for _, right := range []string{"get secrets", "create pods", "delete pods"} {
		if out := can(strings.Fields(right)...); !strings.HasSuffix(out, "no") {
			t.Errorf("the guest may %s: %s", right, out)
		}
	}
}

// testVolumes: pods that need volumes become ready, and the volumes go with them.
func testVolumes(t *testing.T, p *project) {
	file := filepath.Join(t.TempDir(), "db.yaml")
	err := os.WriteFile(file, []byte(`apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {name: db}
spec:
  replicas: 2
  image: postgres:17
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	p.mustRun("kubectl", "--", "apply", "-f", file)
	p.mustRun("kubectl", "--", "wait", "--for=condition=Ready", "--timeout=2m", "pm/db")
	contains(t, p.mustRun("kubectl", "--", "get", "pvc"), "data-db-0   Bound", "data-db-1   Bound", "standard")
	p.mustRun("kubectl", "--", "delete", "pm/db")
	eventually(t, "the volumes are gone", func() error {
		if out := p.mustRun("kubectl", "--", "get", "pv", "-o", "name"); strings.Contains(out, "persistentvolume/") {
			return errors.New(out)
		}
		return nil
	})
}

func (p *project) operator() process {
	p.t.Helper()
	s, err := readState(p.layout)
	if err != nil || s == nil {
		p.t.Fatalf("state file: %v, %v", s, err)
	}
	for _, one := range s.Processes {
		if one.Name == operatorName {
			return one
		}
	}
	p.t.Fatal("no operator in the state file")
	return process{}
}

func testOperatorComesBack(t *testing.T, p *project) {
	killed := p.operator()
	if err := syscall.Kill(killed.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "another operator runs", func() error {
		if now := p.operator(); now.PID == killed.PID || !now.alive() {
			return fmt.Errorf("the state file names process %d", now.PID)
		}
		return nil
	})
	// One that does its work: a pod that is deleted is replaced.
	p.mustRun("kubectl", "--", "delete", "pod", "my-pod-manager-1")
	p.mustRun("kubectl", "--", "wait", "--for=create", "pod/my-pod-manager-1", "--timeout=60s")
}

func testKilled(t *testing.T, p *project) {
	left := p.traces()
	if err := syscall.Kill(left[len(left)-1].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.waitGone(left)
	out, code := p.run("status")
	if code == 0 {
		t.Error("status of a killed playground ends well")
	}
	contains(t, out, "was killed")
}

func testBusyPort(t *testing.T, p *project) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	out, code := p.run("up", fmt.Sprintf("--port=%d", busy.Addr().(*net.TCPAddr).Port))
	if code != 1 {
		t.Errorf("it ended with %d", code)
	}
	contains(t, out, "port is in use", "leave --port out")
}

func TestForegroundEnds(t *testing.T) {
	if testing.Short() {
		t.Skip("it starts three more clusters: make test-rest runs it")
	}
	for name, tc := range map[string]struct {
		end      func(t *testing.T, up *os.Process, processes []process)
		wantCode int
		want     []string
	}{
		"by Ctrl-C": {
			end: func(t *testing.T, up *os.Process, _ []process) {
				if err := up.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
			},
			want: []string{"stopped; nothing is left running"},
		},
		"by the death of a component": {
			end: func(t *testing.T, _ *os.Process, processes []process) {
				for _, p := range processes {
					if p.Name == "kube-apiserver" {
						if err := syscall.Kill(p.PID, syscall.SIGKILL); err != nil {
							t.Fatal(err)
						}
					}
				}
			},
			wantCode: 1,
			want:     []string{"kube-apiserver died (signal: killed); the end of"},
		},
	} {
		t.Run(name, func(t *testing.T) { testForegroundEnds(t, tc.end, tc.wantCode, tc.want) })
	}
}

func testForegroundEnds(t *testing.T, end func(*testing.T, *os.Process, []process), wantCode int, want []string) {
	p := newProject(t)
	command := p.command("up", "--without-operator", "--nodes=1")
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = command.Stdout
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	var left []process
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), "Up after") {
			left = p.traces()
			end(t, command.Process, left)
		}
	}
	_ = command.Wait() // the exit code tells
	if left == nil {
		t.Fatalf("it never came up:\n%s", strings.Join(said, "\n"))
	}
	if got := command.ProcessState.ExitCode(); got != wantCode {
		t.Errorf("it ended with %d, want %d", got, wantCode)
	}
	p.waitGone(left)
	contains(t, strings.Join(said, "\n"), want...)
	if _, err := os.Stat(p.state()); err == nil {
		t.Error("the state file is still there")
	}
}

func TestUpSaysWhatIsMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		make func(t *testing.T, p *project)
		want []string
	}{
		"the operator is not built": {
			args: []string{"up"},
			make: func(*testing.T, *project) {},
			want: []string{"bin/manager is missing", "make binaries"},
		},
		"the operator is not built, in the background": {
			args: []string{"up", "--detach"},
			make: func(*testing.T, *project) {},
			want: []string{"bin/manager is missing"},
		},
		"the control plane is not built": {
			args: []string{"up", "--without-operator"},
			make: func(t *testing.T, p *project) {
				if err := os.Remove(p.bin("kwok")); err != nil {
					t.Fatal(err)
				}
			},
			want: []string{"the control plane is not built", "make build"},
		},
		"there are no manifests": {
			args: []string{"up"},
			make: func(t *testing.T, p *project) {
				if err := os.Remove(p.root + "/config"); err != nil {
					t.Fatal(err)
				}
			},
			want: []string{"is missing"},
		},
		"a word too many": {
			args: []string{"up", "please"},
			make: func(*testing.T, *project) {},
			want: []string{`not "please"`},
		},
		"kubectl before up": {
			args: []string{"kubectl", "get", "pods"},
			make: func(*testing.T, *project) {},
			want: []string{"the playground is not up"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			tc.make(t, p)
			out, code := p.run(tc.args...)
			if code != 1 {
				t.Errorf("it ended with %d", code)
			}
			contains(t, out, tc.want...)
		})
	}
}

func contains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}
