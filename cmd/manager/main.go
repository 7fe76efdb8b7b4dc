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
//
// cmd/main.go is a link to this file: there kubebuilder create api and create
// webhook insert code before the scaffold comments. That code uses the names
// scheme, mgr and setupLog.
package main

import (
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/version"
	// +kubebuilder:scaffold:imports
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
	setupLog := ctrl.Log.WithName("setup")

	manager.LimitMemory()
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find a cluster: %w (set KUBECONFIG or --kubeconfig, or run in a pod)", err)
	}
	ctx := ctrl.SetupSignalHandler()
	options.Scheme = newScheme()
	mgr, err := manager.New(ctx, config, options)
	if err != nil {
		return err
	}
	// A controller that is added here needs its CRD from the start, runs whatever
	// --controllers says, and with --shards runs on all replicas at once. Those in
	// internal/manager/controllers.go do not.
	// +kubebuilder:scaffold:builder

	setupLog.Info("Starting the operator", "version", version.String())
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the manager: %w", err)
	}
	return nil
}

// newScheme has the operator's types and those of kinds that were added.
func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(manager.AddToScheme(scheme))
	// +kubebuilder:scaffold:scheme
	return scheme
}
