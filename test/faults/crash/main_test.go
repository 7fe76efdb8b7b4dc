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
// Concurrent writes of two cases could not be told apart, so each case has a
// namespace and an operator of its own.
package crash

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/test/faults/witness"
)

// How much is tried. make faults tries all.
var (
	plays     = flag.Int("scenarios", 6, "how many scenarios are played, drawn at random; 0 plays all")
	schedules = flag.Int("schedules", 4, "how many random schedules are played")
	points    = flag.Int("points", 16, "how many crash points are tried, drawn at random; 0 tries all")
	seedFlag  = flag.Uint64("seed", 1, "the seed of the draw; 0 takes one from the clock")
)

var (
	suite   *testkit.Suite
	watched *witness.Witness
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		*plays, *schedules, *points = 2, 1, 6
	}
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
		// Drawn fleets ask for cores, and many of them run at once.
		Nodes:         localkube.NodeOptions{CPU: "64"},
		APIServerArgs: []string{"--enable-admission-plugins=OwnerReferencesPermissionEnforcement"},
	})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, suite.Cluster.Stop()) }()
	scheme, err := manager.Scheme()
	if err != nil {
		return 1, err
	}
	if watched, err = witness.New(ctx, suite.Cluster.RESTConfig(), scheme); err != nil {
		return 1, err
	}
	code = m.Run()
	// Every operator has ended by now, and with the cluster every connection
	// ends: what still runs was leaked (rule R).
	cancel()
	if err := suite.Cluster.Stop(); err != nil {
		return 1, err
	}
	if err := findLeaks(); code == 0 && err != nil {
		return 1, fmt.Errorf("R: %w", err)
	}
	if code != 0 {
		fmt.Fprintln(os.Stderr, "the operators' log:", logFile.Name())
		return code, nil
	}
	return code, os.Remove(logFile.Name())
}

// findLeaks looks for goroutines that do not end. What is on its way out gets
// the time that a slow machine needs: goleak alone waits for a second or two.
func findLeaks() error {
	// controller-runtime watches metadata through watch.Filter, which never ends
	// when its last event is not received. It is lost with its cache, once a life.
	known := goleak.IgnoreTopFunction("k8s.io/apimachinery/pkg/watch.(*filteredWatch).loop")
	end := time.Now().Add(testkit.Patience)
	err := goleak.Find(known)
	for err != nil && time.Now().Before(end) {
		err = goleak.Find(known)
	}
	return err
}
