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

package integration

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// process is the operator as a program of its own.
type process struct {
	cmd    *exec.Cmd
	output *output
	done   chan error
	// probes is where its probes are.
	probes string
}

// output is what a program has printed so far.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

// startManager starts the operator with a login of its own.
func startManager(t *testing.T, s *testkit.Suite, login *rest.Config, args ...string) *process {
	t.Helper()
	path := suite.Program(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := s.Cluster.WriteKubeconfig(kubeconfig, login); err != nil {
		t.Fatal(err)
	}
	p := &process{output: &output{}, done: make(chan error, 1), probes: freeAddress(t)}
	args = append([]string{
		"--kubeconfig=" + kubeconfig, "--health-probe-bind-address=" + p.probes,
		"--leader-election-namespace=" + testkit.OperatorNamespace, "--webhook-bind-address=0",
	}, args...)
	p.cmd = exec.Command(path, args...)
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		if t.Failed() {
			t.Logf("the operator said:\n%s", lastLines(p.output.String(), 30))
		}
	})
	return p
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := testkit.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// probe asks one of the operator's probes.
func probe(t *testing.T, address, path string) (code int, body string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	return response.StatusCode, string(raw), err
}

// expectServing waits until the operator's caches are synced.
func (p *process) expectServing(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, "the operator is ready", func() error {
		code, body, err := probe(t, p.probes, "/readyz")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("/readyz answers %d: %s", code, body)
		}
		return err
	})
}

// terminate sends a SIGTERM and waits for the end: it has to be a good one.
func (p *process) terminate(t *testing.T) (took time.Duration) {
	t.Helper()
	start := time.Now()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-p.done:
		if err != nil {
			t.Errorf("after a SIGTERM the operator ends with %v:\n%s", err, lastLines(p.output.String(), 10))
		}
	case <-time.After(testkit.Patience):
		t.Fatalf("the operator does not end:\n%s", lastLines(p.output.String(), 10))
	}
	return time.Since(start)
}

// scrape reads the operator's metrics as text.
func scrape(t *testing.T, url, token string) (code int, body string, err error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := selfSigned().Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(response.Body)
	return response.StatusCode, string(raw), err
}

// metric finds the value of a series in a text of metrics, by the beginning of
// its line: name and labels.
func metric(text, series string) (float64, error) {
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), "} ")
		if ok && name+"}" == series {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, errors.New("there is no " + series)
}
