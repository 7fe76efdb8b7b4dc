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

package localkube_test

import (
	"context"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/mycompany/pod-operator/internal/localkube"
)

func TestMain(m *testing.M) {
	if how := os.Getenv(victimEnv); how != "" {
		beVictim(how)
		return
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what should happen in a moment, on a
// machine that is busy with other tests.
const patience = time.Minute

// eventually asks until the answer is yes. The last error is what the test
// fails with.
func eventually(t *testing.T, what string, ask func(ctx context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		err := ask(ctx)
		if last == nil || ctx.Err() == nil {
			last = err // what came after the deadline says only that it passed
		}
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("%s: still not after %s: %v", what, patience, last)
	}
}

func clientFor(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

func adminOf(t *testing.T, c *localkube.Cluster) kubernetes.Interface {
	t.Helper()
	return clientFor(t, c.RESTConfig())
}
