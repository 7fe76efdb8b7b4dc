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

package integration

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestBadFlagsEndWithASentence, not with a stack and not with all the flags.
func TestBadFlagsEndWithASentence(t *testing.T) {
	t.Parallel()
	path := suite.Program(t)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"an unknown flag":      {[]string{"--nonsense"}, "manager: flag provided but not defined: -nonsense; see --help\n"},
		"no worker":            {[]string{"--max-concurrent-reconciles=0"}, "manager: --max-concurrent-reconciles is 0: it must be at least 1\n"},
		"a word too many":      {[]string{"start"}, "manager: \"start\" is not a flag: the manager takes flags only, see --help\n"},
		"a kubeconfig missing": {[]string{"--kubeconfig=/does/not/exist"}, "manager: find a cluster: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.CommandContext(t.Context(), path, test.args...).CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 1 {
				t.Errorf("it ends with %v", err)
			}
			if text := string(out); !strings.HasPrefix(text, test.want) || strings.Count(text, "\n") != 1 {
				t.Errorf("it says\n%s\nwant\n%s", text, test.want)
			}
		})
	}
	out, err := exec.CommandContext(t.Context(), path, "--help").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "-leader-elect") {
		t.Errorf("--help ends with %v and says\n%s", err, out)
	}
}

// TestProgram runs the operator as a program on an API server with nothing
// behind it: pods are stored and stay as they are. The server does not know how
// to stream a list, so clients have to ask for one, as they do with an older
// Kubernetes.
func TestProgram(t *testing.T) {
	t.Parallel()
	options := clusterOptions()
	options.Components = localkube.APIOnly()
	options.FeatureGates = map[string]bool{"WatchList": false}
	s := newCluster(t, options)
	login, err := s.OperatorConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("it is ready only when its caches are synced", func(t *testing.T) { testReadiness(t, s) })
	t.Run("it keeps to the namespaces it was told", func(t *testing.T) { testNamespaces(t, s, login) })
	t.Run("one of two leads, and gives the lead away", func(t *testing.T) { testLeadership(t, s, login) })
}

// testReadiness starts an operator that may read nothing, so that its caches
// cannot sync until it may.
func testReadiness(t *testing.T, s *testkit.Suite) {
	login, err := s.Cluster.RESTConfigFor("newcomer")
	if err != nil {
		t.Fatal(err)
	}
	p := startManager(t, s, login)
	testkit.Eventually(t, "the operator is alive", func() error {
		code, _, err := probe(t, p.probes, "/healthz")
		if err == nil && code != http.StatusOK {
			err = fmt.Errorf("/healthz answers %d", code)
		}
		return err
	})
	// It has asked and was denied, and says that it is not ready.
	testkit.Eventually(t, "the operator was denied", func() error {
		if !strings.Contains(p.output.String(), "newcomer") {
			return errors.New("its log does not say so")
		}
		return nil
	})
	if code, body, err := probe(t, p.probes, "/readyz"); err != nil || code == http.StatusOK {
		t.Errorf("/readyz answers %d, %v, before the caches are synced: %s", code, err, body)
	}
	s.Kubectl(t, "create", "clusterrolebinding", "newcomer", "--clusterrole=pod-operator-manager-role", "--user=newcomer")
	p.expectServing(t)
	p.terminate(t)
}

// makeNamespace makes a namespace on a cluster without controllers.
func makeNamespace(t *testing.T, s *testkit.Suite, name string) {
	t.Helper()
	if err := s.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
}

func countPods(t *testing.T, s *testkit.Suite, namespace string) int {
	t.Helper()
	var pods corev1.PodList
	if err := s.Client.List(t.Context(), &pods, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	return len(pods.Items)
}

func expectPodCount(t *testing.T, s *testkit.Suite, namespace string, n int) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("there are %d pods in %s", n, namespace), func() error {
		if got := countPods(t, s, namespace); got != n {
			return fmt.Errorf("there are %d", got)
		}
		return nil
	})
}

func testNamespaces(t *testing.T, s *testkit.Suite, login *rest.Config) {
	for _, name := range []string{"elsewhere", "here", "there"} {
		makeNamespace(t, s, name)
	}
	mark, err := s.Cluster.AuditMark()
	if err != nil {
		t.Fatal(err)
	}
	p := startManager(t, s, login, "--namespaces=here,there", "--controllers=podmanager")
	p.expectServing(t)
	for _, name := range []string{"elsewhere", "here", "there"} {
		if err := s.Client.Create(t.Context(), testkit.MakePodManager(name, "web").Replicas(2).Obj()); err != nil {
			t.Fatal(err)
		}
	}
	expectPodCount(t, s, "here", 2)
	expectPodCount(t, s, "there", 2)
	p.terminate(t)

	ignored := &appsv1.PodManager{}
	if err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: "elsewhere", Name: "web"}, ignored); err != nil {
		t.Fatal(err)
	}
	if countPods(t, s, "elsewhere") != 0 || len(ignored.Finalizers) > 0 || ignored.Status.ObservedGeneration != -1 {
		t.Errorf("the operator worked elsewhere, too: %+v", ignored)
	}
	events, err := s.Cluster.AuditEvents(mark)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		e := &events[i]
		if !byOperator(e) {
			continue
		}
		namespaced := e.ObjectRef.Resource == "pods" || e.ObjectRef.Resource == "podmanagers" || e.ObjectRef.Resource == "controllerrevisions"
		if e.ObjectRef.Namespace == "elsewhere" || namespaced && e.ObjectRef.Namespace == "" {
			t.Errorf("the operator asked for %s %s", e.Verb, e.RequestURI)
		}
	}
}

// leaseHolder is who leads; empty means that the lead is free.
func leaseHolder(t *testing.T, s *testkit.Suite) string {
	t.Helper()
	lease := &coordinationv1.Lease{}
	err := s.Client.Get(t.Context(), client.ObjectKey{Namespace: testkit.OperatorNamespace, Name: "pod-operator.mycompany.com"}, lease)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

func testLeadership(t *testing.T, s *testkit.Suite, login *rest.Config) {
	const fleet = 400
	makeNamespace(t, s, "large")
	leads := func(p *process) error {
		if !strings.Contains(p.output.String(), "Successfully acquired lease") {
			return errors.New("it does not lead")
		}
		return nil
	}
	first := startManager(t, s, login, "--leader-elect", "--namespaces=large", "--controllers=podmanager")
	testkit.Eventually(t, "the first leads", func() error { return leads(first) })
	holder := leaseHolder(t, s)
	second := startManager(t, s, login, "--leader-elect", "--namespaces=large", "--controllers=podmanager")
	second.expectServing(t) // its caches are warm, and that is all it does
	if leads(second) == nil || leaseHolder(t, s) != holder {
		t.Fatal("two lead")
	}

	// The first goes in the middle of its work.
	if err := s.Client.Create(t.Context(), testkit.MakePodManager("large", "web").Replicas(fleet).Obj()); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "the first creates pods", func() error {
		if countPods(t, s, "large") == 0 {
			return errors.New("there is none")
		}
		return nil
	})
	t.Logf("the first ended %s after its SIGTERM, with %d of %d pods made", first.terminate(t), countPods(t, s, "large"), fleet)
	// It gave the lease back: the second need not wait until it runs out.
	if leaseHolder(t, s) == holder {
		t.Errorf("the first is gone and still leads: %s", holder)
	}
	testkit.Eventually(t, "the second leads", func() error { return leads(second) })
	expectPodCount(t, s, "large", fleet)
	expectEachCreatedOnce(t, s, "large", fleet)

	second.terminate(t) // in good time, or it would end with an error
	if holder := leaseHolder(t, s); holder != "" {
		t.Errorf("the lease was not given back: %s holds it", holder)
	}
}

// expectEachCreatedOnce: no pod was created twice, by whichever operator, and
// none was deleted.
func expectEachCreatedOnce(t *testing.T, s *testkit.Suite, namespace string, n int) {
	t.Helper()
	events, err := s.Cluster.AuditEvents(0)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]int{}
	for i := range events {
		e := &events[i]
		if e.ObjectRef.Resource != "pods" || e.ObjectRef.Namespace != namespace || e.ResponseStatus.Code >= 300 {
			continue
		}
		switch e.Verb {
		case "create":
			made[e.ObjectRef.Name]++
		case "delete":
			t.Errorf("pod %s was deleted", e.ObjectRef.Name)
		}
	}
	for pod, times := range made {
		if times > 1 {
			t.Errorf("pod %s was created %d times", pod, times)
		}
	}
	// The log may lack the create that the end of a process cut off, and those of the last moment.
	if len(made) > n || len(made) < n/2 {
		t.Errorf("%d pods were created, not %d", len(made), n)
	}
}
