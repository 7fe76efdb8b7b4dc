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

// Package demo is what every example begins with: it finds the cluster, makes
// a namespace of its own for the example, and takes it away at the end, so that
// examples can run again, and beside each other.
package demo

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	rawzap "go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// patience bounds an example. What takes a second takes longer on a busy machine.
const patience = 2 * time.Minute

// Main runs an example on the cluster that $KUBECONFIG names, or else on the
// playground. With -v=1 the manager tells what it does; otherwise only what
// failed, without what the loggers in expected say.
func Main(run func(ctx context.Context, cfg *rest.Config, namespace string) error, expected ...string) {
	Alone(func(ctx context.Context) error { return inNamespace(ctx, run) }, expected...)
}

// Alone is Main for an example that starts a control plane of its own.
func Alone(run func(ctx context.Context) error, expected ...string) {
	begin(func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return run(ctx)
	}, expected...)
}

// UntilStopped is Main for an example that runs until Ctrl-C.
func UntilStopped(run func(ctx context.Context, cfg *rest.Config, namespace string) error) {
	begin(func(ctx context.Context) error { return inNamespace(ctx, run) })
}

func begin(run func(ctx context.Context) error, expected ...string) {
	klog.InitFlags(nil)
	flag.Parse()
	level := zapcore.ErrorLevel
	if klog.V(1).Enabled() {
		level, expected = zapcore.InfoLevel, nil
	}
	without := rawzap.WrapCore(func(core zapcore.Core) zapcore.Core { return quiet{core, expected} })
	ctrl.SetLogger(zap.New(zap.UseDevMode(true), zap.Level(level), zap.StacktraceLevel(zapcore.DPanicLevel), zap.RawZapOpts(without)))
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// quiet leaves out what some loggers say.
type quiet struct {
	zapcore.Core
	loggers []string
}

// With implements zapcore.Core.
func (q quiet) With(fields []zapcore.Field) zapcore.Core {
	return quiet{q.Core.With(fields), q.loggers}
}

// Check implements zapcore.Core.
func (q quiet) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if slices.Contains(q.loggers, entry.LoggerName) {
		return checked
	}
	return q.Core.Check(entry, checked)
}

func inNamespace(ctx context.Context, run func(context.Context, *rest.Config, string) error) (err error) {
	cfg, err := Config()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	namespace, err := client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "demo-"}}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("make a namespace: %w", err)
	}
	defer func() {
		err = errors.Join(err, client.CoreV1().Namespaces().Delete(context.WithoutCancel(ctx), namespace.Name, metav1.DeleteOptions{}))
	}()
	// Pods need the default ServiceAccount, which the controller manager makes.
	if err := Until(ctx, func(ctx context.Context) (bool, error) {
		_, err := client.CoreV1().ServiceAccounts(namespace.Name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, nil
	}); err != nil {
		return fmt.Errorf("namespace %s has no ServiceAccount: %w", namespace.Name, err)
	}
	return run(ctx, cfg, namespace.Name)
}

// Config logs in with $KUBECONFIG, or else with the playground's kubeconfig,
// which is looked for in this folder and those above.
func Config() (*rest.Config, error) {
	path := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	if path == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		for {
			path = filepath.Join(dir, ".playground", "kubeconfig")
			if _, err := os.Stat(path); err == nil {
				break
			}
			if dir == filepath.Dir(dir) {
				return nil, errors.New("no cluster: set KUBECONFIG, or start the playground with make up")
			}
			dir = filepath.Dir(dir)
		}
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	cfg.QPS = -1 // the API server's own fairness is limit enough
	return cfg, nil
}

// Until waits until the condition holds, or the context ends.
func Until(ctx context.Context, condition func(context.Context) (bool, error)) error {
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, condition)
}
