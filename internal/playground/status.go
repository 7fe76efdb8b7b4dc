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
	"slices"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/mycompany/pod-operator/internal/localkube"
)

// errNotUp ends "status" with an exit code that scripts can ask for.
var errNotUp = errors.New("the playground is not up")

const healthTimeout = 3 * time.Second

// status shows the processes and asks the API server how it is.
func status(ctx context.Context, l layout, out io.Writer, now time.Time) error {
	s, err := readState(l)
	if err != nil {
		return err
	}
	switch {
	case s == nil:
		return fmt.Errorf(`%w; "bin/playground up" starts it`, errNotUp)
	case !s.Supervisor.alive():
		return fmt.Errorf(`%w: an earlier run (process %d) was killed; "bin/playground up" continues with its data`, errNotUp, s.Supervisor.PID)
	case s.Ready.IsZero():
		fmt.Fprintln(out, "The playground is starting.")
	}
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "NAME\tPID\tPORT\tUPTIME\tCPU\tMEMORY")
	for _, p := range append([]process{s.Supervisor}, s.Processes...) {
		fmt.Fprintln(w, row(p, now))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if s.Ready.IsZero() {
		return nil
	}
	clients, err := connect(l.kubeconfig())
	if err != nil {
		return err
	}
	version, err := health(ctx, clients)
	if err != nil {
		return fmt.Errorf("the API server is not well: %w", err)
	}
	fmt.Fprintf(out, "\nThe API server (Kubernetes %s) is healthy.\nKUBECONFIG=%s\n", version, l.kubeconfig())
	if slices.ContainsFunc(s.Processes, func(p process) bool { return p.Name == operatorName }) {
		fmt.Fprintf(out, "The operator's log is %s\n", l.operatorLog())
	}
	return showWaiting(ctx, clients, out)
}

// showWaiting says why pods wait for a node: mostly, the nodes are full.
func showWaiting(ctx context.Context, clients kubernetes.Interface, out io.Writer) error {
	nodes, err := clients.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the nodes: %w", err)
	}
	pods, err := clients.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "status.phase!=Succeeded,status.phase!=Failed"})
	if err != nil {
		return fmt.Errorf("list the pods: %w", err)
	}
	if why := waiting(nodes.Items, pods.Items); why != "" {
		fmt.Fprintf(out, "\n%s\n", why)
	}
	return nil
}

// waiting is about the pods for which the scheduler finds no node; empty where there
// are none. pods are those that have not ended.
func waiting(nodes []corev1.Node, pods []corev1.Pod) string {
	n, why := 0, ""
	for i := range pods {
		for _, c := range pods[i].Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonUnschedulable {
				n, why = n+1, c.Message
			}
		}
	}
	if n == 0 {
		return ""
	}
	room, most := 0, 0
	for i := range nodes {
		takes := int(nodes[i].Status.Allocatable.Pods().Value())
		room, most = room+takes, max(most, takes)
	}
	if len(pods) <= room || most == 0 {
		return fmt.Sprintf("Pods without a node: %d. The scheduler says: %s", n, why)
	}
	needed := (len(pods) + most - 1) / most
	return fmt.Sprintf("Pods without a node: %d. %d nodes take %d pods each. For more nodes: make down, then make up ARGS=--nodes=%d",
		n, len(nodes), most, needed)
}

func row(p process, now time.Time) string {
	port := "-"
	if p.Port != 0 {
		port = fmt.Sprint(p.Port)
	}
	if !p.alive() {
		return fmt.Sprintf("%s\t%d\t%s\tgone\t-\t-", p.Name, p.PID, port)
	}
	cpu, memory := "?", "?"
	if usage, err := localkube.ProcessUsage(p.PID); err == nil {
		cpu = fmt.Sprintf("%.1fs", usage.CPU.Seconds())
		memory = fmt.Sprintf("%dMi", usage.RSS>>20)
	}
	return fmt.Sprintf("%s\t%d\t%s\t%s\t%s\t%s", p.Name, p.PID, port, now.Sub(p.Started).Round(time.Second), cpu, memory)
}

func connect(kubeconfig string) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Timeout = healthTimeout
	return kubernetes.NewForConfig(config)
}

// health returns the API server's version when it says it is ready.
func health(ctx context.Context, clients *kubernetes.Clientset) (string, error) {
	if err := clients.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return "", err
	}
	version, err := clients.ServerVersion()
	if err != nil {
		return "", err
	}
	return version.GitVersion, nil
}
