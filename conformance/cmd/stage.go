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

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/mycompany/pod-operator/conformance"
	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/test/faults/proxy"
)

// stage is a cluster with the controller under judgement on it, behind a proxy.
type stage struct {
	*localkube.Cluster
	*proxy.Proxy
	dir      string
	keepLogs string

	spec  localkube.ProcessSpec
	ready string // asked until it answers 200; empty means that the first pod tells

	mu      sync.Mutex
	process *localkube.Process
}

// The ServiceAccount of this project's operator, as config/ names it, and of all others.
const (
	operatorNamespace = "pod-operator-system"
	operatorAccount   = "pod-operator-controller-manager"
	adminAccount      = "conformance-admin"
	tokenSeconds      = 24 * 3600
)

// seed of the faults: the same faults each time.
const seed = 1

func (o *options) start(ctx context.Context, adapter *conformance.Adapter) (_ *stage, err error) {
	s := &stage{keepLogs: o.keepLogs}
	if s.dir, err = os.MkdirTemp("", "conformance-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	webhooks, err := webhookPort(adapter)
	if err != nil {
		return nil, err
	}
	s.Cluster, err = localkube.Start(ctx, localkube.Options{
		BinDir: o.bin, Nodes: localkube.NodeOptions{Count: 4, Pods: 500},
		ControllerManagerArgs: []string{"--controllers=" + strings.Join(without(adapter.Manager.KubeControllers), ",")},
		OnAPIReady: func(ctx context.Context, admin *rest.Config) error {
			return o.install(ctx, admin, adapter, webhooks)
		},
	})
	if err != nil {
		return nil, err
	}
	if s.Proxy, err = proxy.Start(s.Cluster, seed); err != nil {
		return nil, err
	}
	if err := s.describe(ctx, o, adapter, webhooks); err != nil {
		return nil, err
	}
	return s, s.Restart(ctx)
}

// without are the controllers of the cluster's own controller manager.
func without(judged []string) []string {
	list := []string{"*"}
	for _, name := range judged {
		list = append(list, "-"+name)
	}
	return list
}

// install puts on the cluster what the controller needs, before the garbage collector
// looks for kinds.
func (o *options) install(ctx context.Context, admin *rest.Config, adapter *conformance.Adapter, webhooks int) error {
	clients, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return err
	}
	if err := makeAdmin(ctx, clients); err != nil {
		return err
	}
	folder := o.manifests
	if len(adapter.Manager.Ours) > 0 {
		folder = filepath.Join("config", "playground")
	}
	if folder == "" {
		return nil
	}
	var objects []*unstructured.Unstructured
	if objects, err = install.Render(folder); err != nil {
		return err
	}
	if built := adapter.Manager.Built; built != nil {
		return install.Apply(ctx, admin, install.OfOthers(objects, built.Namespace, built.Webhooks, webhooks))
	}
	install.CallByURL(objects, fmt.Sprintf("https://127.0.0.1:%d", webhooks))
	return install.Apply(ctx, admin, objects)
}

// makeAdmin makes a ServiceAccount that may do everything: the proxy passes a token on,
// and not a certificate.
func makeAdmin(ctx context.Context, clients kubernetes.Interface) error {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: adminAccount}}
	_, err := clients.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Create(ctx, account, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	_, err = clients.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: adminAccount},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: metav1.NamespaceDefault, Name: adminAccount}},
	}, metav1.CreateOptions{})
	return err
}

// describe says how the controller is started.
func (s *stage) describe(ctx context.Context, o *options, adapter *conformance.Adapter, webhooks int) error {
	namespace, account := metav1.NamespaceDefault, adminAccount
	if len(adapter.Manager.Ours) > 0 {
		namespace, account = operatorNamespace, operatorAccount
	}
	login, err := s.RESTConfigForServiceAccount(ctx, namespace, account, tokenSeconds)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(s.dir, "kubeconfig")
	if err := s.WriteKubeconfig(kubeconfig, s.Login(login)); err != nil {
		return err
	}
	s.spec = localkube.ProcessSpec{Name: "judged", LogPath: filepath.Join(s.dir, "judged.log"), Env: []string{"KUBECONFIG=" + kubeconfig}}
	switch m := adapter.Manager; {
	case len(m.KubeControllers) > 0:
		s.spec.Path = filepath.Join(o.bin, "kube-controller-manager")
		s.spec.Args = []string{
			"--kubeconfig=" + kubeconfig, "--controllers=" + strings.Join(m.KubeControllers, ","), "--secure-port=0", "--leader-elect=false",
			"--kube-api-qps=1000", "--kube-api-burst=2000",
		}
	case len(m.Ours) > 0:
		probes, err := localkube.FreePort()
		if err != nil {
			return err
		}
		s.spec.Path = filepath.Join("bin", "manager")
		s.spec.Args = []string{
			"--kubeconfig=" + kubeconfig, "--controllers=" + strings.Join(m.Ours, ","), "--leader-elect=false",
			fmt.Sprintf("--health-probe-bind-address=127.0.0.1:%d", probes),
			fmt.Sprintf("--webhook-bind-address=127.0.0.1:%d", webhooks), fmt.Sprintf("--webhook-url=https://127.0.0.1:%d", webhooks),
		}
		s.ready = fmt.Sprintf("http://127.0.0.1:%d/readyz", probes)
	case o.manager != "" && m.Built != nil:
		return s.describeBuilt(o.manager, m.Built, webhooks)
	case o.manager != "":
		command := strings.Fields(o.manager)
		s.spec.Path, s.spec.Args = command[0], command[1:]
	case m.Built != nil:
		return fmt.Errorf("%s is kept by the manager of %s: build it from %s, and give --manager PATH and --manifests FOLDER",
			adapter.GVK().Kind, m.Built.Project, m.Built.Module)
	default:
		return fmt.Errorf("the suite does not know how to start the controller of %s: give --manager, or --kubeconfig of a cluster where it runs",
			adapter.Metadata.Name)
	}
	return nil
}

// Restart implements conformance.Disturber.
func (s *stage) Restart(ctx context.Context) error {
	process, err := s.RunProcess(s.spec)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.process = process
	s.mu.Unlock()
	if s.ready == "" {
		return nil
	}
	err = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		if !process.Running() {
			return false, errors.New("it ended")
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.ready, nil)
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
		return fmt.Errorf("wait for the controller; its log is %s: %w", process.LogPath(), err)
	}
	return nil
}

// CrashAfter implements conformance.Disturber.
func (s *stage) CrashAfter(n int, method string) <-chan struct{} {
	crashed := make(chan struct{})
	s.After(n, method, "pods", func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.process.Kill()
		close(crashed)
	})
	return crashed
}

// Crash implements conformance.Disturber.
func (s *stage) Crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process.Kill()
}

// Play implements conformance.Disturber.
func (s *stage) Play(fault conformance.Fault) {
	s.Proxy.Play(map[conformance.Fault]proxy.Faults{
		conformance.LostAnswers:   {Unanswered: 0.3},
		conformance.LostRequests:  {Lost: 0.3},
		conformance.Conflicts:     {Conflict: 0.4},
		conformance.BrokenWatches: {ResetWatches: 200 * time.Millisecond},
	}[fault])
}

func (s *stage) stop() error {
	var errs []error
	if s.process != nil {
		s.process.Stop(5 * time.Second)
	}
	if s.Proxy != nil {
		errs = append(errs, s.Proxy.Stop())
	}
	if s.Cluster != nil {
		errs = append(errs, s.Cluster.Stop())
	}
	if s.keepLogs != "" {
		if data, err := os.ReadFile(s.spec.LogPath); err == nil {
			errs = append(errs, os.WriteFile(filepath.Join(s.keepLogs, filepath.Base(s.spec.LogPath)), data, 0o600))
		}
	}
	return errors.Join(append(errs, os.RemoveAll(s.dir))...)
}
