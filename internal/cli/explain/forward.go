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

package explain

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

const (
	// lease is the operator's, whose holder leads.
	lease = "pod-operator.mycompany.com"
	// operatorPods selects the operator's pods, as config/ labels them.
	operatorPods = "control-plane=controller-manager,app.kubernetes.io/name=pod-operator"
	// portName is the name of the port, where one is declared.
	portName    = "explain"
	addressFlag = "--explain-bind-address"
)

// forward opens a port on this machine that leads to the operator that leads,
// as kubectl port-forward does. Any pod with the right labels may be at its
// other end: the certificate shows whether it is the operator.
func forward(ctx context.Context, config *rest.Config, namespace string) (address string, end func(), err error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", nil, err
	}
	pod, err := leader(ctx, clients, namespace)
	if err != nil {
		return "", nil, err
	}
	port, err := explainPort(pod)
	if err != nil {
		return "", nil, err
	}
	url := clients.CoreV1().RESTClient().Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return "", nil, err
	}
	dialer := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	sockets, err := portforward.NewSPDYOverWebsocketDialerForStreaming(url, config)
	if err != nil {
		return "", nil, err
	}
	dialer = portforward.NewFallbackDialerForStreaming(sockets, dialer, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	return run(ctx, dialer, pod, port)
}

// run forwards until end is called.
func run(ctx context.Context, dialer httpstream.Dialer, pod *corev1.Pod, port int32) (address string, end func(), err error) {
	ctx, end = context.WithCancel(ctx)
	ready, failed := make(chan struct{}), make(chan error, 1)
	complaints := &bytes.Buffer{}
	forwarder, err := portforward.NewOnAddressesForStreamingWithContext(ctx, dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, ready, io.Discard, complaints)
	if err != nil {
		end()
		return "", nil, err
	}
	go func() { failed <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-failed:
		end()
		return "", nil, fmt.Errorf("forward a port to the operator's pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	ports, err := forwarder.GetPorts()
	if err != nil || len(ports) == 0 {
		end()
		return "", nil, fmt.Errorf("forward a port to the operator's pod %s/%s: %w", pod.Namespace, pod.Name, errors.Join(err, errors.New("no port")))
	}
	return fmt.Sprintf("https://127.0.0.1:%d", ports[0].Local), end, nil
}

// leader finds the operator's pod that leads, or the only one: of several
// replicas only the leader has records.
func leader(ctx context.Context, clients kubernetes.Interface, namespace string) (*corev1.Pod, error) {
	pods, err := clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: operatorPods})
	if err != nil {
		return nil, fmt.Errorf("look for the operator's pod in namespace %s: %w", namespace, err)
	}
	running := slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool {
		return p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil
	})
	if len(running) == 0 {
		return nil, fmt.Errorf("no pod of the operator runs in namespace %s (--operator-namespace, --explain-url)", namespace)
	}
	if len(running) == 1 {
		return &running[0], nil
	}
	held, err := clients.CoordinationV1().Leases(namespace).Get(ctx, lease, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("find out which of the operator's pods leads: %w", err)
	}
	if err == nil && held.Spec.HolderIdentity != nil {
		for i := range running {
			if strings.HasPrefix(*held.Spec.HolderIdentity, running[i].Name+"_") {
				return &running[i], nil
			}
		}
	}
	return nil, fmt.Errorf("%d pods of the operator run in namespace %s, and the lease %s does not say which of them leads", len(running), namespace, lease)
}

// explainPort is the port on which the pod explains itself: the one that is
// declared, or the one of the flag.
func explainPort(pod *corev1.Pod) (int32, error) {
	for _, container := range pod.Spec.Containers {
		for _, port := range container.Ports {
			if port.Name == portName {
				return port.ContainerPort, nil
			}
		}
		args := slices.Concat(container.Command, container.Args)
		for i, arg := range args {
			value, found := strings.CutPrefix(arg, addressFlag+"=")
			if arg == addressFlag && i+1 < len(args) {
				value, found = args[i+1], true
			}
			if _, text, err := net.SplitHostPort(value); found && err == nil {
				var port int32
				if _, err := fmt.Sscan(text, &port); err == nil {
					return port, nil
				}
			}
		}
	}
	return 0, fmt.Errorf("the operator in pod %s runs without %s, so its records cannot be read", cmp.Or(pod.Name, "?"), addressFlag)
}
