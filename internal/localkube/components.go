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
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	serviceIPRange      = "10.96.0.0/16"
	kubernetesServiceIP = "10.96.0.1"

	// Far above what the components need, so that they do not throttle themselves.
	clientQPS   = "1000"
	clientBurst = "2000"
)

func (c *Cluster) choosePorts() error {
	free := newPorts()
	if c.opts.Port != 0 {
		if err := free.claim(c.opts.Port); err != nil {
			return err
		}
		c.ports[APIServer] = c.opts.Port
	}
	for _, component := range c.opts.Components {
		if c.ports[component] != 0 {
			continue
		}
		port, err := free.next()
		if err != nil {
			return err
		}
		c.ports[component] = port
	}
	var err error
	c.peerPort, err = free.next()
	return err
}

func (c *Cluster) pkiDir() string { return filepath.Join(c.opts.Dir, "pki") }

func (c *Cluster) pki(name string) string { return filepath.Join(c.pkiDir(), name) }

// writePKI writes all keys and certificates, and the administrator's kubeconfig.
func (c *Cluster) writePKI() error {
	ca, err := loadOrCreateAuthority(c.pkiDir())
	if err != nil {
		return err
	}
	c.ca = ca
	serving, err := ca.serving()
	if err != nil {
		return err
	}
	if err := writePair(c.pki("serving.crt"), c.pki("serving.key"), serving); err != nil {
		return err
	}
	// The API server is a client of etcd and of the kubelets that kwok plays.
	apiserver, err := ca.client("kube-apiserver", []string{mastersGroup})
	if err != nil {
		return err
	}
	if err := writePair(c.pki("apiserver-client.crt"), c.pki("apiserver-client.key"), apiserver); err != nil {
		return err
	}
	if err := ensureServiceAccountKey(c.pki("service-account.key")); err != nil {
		return err
	}
	c.admin, err = c.configFor(adminUser, []string{mastersGroup})
	if err != nil {
		return err
	}
	return c.WriteKubeconfig(c.KubeconfigPath(), c.admin)
}

// arguments writes the component's files and returns its command line.
func (c *Cluster) arguments(component Component) ([]string, error) {
	switch component {
	case Etcd:
		return c.etcdArguments(), nil
	case APIServer:
		return c.apiServerArguments()
	case ControllerManager:
		return c.controllerManagerArguments()
	case Scheduler:
		return c.schedulerArguments()
	default:
		return c.kwokArguments()
	}
}

func (c *Cluster) etcdArguments() []string {
	client, peer := httpsURL(c.port(Etcd)), httpsURL(c.peerPort)
	args := []string{
		"--name=default",
		"--data-dir=" + filepath.Join(c.opts.Dir, "etcd"),
		"--listen-client-urls=" + client,
		"--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer,
		"--initial-advertise-peer-urls=" + peer,
		"--initial-cluster=default=" + peer,
		"--cert-file=" + c.pki("serving.crt"),
		"--key-file=" + c.pki("serving.key"),
		"--trusted-ca-file=" + c.pki("ca.crt"),
		"--client-cert-auth",
		"--peer-cert-file=" + c.pki("serving.crt"),
		"--peer-key-file=" + c.pki("serving.key"),
		"--peer-trusted-ca-file=" + c.pki("ca.crt"),
		"--peer-client-cert-auth",
		// The data survives the end of the process, which is what we restart
		// after; it need not survive a power cut.
		"--unsafe-no-fsync",
		"--quota-backend-bytes=" + strconv.Itoa(8<<30),
		"--log-level=warn",
	}
	return append(args, c.opts.EtcdArgs...)
}

func (c *Cluster) apiServerArguments() ([]string, error) {
	args := []string{
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.port(APIServer)),
		"--tls-cert-file=" + c.pki("serving.crt"),
		"--tls-private-key-file=" + c.pki("serving.key"),
		"--client-ca-file=" + c.pki("ca.crt"),
		"--etcd-servers=" + httpsURL(c.port(Etcd)),
		"--etcd-cafile=" + c.pki("ca.crt"),
		"--etcd-certfile=" + c.pki("apiserver-client.crt"),
		"--etcd-keyfile=" + c.pki("apiserver-client.key"),
		"--kubelet-client-certificate=" + c.pki("apiserver-client.crt"),
		"--kubelet-client-key=" + c.pki("apiserver-client.key"),
		// kwok answers for all nodes on localhost; their InternalIPs are made up.
		"--kubelet-preferred-address-types=InternalDNS",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + c.pki("service-account.key"),
		"--service-account-signing-key-file=" + c.pki("service-account.key"),
		"--service-cluster-ip-range=" + serviceIPRange,
		// An endpoint on 127.0.0.1 is not valid, and nothing here would use it.
		"--endpoint-reconciler-type=none",
		"--allow-privileged=true",
	}
	// Modes that are given twice are added up, and those in a file exclude the flag.
	if !slices.ContainsFunc(c.opts.APIServerArgs, func(arg string) bool { return strings.HasPrefix(arg, "--authorization-") }) {
		args = append(args, "--authorization-mode=Node,RBAC")
	}
	if !c.opts.has(ControllerManager) {
		args = append(args, "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition")
	}
	if c.opts.Audit.enabled() {
		policy := filepath.Join(c.opts.Dir, "audit-policy.yaml")
		if err := os.WriteFile(policy, []byte(c.opts.Audit.policy()), 0o600); err != nil {
			return nil, err
		}
		args = append(args, "--audit-policy-file="+policy, "--audit-log-path="+c.AuditLogPath(), "--audit-log-maxsize=0")
	}
	if len(c.opts.RuntimeConfig) > 0 {
		args = append(args, "--runtime-config="+joinMap(c.opts.RuntimeConfig))
	}
	return append(append(args, c.featureGates()...), c.opts.APIServerArgs...), nil
}

func (c *Cluster) controllerManagerArguments() ([]string, error) {
	kubeconfig, err := c.componentKubeconfig(ControllerManager, "system:kube-controller-manager")
	if err != nil {
		return nil, err
	}
	args := append(c.servingArguments(ControllerManager, kubeconfig),
		"--leader-elect=false",
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+c.pki("service-account.key"),
		"--root-ca-file="+c.pki("ca.crt"),
		"--cluster-signing-cert-file="+c.pki("ca.crt"),
		"--cluster-signing-key-file="+c.pki("ca.key"),
		"--kube-api-qps="+clientQPS,
		"--kube-api-burst="+clientBurst,
	)
	return append(append(args, c.featureGates()...), c.opts.ControllerManagerArgs...), nil
}

func (c *Cluster) schedulerArguments() ([]string, error) {
	kubeconfig, err := c.componentKubeconfig(Scheduler, "system:kube-scheduler")
	if err != nil {
		return nil, err
	}
	config := filepath.Join(c.opts.Dir, "scheduler.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: %q, qps: %s, burst: %s}
`, kubeconfig, clientQPS, clientBurst), 0o600); err != nil {
		return nil, err
	}
	args := append(c.servingArguments(Scheduler, kubeconfig), "--config="+config)
	return append(append(args, c.featureGates()...), c.opts.SchedulerArgs...), nil
}

// servingArguments are common to the controller manager and the scheduler.
func (c *Cluster) servingArguments(component Component, kubeconfig string) []string {
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(c.port(component)),
		"--tls-cert-file=" + c.pki("serving.crt"),
		"--tls-private-key-file=" + c.pki("serving.key"),
	}
}

func (c *Cluster) featureGates() []string {
	if len(c.opts.FeatureGates) == 0 {
		return nil
	}
	return []string{"--feature-gates=" + joinMap(c.opts.FeatureGates)}
}

func joinMap[V any](m map[string]V) string {
	pairs := make([]string, 0, len(m))
	for k, v := range m {
		pairs = append(pairs, fmt.Sprintf("%s=%v", k, v))
	}
	slices.Sort(pairs)
	return strings.Join(pairs, ",")
}

// probeClient asks components for their health. It keeps no connection, so
// that none is left when a component is gone.
func (c *Cluster) probeClient() (*http.Client, error) {
	cert, err := tls.X509KeyPair(c.admin.CertData, c.admin.KeyData)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.ca.pem)
	return &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			TLSClientConfig:   &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
		},
	}, nil
}
