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
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

const probeInterval = 50 * time.Millisecond

// waitReady returns when the component does its work, or with its obituary.
func (c *Cluster) waitReady(ctx context.Context, component Component) error {
	process, err := c.process(component)
	if err != nil {
		return err
	}
	client, err := c.probeClient()
	if err != nil {
		return err
	}
	var last error
	err = wait.PollUntilContextCancel(ctx, probeInterval, true, func(ctx context.Context) (bool, error) {
		if !process.Running() {
			return false, startFailure(process)
		}
		last = c.probe(ctx, client, component)
		return last == nil, nil
	})
	if err != nil {
		if last != nil && ctx.Err() != nil {
			return fmt.Errorf("%s is not ready (%w): %w; the end of its log:\n%s",
				component, ctx.Err(), last, tail(process.LogPath(), logTailLines))
		}
		return err
	}
	fmt.Fprintf(c.opts.Log, "%s is ready after %.1fs\n", component, time.Since(process.Started()).Seconds())
	return nil
}

func startFailure(process *Process) error {
	err := process.obituary()
	var died *DiedError
	if errors.As(err, &died) && saysPortTaken(died.LogTail) {
		return fmt.Errorf("%w: %w", errPortTaken, err)
	}
	return err
}

func (c *Cluster) probe(ctx context.Context, client *http.Client, component Component) error {
	path := map[Component]string{
		Etcd: "/health", APIServer: "/readyz", ControllerManager: "/healthz", Scheduler: "/readyz", Kwok: "/healthz",
	}[component]
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, httpsURL(c.port(component))+path, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s says %s: %s", path, response.Status, body)
	}
	if component == ControllerManager {
		return c.probeServiceAccount(ctx)
	}
	return nil
}

// probeServiceAccount asks whether pods can be created: the controller manager
// is healthy some time before it has made the account they run under.
func (c *Cluster) probeServiceAccount(ctx context.Context) error {
	clients, err := kubernetes.NewForConfig(c.admin)
	if err != nil {
		return err
	}
	_, err = clients.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
	return err
}

// Healthy asks the component whether it is well.
func (c *Cluster) Healthy(ctx context.Context, component Component) error {
	if _, err := c.process(component); err != nil {
		return err
	}
	client, err := c.probeClient()
	if err != nil {
		return err
	}
	return c.probe(ctx, client, component)
}
