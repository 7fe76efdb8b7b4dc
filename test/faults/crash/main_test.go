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

// Package crash runs the operator in this process on a real API server and
// breaks it at every write: it crashes before the write is sent, after it was
// done but not answered, and after the answer; its watches get stuck; an event
// is hidden from it until the one that cancels it. Each scenario is first
// played without faults, to learn how it ends and how many writes it takes;
// then once for each write and fault. Watches of our own, straight on the API
// server, feed the oracles.
//
// Two writes at the same time would tell an operator's mistake from nobody's,
// so each case has a namespace and an operator of its own.
package crash

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/faults/oracle"
)

// How much is tried. make faults tries all.
var (
	plays    = flag.Int("scenarios", 6, "how many scenarios are played, drawn at random; 0 plays all")
	points   = flag.Int("points", 24, "how many crash points are tried, drawn at random; 0 tries all")
	seedFlag = flag.Uint64("seed", 0, "the seed of the draw; 0 takes one from the clock")
)

var (
	suite   *testkit.Suite
	witness *watcher
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "crash:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	logFile, err := os.CreateTemp("", "crash-*.log")
	if err != nil {
		return 1, err
	}
	defer logFile.Close()
	ctrl.SetLogger(zap.New(zap.WriteTo(logFile), zap.UseDevMode(true)))
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	suite, err = testkit.NewSuite(ctx, localkube.Options{
		APIServerArgs: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
	})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, suite.Cluster.Stop()) }()
	if witness, err = newWatcher(ctx); err != nil {
		return 1, err
	}
	code = m.Run()
	if code != 0 {
		fmt.Fprintln(os.Stderr, "the operators' log:", logFile.Name())
		return code, nil
	}
	return code, os.Remove(logFile.Name())
}

// watcher sees every version of everything, straight from the API server.
type watcher struct {
	mu      sync.Mutex
	history map[string][]oracle.Revision // by namespace
}

func newWatcher(ctx context.Context) (*watcher, error) {
	scheme, err := manager.Scheme()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(suite.Cluster.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	w := &watcher{history: map[string][]oracle.Revision{}}
	for _, list := range []client.ObjectList{&corev1.PodList{}, &appsv1.PodManagerList{}, &kappsv1.ControllerRevisionList{}} {
		events, err := c.Watch(ctx, list)
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", list, err)
		}
		go w.listen(events)
	}
	return w, nil
}

func (w *watcher) listen(events watch.Interface) {
	for e := range events.ResultChan() {
		obj, ok := e.Object.(client.Object)
		if !ok {
			continue
		}
		version, err := strconv.ParseInt(obj.GetResourceVersion(), 10, 64)
		if err != nil {
			continue
		}
		w.mu.Lock()
		w.history[obj.GetNamespace()] = append(w.history[obj.GetNamespace()], oracle.Revision{
			Version: version, Object: obj, Gone: e.Type == watch.Deleted,
		})
		w.mu.Unlock()
	}
}

// objects are everything of a namespace that the oracles look at.
func objects(ctx context.Context, namespace string) ([]client.Object, error) {
	var all []client.Object
	var pods corev1.PodList
	var owners appsv1.PodManagerList
	var revisions kappsv1.ControllerRevisionList
	for _, list := range []client.ObjectList{&pods, &owners, &revisions} {
		if err := suite.Client.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, err
		}
	}
	for i := range pods.Items {
		all = append(all, &pods.Items[i])
	}
	for i := range owners.Items {
		all = append(all, &owners.Items[i])
	}
	for i := range revisions.Items {
		all = append(all, &revisions.Items[i])
	}
	return all, nil
}
