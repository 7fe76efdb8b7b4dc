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
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/localkube"
)

const (
	operatorName = "operator"

	// tokenSeconds is how long the operator's login lasts: a year. Each start
	// of the playground asks for another.
	tokenSeconds = 365 * 24 * 3600

	operatorStartTimeout = 60 * time.Second
	operatorBackoffMax   = 30 * time.Second
	operatorHealthyAfter = time.Minute
)

// operator runs bin/manager and starts it again when it dies, as a Deployment
// would.
type operator struct {
	layout  layout
	cluster *localkube.Cluster
	args    []string // on top of ours
	started func(process) error
	say     func(format string, args ...any)
	// explain is the port of the page; one for all restarts, so that a tab
	// that is open finds the operator again.
	explain int
}

// login writes the kubeconfig the operator uses: its own ServiceAccount, with
// the rights that config/rbac gives it and no others.
func (o *operator) login(ctx context.Context, manifests []*unstructured.Unstructured) error {
	account, err := serviceAccount(manifests)
	if err != nil {
		return err
	}
	config, err := o.cluster.RESTConfigForServiceAccount(ctx, account.Namespace, account.Name, tokenSeconds)
	if err != nil {
		return err
	}
	return o.cluster.WriteKubeconfig(o.layout.operatorKubeconfig(), config)
}

// serviceAccount finds the one account among the manifests.
func serviceAccount(manifests []*unstructured.Unstructured) (client.ObjectKey, error) {
	var found []client.ObjectKey
	for _, object := range manifests {
		if object.GetKind() == "ServiceAccount" {
			found = append(found, client.ObjectKeyFromObject(object))
		}
	}
	if len(found) != 1 {
		return client.ObjectKey{}, fmt.Errorf("config/playground has %d ServiceAccounts; the operator logs in as the only one", len(found))
	}
	return found[0], nil
}

// start runs the operator once and returns when it is ready.
func (o *operator) start(ctx context.Context) (*localkube.Process, error) {
	metrics, err := localkube.FreePort()
	if err != nil {
		return nil, err
	}
	probes, err := localkube.FreePort()
	if err != nil {
		return nil, err
	}
	webhooks, err := localkube.FreePort()
	if err != nil {
		return nil, err
	}
	p, err := o.cluster.RunProcess(localkube.ProcessSpec{
		Name: operatorName,
		Path: o.layout.bin("manager"),
		Args: append([]string{
			fmt.Sprintf("--metrics-bind-address=127.0.0.1:%d", metrics),
			fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", probes),
			fmt.Sprintf("--webhook-bind-address=127.0.0.1:%d", webhooks),
			fmt.Sprintf("--webhook-url=https://127.0.0.1:%d", webhooks),
			fmt.Sprintf("--explain-bind-address=127.0.0.1:%d", o.explain),
			"--leader-elect=false",
		}, o.args...),
		Env: []string{"KUBECONFIG=" + o.layout.operatorKubeconfig()},
	})
	if err != nil {
		return nil, err
	}
	entry, err := describe(operatorName, p.PID(), metrics, p.Started())
	if err == nil {
		err = o.started(entry)
	}
	if err == nil {
		err = waitOperator(ctx, p, probes)
	}
	return p, err
}

// waitOperator returns when the operator's caches are synced, or with an error
// that Died explains better when the process is gone.
func waitOperator(ctx context.Context, p *localkube.Process, port int) error {
	httpClient := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	last := errors.New("it has not answered yet")
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, operatorStartTimeout, true, func(ctx context.Context) (bool, error) {
		if !p.Running() {
			return false, errOperatorDied
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/readyz", port), nil)
		if err != nil {
			return false, err
		}
		response, err := httpClient.Do(request)
		if err != nil {
			last = err
			return false, nil
		}
		last = fmt.Errorf("/readyz says %s", response.Status)
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("the operator is not ready after %s (%w); its log is %s", operatorStartTimeout, last, p.LogPath())
	}
	return err
}

var errOperatorDied = errors.New("the operator died")

// keep starts the operator again whenever it dies, until the context ends.
func (o *operator) keep(ctx context.Context, p *localkube.Process) {
	backoff := time.Second
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.Exited():
		}
		if time.Since(p.Started()) > operatorHealthyAfter {
			backoff = time.Second
		}
		o.say("starting the operator again in %s", backoff)
		select {
		case <-ctx.Done():
			return
		case <-time.After(backoff):
		}
		backoff = min(2*backoff, operatorBackoffMax)
		next, err := o.start(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			o.say("the operator is back (process %d)", next.PID())
		case !errors.Is(err, errOperatorDied):
			o.say("%v", err)
		}
		if next == nil {
			return // it could not even be started, and was said above
		}
		p = next
	}
}
