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

// Command manager is the operator.
package main

import (
	"errors"
	"fmt"
	"os"

	_ "k8s.io/client-go/plugin/pkg/client/auth"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/version"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func run() error {
	options, err := manager.ParseFlags(os.Args[1:], os.Stderr)
	if errors.Is(err, manager.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if options.ShowVersion {
		fmt.Println(version.String())
		return nil
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&options.Zap)))

	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find a cluster: %w (set KUBECONFIG or --kubeconfig, or run in a pod)", err)
	}
	ctx := ctrl.SetupSignalHandler()
	mgr, err := manager.New(ctx, config, options)
	if err != nil {
		return err
	}
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the manager: %w", err)
	}
	return nil
}
