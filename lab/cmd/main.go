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

// Command cmd is make lab: it starts a control plane on this machine, a small operator and the
// page that shows its machinery.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/lab"
	"github.com/mycompany/pod-operator/lab/operator"
)

const namespace = "lab"

func main() {
	address := flag.String("address", "127.0.0.1:0", "where the page is served; a loopback address")
	flag.Parse()
	// What the operator does is on the page; a crash that a button asked for is no news here.
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *address); err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, address string) (err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintln(os.Stdout, "starting a control plane: a few seconds")
	cluster, err := localkube.Start(ctx, localkube.Options{OnAPIReady: operator.Install(namespace)})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	if err := operator.Await(ctx, cluster.RESTConfig(), namespace); err != nil {
		return err
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	show, err := operator.NewShow(cluster.RESTConfig(), namespace, lab.Options{Root: root, Kubeconfig: cluster.KubeconfigPath()})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() { cancel(show.Lab.Serve(ctx, listener)) }()
	go func() {
		select {
		case died := <-cluster.Died():
			cancel(died)
		case <-ctx.Done():
		}
	}()
	fmt.Fprintf(os.Stdout, "\nThe lab is open:  %s\n\nIn another terminal:\n\n  export KUBECONFIG=%s\n  bin/kubectl -n %s get webs,pods\n\nCtrl-C ends it.\n",
		show.Lab.Link(listener), cluster.KubeconfigPath(), namespace)
	return errors.Join(show.Run(ctx), context.Cause(ctx))
}
