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

package bench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// process is a contender at work.
type process struct {
	*localkube.Process
	user string
	// ready is asked until it answers 200; empty means that the first pod tells.
	ready string
	// profile is where CPU profiles come from, or empty.
	profile string
}

// qps is the client's limit where a program insists on one.
const qps = "10000"

// run starts a program as the contender's user.
func (s *stage) run(c *contender, path string, args, env []string) (*process, error) {
	user := "bench-" + c.name
	kubeconfig, err := s.kubeconfig(user)
	if err != nil {
		return nil, err
	}
	p, err := s.RunProcess(localkube.ProcessSpec{Name: user, Path: path, Args: append(args, "--kubeconfig="+kubeconfig), Env: env})
	if err != nil {
		return nil, err
	}
	return &process{Process: p, user: user}, nil
}

// startManager runs the operator as it is shipped, for one kind.
func startManager(s *stage, c *contender) (*process, error) {
	return s.startOperator(c, fmt.Sprintf("--webhook-bind-address=127.0.0.1:%d", s.webhookPort),
		fmt.Sprintf("--webhook-url=https://127.0.0.1:%d", s.webhookPort))
}

// startShard runs one of the operators that share the work. The first of them
// answers the webhooks, which on a real cluster all of them do.
func startShard(s *stage, c *contender, shards, n int) (*process, error) {
	one := *c
	one.name = fmt.Sprintf("%s-%d", c.name, n)
	flags := []string{fmt.Sprintf("--shards=%d", shards), "--leader-election-namespace=" + testkit.OperatorNamespace}
	if n > 0 {
		return s.startOperator(&one, append(flags, "--webhook-bind-address=0")...)
	}
	return s.startOperator(&one, append(flags, fmt.Sprintf("--webhook-bind-address=127.0.0.1:%d", s.webhookPort),
		fmt.Sprintf("--webhook-url=https://127.0.0.1:%d", s.webhookPort))...)
}

func (s *stage) startOperator(c *contender, flags ...string) (*process, error) {
	probes, err := localkube.FreePort()
	if err != nil {
		return nil, err
	}
	args := append([]string{
		"--controllers=podmanager", "--leader-elect=false", fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", probes),
	}, flags...)
	profile := ""
	if s.options.Profiles != "" {
		port, err := localkube.FreePort()
		if err != nil {
			return nil, err
		}
		args = append(args, fmt.Sprintf("--pprof-bind-address=127.0.0.1:%d", port))
		profile = fmt.Sprintf("http://127.0.0.1:%d/debug/pprof", port)
	}
	env, err := shippedEnv()
	if err != nil {
		return nil, err
	}
	p, err := s.run(c, s.options.Manager, args, env)
	if err != nil {
		return nil, err
	}
	p.ready, p.profile = fmt.Sprintf("http://127.0.0.1:%d/readyz", probes), profile
	return p, nil
}

// shippedEnv is the environment that the operator's Deployment gives it, without
// what depends on the pod.
func shippedEnv() ([]string, error) {
	container, err := shippedContainer()
	if err != nil {
		return nil, err
	}
	var env []string
	for _, e := range container.Env {
		if e.ValueFrom == nil {
			env = append(env, e.Name+"="+e.Value)
		}
	}
	return env, nil
}

// shippedContainer is the operator's, in its Deployment.
func shippedContainer() (*corev1.Container, error) {
	raw, err := os.ReadFile(filepath.Join(testkit.Root(), "config", "manager", "manager.yaml"))
	if err != nil {
		return nil, err
	}
	for document := range strings.SplitSeq(string(raw), "\n---\n") {
		var d kappsv1.Deployment
		if err := yaml.Unmarshal([]byte(document), &d); err != nil {
			return nil, fmt.Errorf("read the operator's Deployment: %w", err)
		}
		if d.Kind != "Deployment" {
			continue
		}
		return &d.Spec.Template.Spec.Containers[0], nil
	}
	return nil, errors.New("config/manager/manager.yaml has no Deployment")
}

// startKubeControllers runs some controllers of kube-controller-manager.
func startKubeControllers(controllers ...string) func(*stage, *contender) (*process, error) {
	return func(s *stage, c *contender) (*process, error) {
		return s.run(c, filepath.Join(testkit.Root(), "bin", "kube-controller-manager"), []string{
			"--controllers=" + strings.Join(controllers, ","), "--leader-elect=false", "--secure-port=0",
			"--kube-api-qps=" + qps, "--kube-api-burst=" + qps,
		}, nil)
	}
}

// startRawLoop runs this program again.
func startRawLoop(s *stage, c *contender) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	return s.run(c, self, []string{
		RawLoopVerb, "--namespace=" + s.namespace(), "--workers=" + strconv.Itoa(c.workers),
	}, nil)
}

// waitReady waits until the process says that it is.
func (p *process) waitReady(ctx context.Context) error {
	if p.ready == "" {
		return nil
	}
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		if !p.Running() {
			return false, fmt.Errorf("%s ended", p.user)
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.ready, nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil // not listening yet
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
	if err != nil {
		return fmt.Errorf("wait for %s; its log is %s: %w", p.user, p.LogPath(), err)
	}
	return nil
}
