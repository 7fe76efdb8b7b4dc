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
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// patience is for machines with few cores that do other things meanwhile.
const patience = 2 * time.Minute

// operatorImage is what hack/build-e2e calls it.
const operatorImage = "e2e.local/pod-operator:e2e"

// poll waits until check returns nil.
func poll(ctx context.Context, what string, check func() error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waited %s until %s: %w", patience, what, last)
	}
	return nil
}

// installOperator installs the chart as a user does, with the image that the nodes
// know, and returns when helm says that it is ready.
func installOperator(ctx context.Context, work string) error {
	repository, tag, _ := strings.Cut(operatorImage, ":")
	home := filepath.Join(work, "helm")
	cmd := exec.CommandContext(ctx, filepath.Join(testkit.Root(), "bin", "helm"), "install", "pod-operator",
		filepath.Join(testkit.Root(), "charts", "pod-operator"), "--namespace", testkit.OperatorNamespace, "--create-namespace",
		"--set", "image.repository="+repository, "--set", "image.tag="+tag,
		// A test reads PodManagers in both versions.
		"--set", "crds.v1alpha1=true",
		// The other node is the one that loses its power, and tests that kill the
		// operator know which pod it is.
		"--set", "replicas=1",
		"--set", `nodeSelector.kubernetes\.io/hostname=`+nodeA,
		"--wait", "--timeout", patience.String())
	cmd.Env = append(os.Environ(), "KUBECONFIG="+suite.Cluster.KubeconfigPath(), "HOME="+home,
		"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	if out, err := cmd.CombinedOutput(); err != nil {
		pods, _ := kubectl(ctx, "get", "pods,events", "-n", testkit.OperatorNamespace, "-o", "wide")
		return errors.Join(fmt.Errorf("helm install: %w\n%s", err, out), errors.New(pods))
	}
	return nil
}

// kubectl is the administrator's, for use without a test.
func kubectl(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(testkit.Root(), "bin", "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+suite.Cluster.KubeconfigPath())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// operatorPod is the operator's one pod.
func operatorPod(t testing.TB) corev1.Pod {
	t.Helper()
	var list corev1.PodList
	err := suite.Client.List(t.Context(), &list, client.InNamespace(testkit.OperatorNamespace), client.MatchingLabels{"control-plane": "controller-manager"})
	if err != nil {
		t.Fatalf("list the operator's pods: %v", err)
	}
	live := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil })
	if len(live) != 1 {
		t.Fatalf("the operator has %d pods, want 1", len(live))
	}
	return live[0]
}
