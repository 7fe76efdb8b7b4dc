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
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	kappsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/localkube"
)

const (
	operatorNamespace  = "pod-operator-system"
	operatorDeployment = "pod-operator-controller-manager"
)

// visitor is an operator that runs here, as a process, on a cluster that is not
// ours: it installs the CRDs and leaves everything else of the cluster alone.
// It serves no webhooks, because that cluster's API server may not reach them;
// so it serves no v1alpha1 either.
type visitor struct {
	layout  layout
	opts    upOptions
	out     io.Writer
	context string
	config  *rest.Config
}

// upOnCurrent runs the operator on the cluster of the current kubeconfig until
// the context ends or the operator does.
func upOnCurrent(ctx context.Context, l layout, opts upOptions, out io.Writer) error {
	if err := l.checkParts(true); err != nil {
		return err
	}
	v := &visitor{layout: l, opts: opts, out: out}
	if err := v.connect(); err != nil {
		return err
	}
	fmt.Fprintf(out, "the cluster of context %s, %s\n", v.context, v.config.Host)
	if err := v.refuseSecond(ctx); err != nil {
		return err
	}
	if err := v.install(ctx); err != nil {
		return err
	}
	err := v.run(ctx)
	if ctx.Err() != nil {
		return fmt.Errorf("%w; the CRDs and the PodManagers are still there", errStopped)
	}
	return err
}

func (v *visitor) connect() error {
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(clientcmd.NewDefaultClientConfigLoadingRules(), &clientcmd.ConfigOverrides{})
	raw, err := loader.RawConfig()
	if err != nil {
		return fmt.Errorf("read the kubeconfig: %w", err)
	}
	if raw.CurrentContext == "" {
		return errors.New("the kubeconfig has no current context: choose one with kubectl config use-context, or leave out CLUSTER=current")
	}
	v.context = raw.CurrentContext
	if v.config, err = loader.ClientConfig(); err != nil {
		return fmt.Errorf("context %s: %w", v.context, err)
	}
	return nil
}

// refuseSecond ends it where the cluster has an operator: two of them would
// work on the same objects.
func (v *visitor) refuseSecond(ctx context.Context) error {
	c, err := client.New(v.config, client.Options{})
	if err != nil {
		return fmt.Errorf("connect to the cluster of context %s: %w", v.context, err)
	}
	key := client.ObjectKey{Namespace: operatorNamespace, Name: operatorDeployment}
	switch err := c.Get(ctx, key, &kappsv1.Deployment{}); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("look for an operator in the cluster: %w", err)
	}
	return fmt.Errorf("the cluster has an operator, Deployment %s: remove it with make undeploy, or scale it to 0", key)
}

// install applies the CRDs, which serve what needs no webhook.
func (v *visitor) install(ctx context.Context) error {
	crds, err := install.Render(filepath.Join(v.layout.root, "config", "crd"))
	if err != nil {
		return err
	}
	lease := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": operatorNamespace},
	}}
	fmt.Fprintf(v.out, "installing %d CRDs, and namespace %s for the operator's lease\n", len(crds), operatorNamespace)
	return install.Apply(ctx, v.config, append([]*unstructured.Unstructured{lease}, crds...))
}

func (v *visitor) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	probes, err := localkube.FreePort()
	if err != nil {
		return err
	}
	exited, logPath, err := v.start(ctx, probes)
	if err != nil {
		return err
	}
	stop := func() { cancel(); <-exited }
	defer stop()
	if err := waitReady(ctx, probes, exited); err != nil {
		return fmt.Errorf("%w; its log is %s", err, logPath)
	}
	fmt.Fprintf(v.out, "the operator is ready; its log is %s\n", logPath)
	if err := v.showSample(ctx); err != nil {
		return err
	}
	fmt.Fprintf(v.out, "\nThe operator runs here, on the cluster of context %s. In another terminal, try:\n\n"+
		"  kubectl get podmanager,pods\n  kubectl scale pm/my-pod-manager --replicas=5\n\n"+
		"Ctrl-C stops it. Delete the PodManagers first if they are not to stay: their pods are cleaned up by the operator.\n", v.context)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-exited:
		return fmt.Errorf("the operator ended; its log is %s", logPath)
	}
}

// start runs bin/manager with the user's own login.
func (v *visitor) start(ctx context.Context, probes int) (exited chan struct{}, logPath string, err error) {
	if err := os.MkdirAll(v.layout.dir(), 0o700); err != nil {
		return nil, "", err
	}
	logPath = filepath.Join(v.layout.dir(), "operator.log")
	log, err := os.Create(logPath)
	if err != nil {
		return nil, "", err
	}
	defer log.Close() // the child has its own
	args := append([]string{
		"--metrics-bind-address=0", "--webhook-bind-address=0", fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", probes),
		"--leader-elect", "--leader-election-namespace=" + operatorNamespace,
	}, v.opts.operatorArgs...)
	cmd := exec.CommandContext(ctx, v.layout.bin("manager"), args...) //nolint:gosec // it starts the operator that it was built with
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	exited = make(chan struct{})
	go func() {
		defer close(exited)
		_ = cmd.Wait() // the log says why
	}()
	return exited, logPath, nil
}

// waitReady returns when the operator's caches are synced.
func waitReady(ctx context.Context, port int, exited <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, operatorStartTimeout)
	defer cancel()
	httpClient := &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/readyz", port), nil)
		if err != nil {
			return err
		}
		if response, err := httpClient.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-exited:
			return errOperatorDied
		case <-ctx.Done():
			return fmt.Errorf("the operator is not ready after %s", operatorStartTimeout)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (v *visitor) showSample(ctx context.Context) error {
	example, err := newSample(v.config, v.layout.sample())
	if err != nil {
		return err
	}
	example.object.SetNamespace(metav1.NamespaceDefault)
	if err := example.create(ctx); err != nil {
		return err
	}
	b := newBoard(v.out)
	if err := example.wait(ctx, b.show); err != nil && ctx.Err() == nil {
		fmt.Fprintln(v.out, err) // people want to look at it, so the operator stays
	}
	return nil
}
