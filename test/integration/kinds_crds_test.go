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
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/install"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/manager"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// crdNames are the CRDs that are taken away.
var crdNames = []string{"helloworlds.test.jiaozi.com", "imoocpods.batch.tutorial.kubebuilder.io", "collectors.collector.ip.mycompany.com"}

// TestKindsComeAndGoWithTheirCRDs has a cluster and operators of its own.
func TestKindsComeAndGoWithTheirCRDs(t *testing.T) {
	testkit.Long(t, "it has a cluster for itself")
	t.Parallel()
	options := clusterOptions()
	// The plugin that checks owner references learns of new kinds only every
	// 30 s.
	options.APIServerArgs = nil
	s, err := testkit.NewSuite(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	c := &crdStory{Suite: s, ns: s.Namespace(t), crds: renderCRDs(t)}
	for _, name := range crdNames {
		c.uninstall(t, name)
	}
	c.start(t, testkit.OperatorOptions())

	t.Run("a kind without CRD is left out with one line and no request", c.leftOut)
	t.Run("a CRD that appears is picked up", c.pickedUp)
	t.Run("a CRD that goes is no reason to crash or to complain", c.gone)
	t.Run("a CRD that comes back is picked up again", c.back)
	t.Run("a new process keeps the changes and begins to count anew", c.restarted)
	t.Run("only the chosen controllers run", c.chosen)
	t.Run("a Collector looks nowhere else than the operator", c.restricted)
	c.stop(t)
}

type crdStory struct {
	*testkit.Suite
	ns   string
	crds map[string]*unstructured.Unstructured

	end func() error
	// marked is when the audit log was marked last.
	marked time.Time
}

func renderCRDs(t testing.TB) map[string]*unstructured.Unstructured {
	t.Helper()
	objects, err := install.Render(filepath.Join(testkit.Root(), "config", "crd"))
	if err != nil {
		t.Fatal(err)
	}
	crds := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		crds[o.GetName()] = o
	}
	return crds
}

func (c *crdStory) start(t testing.TB, options manager.Options) {
	t.Helper()
	end, err := c.StartOperator(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	c.end = end
}

func (c *crdStory) stop(t testing.TB) {
	t.Helper()
	if err := c.end(); err != nil {
		t.Errorf("the operator ended with %v", err)
	}
}

func (c *crdStory) install(t testing.TB, name string) {
	t.Helper()
	if err := install.Apply(t.Context(), c.Cluster.RESTConfig(), []*unstructured.Unstructured{c.crds[name]}); err != nil {
		t.Fatal(err)
	}
}

func (c *crdStory) uninstall(t testing.TB, name string) {
	t.Helper()
	c.Kubectl(t, "delete", "crd", name, "--timeout=60s")
}

// requests counts what the operator asked for of a resource since a mark. What it
// asked for before and was answered later is not among it.
func (c *crdStory) requests(t testing.TB, mark localkube.AuditMark, resource string) (n int) {
	t.Helper()
	events, err := c.Cluster.AuditEvents(mark)
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		e := &events[i]
		ends := e.Verb == "watch" && e.Stage == "ResponseComplete"
		if e.User.Username == testkit.OperatorUser && e.ObjectRef.Resource == resource && !ends && e.RequestReceivedTimestamp.After(c.marked) {
			n++
		}
	}
	return n
}

func (c *crdStory) mark(t testing.TB) localkube.AuditMark {
	t.Helper()
	mark, err := c.Cluster.AuditMark()
	if err != nil {
		t.Fatal(err)
	}
	c.marked = time.Now()
	return mark
}

// expectReady creates an object and waits until kubectl calls it Ready.
func (c *crdStory) expectReady(t testing.TB, obj client.Object, resource string) {
	t.Helper()
	testkit.Eventually(t, "the API server takes a "+resource, func() error {
		return c.Client.Create(t.Context(), obj.DeepCopyObject().(client.Object))
	})
	c.Kubectl(t, "-n", c.ns, "wait", "--for=condition=Ready", resource+"/"+obj.GetName(), "--timeout=60s")
}

// logged counts the lines of the operators' log that hold all of the words.
func logged(t testing.TB, words ...string) (n int) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(suite.Scratch, "operator.log"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		all := true
		for _, word := range words {
			all = all && strings.Contains(line, word)
		}
		if all {
			n++
		}
	}
	return n
}

func (c *crdStory) leftOut(t *testing.T) {
	for _, name := range crdNames {
		if n := logged(t, "Controller not started", name); n != 1 {
			t.Errorf("%d lines tell that %s is missing", n, name)
		}
		resource, _, _ := strings.Cut(name, ".")
		if n := c.requests(t, 0, resource); n > 0 {
			t.Errorf("%d requests for %s", n, resource)
		}
	}
	if n := c.requests(t, 0, "deployments"); n > 0 {
		t.Errorf("%d requests for deployments, which only the missing kinds need", n)
	}
	c.expectReady(t, testkit.MakePodManager(c.ns, "there").Image("nginx:1.27").Replicas(1).Obj(), "podmanager")
}

func (c *crdStory) pickedUp(t *testing.T) {
	for _, name := range crdNames {
		c.install(t, name)
	}
	c.expectReady(t, helloWorld(c.ns, "hello", 1), "helloworld")
	c.expectReady(t, imoocPod(c.ns, "imooc", 1), "imoocpod")
	c.expectReady(t, collector(c.ns, "col", map[string]string{"hello_name": "hello"}), "collector")
	for _, name := range crdNames {
		if n := logged(t, "Controller started: CRD installed", name); n != 1 {
			t.Errorf("%d lines tell that %s is there", n, name)
		}
	}
}

func (c *crdStory) gone(t *testing.T) {
	for _, name := range crdNames {
		c.uninstall(t, name)
	}
	testkit.Eventually(t, "the operator has seen it", func() error {
		for _, name := range crdNames {
			if logged(t, "Controller stopped: CRD removed", name) != 1 {
				return errors.New("no line tells that " + name + " is gone")
			}
		}
		return nil
	})
	testkit.Eventually(t, "the Collector's watches have ended", func() error {
		if open := openWatches(t, c.Suite, c.ns); len(open) > 0 {
			return fmt.Errorf("%d are open", len(open))
		}
		return nil
	})
	// A reflector that still runs would try again within seconds. The
	// pods of the kinds that are gone still come and go meanwhile.
	mark, quiet := c.mark(t), time.Now().Add(5*time.Second)
	c.Kubectl(t, "-n", c.ns, "delete", "pods", "--all", "--wait=false")
	testkit.Eventually(t, "a quiet time has passed", func() error {
		if time.Now().Before(quiet) {
			return errors.New("not yet")
		}
		return nil
	})
	for _, name := range crdNames {
		resource, _, _ := strings.Cut(name, ".")
		if n := c.requests(t, mark, resource); n > 0 {
			t.Errorf("%d requests for %s, which is gone", n, resource)
		}
		// The one that was under way when the CRD went may fail.
		if n := logged(t, "ERROR", resource); n > 1 {
			t.Errorf("%d errors about %s in the log", n, resource)
		}
	}
	c.Kubectl(t, "-n", c.ns, "wait", "--for=condition=Ready", "podmanager/there", "--timeout=60s")
}

func (c *crdStory) back(t *testing.T) {
	for _, name := range crdNames {
		c.install(t, name)
	}
	c.expectReady(t, helloWorld(c.ns, "again", 2), "helloworld")
	c.expectReady(t, imoocPod(c.ns, "again", 2), "imoocpod")
	c.expectReady(t, collector(c.ns, "again", map[string]string{"hello_name": "again"}), "collector")
	c.Kubectl(t, "-n", c.ns, "scale", "helloworld/again", "--replicas=1")
	c.Kubectl(t, "-n", c.ns, "wait", "helloworld/again", "--for=jsonpath={.status.replicas}=1", "--timeout=60s")
}

// state reads the Collector of the tests before.
func (c *crdStory) state(t testing.TB) *collectorv1.Collector {
	t.Helper()
	col := collector(c.ns, "again", nil)
	if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(col), col); err != nil {
		t.Fatal(err)
	}
	return col
}

func (c *crdStory) restarted(t *testing.T) {
	var before *collectorv1.Collector
	testkit.Eventually(t, "the change has settled", func() error {
		before = c.state(t)
		if n := len(before.Status.RecentChanges); n != 1 || before.Status.RecentChanges[0].State != collectorv1.ChangeSettled {
			return fmt.Errorf("%+v", before.Status.RecentChanges)
		}
		return nil
	})
	c.stop(t)
	c.start(t, testkit.OperatorOptions())
	testkit.Eventually(t, "it counts anew", func() error {
		after := c.state(t)
		switch {
		case after.Status.Since == nil || !after.Status.Since.After(before.Status.Since.Time):
			return fmt.Errorf("since %s", after.Status.Since)
		case after.Status.Events.Total() != 0:
			return fmt.Errorf("%+v", after.Status.Events)
		case len(after.Status.RecentChanges) != 1 || !cmp.Equal(after.Status.RecentChanges[0], before.Status.RecentChanges[0]):
			return fmt.Errorf("%+v", after.Status.RecentChanges)
		}
		return nil
	})
}

func (c *crdStory) chosen(t *testing.T) {
	c.stop(t)
	mark := c.mark(t)
	options := testkit.OperatorOptions()
	options.Controllers = []string{"imoocpod"}
	c.start(t, options)
	c.expectReady(t, imoocPod(c.ns, "chosen", 1), "imoocpod")
	for _, resource := range []string{"podmanagers", "helloworlds", "collectors", "deployments"} {
		if n := c.requests(t, mark, resource); n > 0 {
			t.Errorf("%d requests for %s, which is not switched on", n, resource)
		}
	}
	hw := helloWorld(c.ns, "ignored", 1)
	if err := c.Client.Create(t.Context(), hw); err != nil {
		t.Fatal(err)
	}
	c.expectReady(t, imoocPod(c.ns, "chosen-later", 1), "imoocpod")
	ignored := &testv1alpha1.HelloWorld{}
	if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(hw), ignored); err != nil || len(ignored.Status.Conditions) > 0 {
		t.Errorf("%v, %+v", err, ignored.Status)
	}
	err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(hw), deployment(c.ns, "ignored"))
	if !apierrors.IsNotFound(err) {
		t.Errorf("the Deployment: %v", err)
	}
}

func (c *crdStory) restricted(t *testing.T) {
	c.stop(t)
	other := c.Namespace(t)
	options := testkit.OperatorOptions()
	options.Namespaces = []string{c.ns}
	c.start(t, options)
	col := collector(c.ns, "outside", nil)
	col.Spec.Namespaces = []string{other}
	if err := c.Client.Create(t.Context(), col); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "it says that no operator reconciles there", func() error {
		if err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(col), col); err != nil {
			return err
		}
		return stalled(col, col.Status.Conditions, collectorv1.ReasonNamespaceNotWatched)
	})
	c.expectReady(t, collector(c.ns, "inside", nil), "collector")
}
