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

package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/e2e/node"
	"github.com/mycompany/pod-operator/test/e2e/sandbox"
)

// The nodes. The operator runs on the first; the second one loses its power.
const (
	nodeA = "node-a"
	nodeB = "node-b"

	memoryA = 4 << 30
	memoryB = 2 << 30
)

// The images that hack/build-e2e makes.
const (
	imageV1    = "e2e.local/server:v1"
	imageV2    = "e2e.local/server:v2"
	imageV3    = "e2e.local/server:v3"
	imageCrash = "e2e.local/server:crash"
)

var (
	suite *testkit.Suite
	nodes = map[string]*node.Node{}
)

func TestMain(m *testing.M) {
	bin := filepath.Join(testkit.Root(), "bin", "e2e")
	if os.Getenv("E2E") == "" {
		skip(errors.New("make e2e builds the images and runs it"))
	}
	if err := node.Missing(bin); err != nil {
		skip(fmt.Errorf("make e2e builds what is missing, where it can:\n%w", err))
	}
	base := filepath.Join(testkit.Root(), ".playground", "run")
	code, err := sandbox.Main(base, func(work string) int { return inside(m, bin, work) })
	if errors.Is(err, sandbox.ErrCannot) {
		skip(err)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func skip(why error) {
	fmt.Println("--- SKIP: end to end on real containers:", why)
	os.Exit(0)
}

// inside starts everything and runs the tests. Nothing is stopped afterwards: all
// processes end with this one.
func inside(m *testing.M, bin, work string) int {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	began := time.Now()
	if err := start(ctx, bin, work); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		keepLogs(work)
		return 1
	}
	fmt.Printf("e2e: two nodes ready and the operator installed after %s\n", time.Since(began).Round(100*time.Millisecond))
	code := m.Run()
	if err := operatorErrors(work); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = max(code, 1)
	}
	if code != 0 {
		keepLogs(work)
	}
	return code
}

// operatorErrors looks through what the operator's pods have logged on the node. Of
// what the tests do nothing is an error of the operator's, but for the events that
// it has for namespaces which go meanwhile.
func operatorErrors(work string) error {
	logs, err := filepath.Glob(filepath.Join(work, operatorLogs))
	if err != nil || len(logs) == 0 {
		return fmt.Errorf("the operator's logs: found %d, %w", len(logs), err)
	}
	var found error
	for _, path := range logs {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(data)) {
			if strings.Contains(line, `"level":"error"`) && !strings.Contains(line, "because it is being terminated") {
				found = errors.Join(found, errors.New(line))
			}
		}
	}
	if found != nil {
		return fmt.Errorf("the operator logged errors:\n%w", found)
	}
	return nil
}

const operatorLogs = "node-*/pods/" + testkit.OperatorNamespace + "_*/*/*.log"

func start(ctx context.Context, bin, work string) error {
	cluster, err := localkube.Start(ctx, localkube.Options{
		BinDir: filepath.Join(testkit.Root(), "bin"), Dir: filepath.Join(work, "cluster"),
		Components: []localkube.Component{localkube.Etcd, localkube.APIServer, localkube.ControllerManager, localkube.Scheduler},
		Nodes:      localkube.NodeOptions{Count: -1},
		// Where pods look for it; see sandbox.Kubernetes.
		Port: 443,
		APIServerArgs: []string{
			"--bind-address=0.0.0.0", "--kubelet-preferred-address-types=InternalIP",
			// Without kube-proxy a Service's address leads nowhere: webhooks are
			// called at their pods' addresses.
			"--enable-aggregator-routing=true",
		},
		// EvictionRequests are one of the two ways in which a pod is asked to leave.
		FeatureGates:          map[string]bool{"EvictionRequestAPI": true},
		RuntimeConfig:         map[string]string{"lifecycle.k8s.io/v1alpha1": "true"},
		Audit:                 localkube.AuditOptions{Level: localkube.AuditMetadata},
		ControllerManagerArgs: []string{"--node-monitor-grace-period=20s", "--node-monitor-period=1s"},
	})
	if err != nil {
		return err
	}
	suite = &testkit.Suite{Cluster: cluster}
	if suite.Client, err = testkit.NewClient(cluster.RESTConfig()); err != nil {
		return err
	}
	if err := startNodes(ctx, bin, work); err != nil {
		return err
	}
	return installOperator(ctx, work)
}

func startNodes(ctx context.Context, bin, work string) error {
	images, err := filepath.Glob(filepath.Join(bin, "images", "*", "image.tar"))
	if err != nil {
		return err
	}
	for i, name := range []string{nodeA, nodeB} {
		n, err := node.Start(ctx, node.Options{
			Name: name, Index: i, Memory: []int64{memoryA, memoryB}[i],
			Cluster: suite.Cluster, BinDir: bin, Work: work, Images: images,
		})
		if err != nil {
			return err
		}
		nodes[name] = n
	}
	for name := range nodes {
		if err := waitNodeReady(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

func waitNodeReady(ctx context.Context, name string) error {
	return poll(ctx, "node "+name+" is ready", func() error {
		var n corev1.Node
		if err := suite.Client.Get(ctx, client.ObjectKey{Name: name}, &n); err != nil {
			return err
		}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("conditions: %v", n.Status.Conditions)
	})
}

// keepLogs saves what a failed run has to tell from the work folder, which goes.
func keepLogs(work string) {
	kept := filepath.Join(testkit.Root(), "test-output", "e2e")
	if err := os.RemoveAll(kept); err != nil {
		return
	}
	for _, from := range []string{"cluster/logs/*.log", "node-*/*.log", operatorLogs} {
		found, _ := filepath.Glob(filepath.Join(work, from))
		for _, path := range found {
			name, err := filepath.Rel(work, path)
			if err != nil {
				continue
			}
			to := filepath.Join(kept, name)
			_ = os.MkdirAll(filepath.Dir(to), 0o755)
			_ = exec.Command("cp", path, to).Run()
		}
	}
	fmt.Fprintln(os.Stderr, "e2e: the logs of this run are in", kept)
}
