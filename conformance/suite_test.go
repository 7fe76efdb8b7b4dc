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

package conformance_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mycompany/pod-operator/conformance"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// suite is a cluster on which PodManagers are kept by our operator, and ReplicaSets by a
// controller that does nearly everything wrong.
var suite *testkit.Suite

func TestMain(m *testing.M) {
	testkit.Main(m, &suite, testkit.Setup{Cluster: localkube.Options{
		ControllerManagerArgs: []string{"--controllers=*,-replicaset-controller"},
	}})
}

// TestPodManagerConforms judges the operator of this project.
func TestPodManagerConforms(t *testing.T) {
	report := judge(t, "podmanager", time.Minute)
	for _, failure := range report.Failures() {
		t.Errorf("%s: %s", failure.Name, failure.Reason)
	}
	if passed := report.Profiles[0].Statistics.Passed; passed < 15 {
		t.Errorf("%d behaviours passed: the suite did not run", passed)
	}
}

// TestABrokenControllerFails: a suite that cannot fail proves nothing.
func TestABrokenControllerFails(t *testing.T) {
	startBrokenController(t, suite)
	report := judge(t, "replicaset", 10*time.Second)
	for name, want := range map[string]string{
		"scale-exact":       "were needed",
		"foreign-untouched": "the pod foreign is not its own, and was deleted",
		"adopt-orphan":      "has no controller, though its labels match",
		"release":           "still has its controller",
		"kstatus-honest":    "kstatus said Current",
		"quota":             "kstatus said Current",
		"victims-not-ready": "is not deleted",
		"quiet":             "in which nothing changed",
		"scale-subresource": "",
		"status-counts":     "",
		"replace-deleted":   "",
		"replace-failed":    "is not replaced",
		"delete-background": "",
		"delete-orphan":     "",
		"terminating":       "",
	} {
		outcome, reason := report.Outcome(name)
		switch {
		case want == "" && outcome != conformance.Passed:
			t.Errorf("%s %s: %s; this the controller does rightly", name, outcome, reason)
		case want != "" && (outcome != conformance.Failed || !strings.Contains(reason, want)):
			t.Errorf("%s %s: %q, want a failure that says %q", name, outcome, reason, want)
		}
	}
}

func judge(t *testing.T, kind string, patience time.Duration) *conformance.Report {
	t.Helper()
	adapter, err := conformance.Load(kind)
	if err != nil {
		t.Fatal(err)
	}
	var progress bytes.Buffer
	report, err := conformance.Run(t.Context(), conformance.Options{
		Config: suite.Cluster.RESTConfig(), Adapter: adapter, Profiles: []conformance.Profile{conformance.Core},
		Patience: patience, Parallel: 12, Progress: &progress,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s\n%s", progress.String(), report)
	return report
}

func TestEveryShippedAdapterIsWhole(t *testing.T) {
	for _, name := range conformance.Shipped() {
		adapter, err := conformance.Load(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if adapter.Metadata.Name != name {
			t.Errorf("adapters/%s.yaml is called %s", name, adapter.Metadata.Name)
		}
	}
}

func TestAnAdapterNeedsReasons(t *testing.T) {
	whole, err := os.ReadFile("adapters/deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ old, new, want string }{
		"a capability that is missing needs a reason": {"  ordinals: names of pods are random\n", "", `it lacks "ordinals": give the reason`},
		"a reason is for something that exists":       {"ordinals:", "ordinal:", `names "ordinal", which is no behaviour`},
		"a field that is misspelled is no field":      {"podLabels:", "podLables:", `unknown field "podLables"`},
		"the number of pods has a place":              {"replicas: spec.replicas\n", "", "replicas is missing"},
		"pods have names of one kind":                 {"names: Random", "names: Mixed", `names is "Mixed"`},
		"an adapter is an adapter and nothing else":   {"kind: Adapter", "kind: Report", "not an Adapter"},
		"the reason may stand for a whole profile":    {"  in-place: a", "  rollout: none\n  in-place: a", ""},
		"the reason may stand for a single behaviour": {"  in-place: a", "  quota: none\n  in-place: a", ""},
		"a manager of others has a source": {
			"manager: {kubeControllers: [deployment-controller, replicaset-controller]}", "manager: {built: {args: [--quiet]}}", "needs a project and a module",
		},
		"a manager may be left to the user altogether": {"manager: {kubeControllers: [deployment-controller, replicaset-controller]}\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := conformance.Parse(bytes.Replace(whole, []byte(tc.old), []byte(tc.new), 1))
			if got := fmt.Sprint(err); tc.want == "" && err != nil || !strings.Contains(got, tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
