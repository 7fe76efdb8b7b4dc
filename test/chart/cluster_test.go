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

package chart

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/localkube/kubetest"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// cluster is a real control plane on which releases live.
//
// kwok plays the kubelet, so the Deployment's pods are there and ready but run
// nothing. The operator runs as processes beside them: as many as the Deployment
// has replicas, with the Deployment's flags, logged in as its ServiceAccount.
// What differs is where they listen, because they share one machine, and where
// they learn the namespace of their Leases, which in a pod is a file. The API
// server calls the webhooks through their Service as it would anywhere, but
// through a proxy that brings such calls to those processes.
type cluster struct {
	*testing.T
	kube   *localkube.Cluster
	client client.Client
	helm   *helm
	binary string

	mu        sync.Mutex
	operators []*operator
	called    int
}

// operator is one process.
type operator struct {
	cmd     *exec.Cmd
	options manager.Options
	done    chan error
	log     string
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	dir, err := os.MkdirTemp("", "chart") //nolint:usetesting // t.TempDir is too long a name for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	c := &cluster{T: t, binary: filepath.Join(dir, "manager")}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", c.binary, "./cmd/manager")
	build.Dir = testkit.Root()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the operator: %v\n%s", err, out)
	}
	socket, config := filepath.Join(dir, "proxy"), filepath.Join(dir, "egress.yaml")
	c.serveProxy(socket)
	egress := "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n" +
		"- name: cluster\n  connection: {proxyProtocol: HTTPConnect, transport: {uds: {udsName: " + socket + "}}}\n"
	if err := os.WriteFile(config, []byte(egress), 0o600); err != nil {
		t.Fatal(err)
	}
	c.kube = kubetest.Start(t, localkube.Options{APIServerArgs: []string{"--egress-selector-config-file=" + config}})
	if c.client, err = testkit.NewClient(c.kube.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	c.helm = newHelm(t, c.kube.KubeconfigPath())
	return c
}

// serveProxy answers the API server's CONNECT requests.
func (c *cluster) serveProxy(socket string) {
	c.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go c.proxy(conn)
		}
	}()
}

func (c *cluster) proxy(conn net.Conn) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	if _, err := http.ReadRequest(reader); err != nil {
		return
	}
	to, err := net.Dial("tcp", c.next())
	if err != nil {
		_, _ = io.WriteString(conn, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
		return
	}
	defer to.Close()
	_, _ = io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() { _, _ = io.Copy(to, reader) }()
	_, _ = io.Copy(conn, to)
}

// next is the webhook address of one operator after the other.
func (c *cluster) next() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.operators) == 0 {
		return "none"
	}
	c.called++
	return c.operators[c.called%len(c.operators)].options.Webhooks.Address
}

func (c *cluster) kubectl(args ...string) string {
	c.Helper()
	cmd := exec.CommandContext(c.Context(), filepath.Join(testkit.Root(), "bin", "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.kube.KubeconfigPath(), "HOME="+c.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// rollOut has the processes follow the Deployment, as its rolling update would:
// new ones come first, then the old ones end.
func (c *cluster) rollOut(namespace, name string) {
	c.Helper()
	var deployment kappsv1.Deployment
	if err := c.client.Get(c.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &deployment); err != nil {
		c.Fatal(err)
	}
	c.mu.Lock()
	old := slices.Clone(c.operators)
	c.mu.Unlock()
	for range *deployment.Spec.Replicas {
		o := c.start(&deployment)
		c.mu.Lock()
		c.operators = append(c.operators, o)
		c.mu.Unlock()
	}
	for _, o := range old {
		c.stop(o)
		// helm took away the rights that the new ones do not need before the old
		// ones ended; what these still had to do they must have been able to. The
		// Leases of shards end by themselves.
		text, err := os.ReadFile(o.log)
		if err != nil {
			c.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			ends := strings.Contains(line, "leases.coordination.k8s.io") && !strings.Contains(line, `\"pod-operator.mycompany.com\"`)
			if strings.Contains(line, "is forbidden: User ") && !ends {
				c.Errorf("an operator that was replaced lacked a right: %s", line)
			}
		}
	}
}

// stopAll ends the processes, as deleting the Deployment would.
func (c *cluster) stopAll() {
	c.Helper()
	for _, o := range slices.Clone(c.operators) {
		c.stop(o)
	}
}

func (c *cluster) start(deployment *kappsv1.Deployment) *operator {
	c.Helper()
	template := deployment.Spec.Template.Spec
	login, err := c.kube.RESTConfigForServiceAccount(c.Context(), deployment.Namespace, template.ServiceAccountName, 7200)
	if err != nil {
		c.Fatal(err)
	}
	kubeconfig := filepath.Join(c.TempDir(), "kubeconfig")
	if err := c.kube.WriteKubeconfig(kubeconfig, login); err != nil {
		c.Fatal(err)
	}
	args := slices.Clone(template.Containers[0].Args)
	for i, arg := range args {
		if flag, address, _ := strings.Cut(arg, "="); strings.HasSuffix(flag, "-bind-address") && address != "0" {
			free, err := testkit.FreeAddress()
			if err != nil {
				c.Fatal(err)
			}
			args[i] = flag + "=" + free
		}
	}
	args = append(args, "--kubeconfig="+kubeconfig, "--leader-election-namespace="+deployment.Namespace)
	o := &operator{done: make(chan error, 1)}
	if o.options, err = parse(slices.DeleteFunc(slices.Clone(args), isKubeconfig)); err != nil {
		c.Fatalf("the operator refuses the Deployment's flags: %v", err)
	}
	log, err := os.Create(filepath.Join(c.TempDir(), "log"))
	if err != nil {
		c.Fatal(err)
	}
	o.log = log.Name()
	o.cmd = exec.Command(c.binary, args...)
	o.cmd.Stdout, o.cmd.Stderr = log, log
	if err := o.cmd.Start(); err != nil {
		c.Fatal(err)
	}
	go func() {
		o.done <- o.cmd.Wait()
		_ = log.Close()
	}()
	c.Cleanup(func() {
		_ = o.cmd.Process.Kill()
		if text, err := os.ReadFile(o.log); err == nil && c.Failed() {
			c.Logf("the operator %v said:\n%s", args, text[max(0, len(text)-3000):])
		}
	})
	if err := testkit.WaitServing(c.Context(), o.options); err != nil {
		c.Fatalf("the operator does not become ready: %v", err)
	}
	return o
}

// isKubeconfig: the flag is registered by a library, into a variable of its own.
func isKubeconfig(arg string) bool { return strings.HasPrefix(arg, "--kubeconfig=") }

func (c *cluster) stop(o *operator) {
	c.Helper()
	c.mu.Lock()
	c.operators = slices.DeleteFunc(c.operators, func(other *operator) bool { return other == o })
	c.mu.Unlock()
	if err := o.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		c.Fatal(err)
	}
	testkit.Eventually(c, "the operator ends", func() error {
		select {
		case err := <-o.done:
			if err != nil {
				c.Errorf("the operator does not end well: %v", err)
			}
			return nil
		default:
			return fmt.Errorf("it runs")
		}
	})
}

// scrape reads an operator's metrics as a user who may, and verifies it as the
// ServiceMonitor does.
func (c *cluster) scrape(o *operator, token string) (string, error) {
	request, err := http.NewRequestWithContext(c.Context(), http.MethodGet, "https://"+o.options.MetricsAddress+"/metrics", nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	namespace, roots := o.options.LeaderElectionNamespace, x509.NewCertPool()
	published := c.kubectl("-n", namespace, "get", "configmap", o.options.Certificate.ConfigMap, "-o", `jsonpath={.data.ca\.crt}`)
	if !roots.AppendCertsFromPEM([]byte(published)) {
		return "", errors.New("the operator has published no CA")
	}
	verifying := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		RootCAs: roots, ServerName: o.options.Certificate.MetricsService + "." + namespace + ".svc", MinVersion: tls.VersionTLS12,
	}}}
	response, err := verifying.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("answered %d: %s", response.StatusCode, body)
	}
	return string(body), err
}
