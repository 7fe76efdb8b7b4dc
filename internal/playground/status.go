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
	"text/tabwriter"
	"time"

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
	version, err := health(ctx, l.kubeconfig())
	if err != nil {
		return fmt.Errorf("the API server is not well: %w", err)
	}
	fmt.Fprintf(out, "\nThe API server (Kubernetes %s) is healthy.\nKUBECONFIG=%s\n", version, l.kubeconfig())
	return nil
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

// health returns the API server's version when it says it is ready.
func health(ctx context.Context, kubeconfig string) (string, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return "", err
	}
	config.Timeout = healthTimeout
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return "", err
	}
	if err := clients.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
		return "", err
	}
	version, err := clients.ServerVersion()
	if err != nil {
		return "", err
	}
	return version.GitVersion, nil
}
