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
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	testv1alpha1 "github.com/mycompany/pod-operator/api/test/v1alpha1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

func helloWorld(namespace, name string, size int32) *testv1alpha1.HelloWorld {
	return &testv1alpha1.HelloWorld{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       testv1alpha1.HelloWorldSpec{Size: ptr.To(size)},
	}
}

func deployment(namespace, name string) *kappsv1.Deployment {
	return &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// expectHelloWorld waits until a HelloWorld's Deployment has n ready pods, and
// it says so.
func expectHelloWorld(t testing.TB, namespace, name string, n int) *testv1alpha1.HelloWorld {
	t.Helper()
	hw := helloWorld(namespace, name, 0)
	testkit.Eventually(t, fmt.Sprintf("HelloWorld %s has %d pods", name, n), func() error {
		hw = testkit.Read(t, suite, hw)
		if err := settled(hw, hw.Status.ObservedGeneration, hw.Status.Conditions); err != nil {
			return err
		}
		pods := testkit.Live(suite.Pods(t, namespace, map[string]string{"hello_name": name}))
		if len(pods) != n || int(hw.Status.ReadyReplicas) != n {
			return fmt.Errorf("%d pods, status.readyReplicas %d", len(pods), hw.Status.ReadyReplicas)
		}
		if diff := cmp.Diff(testkit.Names(pods), append([]string{}, hw.Status.Nodes...)); diff != "" {
			return errors.New("status.nodes (-pods +status):\n" + diff)
		}
		return nil
	})
	expectKstatus(t, hw, status.CurrentStatus)
	return hw
}

func TestHelloWorldSampleWorksAsTheTutorialsWriteIt(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	kubectl := func(args ...string) string { return suite.Kubectl(t, append([]string{"-n", ns}, args...)...) }
	kubectl("apply", "-f", filepath.Join(testkit.Root(), "config", "samples", "test_v1alpha1_helloworld.yaml"))
	kubectl("wait", "--for=condition=Ready", "helloworld/helloworld-sample", "--timeout=60s")
	hw := expectHelloWorld(t, ns, "helloworld-sample", 3)

	d := testkit.Read(t, suite, deployment(ns, "helloworld-sample"))
	if !metav1.IsControlledBy(d, hw) || d.Labels["hello_name"] != "helloworld-sample" {
		t.Errorf("the Deployment's metadata: %+v", d.ObjectMeta)
	}
	c := d.Spec.Template.Spec.Containers[0]
	port := []corev1.ContainerPort{{Name: "nginx", ContainerPort: 80, Protocol: corev1.ProtocolTCP}}
	if !strings.HasPrefix(c.Image, "nginx") || !cmp.Equal(c.Ports, port) {
		t.Errorf("the container runs %s with ports %+v", c.Image, c.Ports)
	}
	out := kubectl("get", "helloworlds")
	if want := []string{"NAME", "SIZE", "READY", "STATUS", "AGE"}; !slices.Equal(strings.Fields(strings.SplitN(out, "\n", 2)[0]), want) {
		t.Errorf("columns:\n%s", out)
	}
	suite.ExpectEvent(t, hw, corev1.EventTypeNormal, testv1alpha1.ReasonCreated, "Created Deployment helloworld-sample with 3 pods")
}

func TestHelloWorldFollowsItsSize(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	hw := helloWorld(ns, "walk", 2)
	suite.Create(t, hw)
	expectHelloWorld(t, ns, "walk", 2)
	for _, n := range []int{4, 1, 0, 2} {
		suite.Patch(t, hw, fmt.Sprintf(`{"spec":{"size":%d}}`, n))
		expectHelloWorld(t, ns, "walk", n)
	}
	suite.ExpectEvent(t, hw, corev1.EventTypeNormal, testv1alpha1.ReasonScaled, "replicas 2 -> 4")
	suite.ExpectSilence(t, ns, 2*time.Second)
}

func TestHelloWorldPutsItsDeploymentRight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit string
		note string
	}{
		"replicas":            {`{"spec":{"replicas":5}}`, "replicas 5 -> 2"},
		"the image":           {`{"spec":{"template":{"spec":{"containers":[{"name":"nginx","image":"httpd:2"}]}}}}`, "image httpd:2 -> nginx"},
		"the label":           {`{"metadata":{"labels":null}}`, "label hello_name"},
		"a renamed port":      {`{"spec":{"template":{"spec":{"containers":[{"name":"nginx","image":"nginx:1.27","ports":[{"containerPort":80,"name":"web"}]}]}}}}`, "the port nginx 80 is missing"},
		"another port":        {`{"spec":{"template":{"spec":{"containers":[{"name":"nginx","image":"nginx:1.27","ports":[{"containerPort":8080,"name":"nginx"}]}]}}}}`, "the port nginx 80 is missing"},
		"a foreign container": {`{"spec":{"template":{"spec":{"containers":[{"name":"other","image":"httpd:2"}]}}}}`, "the container nginx is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns := suite.Namespace(t)
			suite.Create(t, helloWorld(ns, "edited", 2))
			hw := expectHelloWorld(t, ns, "edited", 2)
			suite.Patch(t, deployment(ns, "edited"), c.edit)
			suite.ExpectEvent(t, hw, corev1.EventTypeNormal, testv1alpha1.ReasonCorrected, c.note)
			testkit.Eventually(t, "the Deployment is right", func() error {
				d := testkit.Read(t, suite, deployment(ns, "edited"))
				i := slices.IndexFunc(d.Spec.Template.Spec.Containers, func(c corev1.Container) bool { return c.Name == "nginx" })
				if i < 0 {
					return errors.New("there is no container nginx")
				}
				nginx := d.Spec.Template.Spec.Containers[i]
				port := corev1.ContainerPort{Name: "nginx", ContainerPort: 80, Protocol: corev1.ProtocolTCP}
				if *d.Spec.Replicas != 2 || !strings.HasPrefix(nginx.Image, "nginx") || !slices.Contains(nginx.Ports, port) || d.Labels["hello_name"] != "edited" {
					return fmt.Errorf("%+v %+v", d.Labels, d.Spec)
				}
				return nil
			})
			expectHelloWorld(t, ns, "edited", 2)
			suite.ExpectSilence(t, ns, time.Second)
		})
	}
}

func TestHelloWorldLeavesFieldsOfOthersAlone(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	hw := helloWorld(ns, "shared", 1)
	suite.Create(t, hw)
	expectHelloWorld(t, ns, "shared", 1)
	suite.Patch(t, deployment(ns, "shared"), `{"metadata":{"annotations":{"example.com/team":"web"}},
		"spec":{"revisionHistoryLimit":3,"template":{"metadata":{"annotations":{"example.com/scrape":"yes"}}}}}`)
	suite.Patch(t, hw, `{"spec":{"size":2}}`)
	expectHelloWorld(t, ns, "shared", 2)
	d := testkit.Read(t, suite, deployment(ns, "shared"))
	if d.Annotations["example.com/team"] != "web" || *d.Spec.RevisionHistoryLimit != 3 || d.Spec.Template.Annotations["example.com/scrape"] != "yes" {
		t.Errorf("another client's fields were removed: %+v %+v", d.Annotations, d.Spec)
	}
}

func TestHelloWorldMakesADeletedDeploymentAgain(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Create(t, helloWorld(ns, "deleted", 2))
	expectHelloWorld(t, ns, "deleted", 2)
	before := testkit.Read(t, suite, deployment(ns, "deleted"))
	for _, how := range []string{"background", "foreground"} {
		suite.Kubectl(t, "-n", ns, "delete", "deployment", "deleted", "--cascade="+how, "--wait=false")
		testkit.Eventually(t, "there is a new Deployment", func() error {
			d := deployment(ns, "deleted")
			if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
				return err
			}
			if d.UID == before.UID || d.DeletionTimestamp != nil {
				return errors.New("it is the old one")
			}
			before = d
			return nil
		})
		expectHelloWorld(t, ns, "deleted", 2)
	}
}

func TestHelloWorldDoesNotTakeOverAForeignDeployment(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Kubectl(t, "-n", ns, "create", "deployment", "taken", "--image=httpd:2", "--replicas=1")
	foreign := testkit.Read(t, suite, deployment(ns, "taken"))
	hw := helloWorld(ns, "taken", 3)
	suite.Create(t, hw)
	testkit.Eventually(t, "it says that the name is taken", func() error {
		hw = testkit.Read(t, suite, hw)
		return stalled(hw, hw.Status.Conditions, testv1alpha1.ReasonNameTaken)
	})
	expectKstatus(t, hw, status.FailedStatus)
	suite.ExpectEvent(t, hw, corev1.EventTypeWarning, testv1alpha1.ReasonFailed, "is left alone")
	if after := testkit.Read(t, suite, deployment(ns, "taken")); after.Generation != foreign.Generation || len(after.OwnerReferences) > 0 || after.Labels["hello_name"] != "" {
		t.Errorf("the foreign Deployment was touched: %+v", after.ObjectMeta)
	}
	// Once the name is free, the operator takes it without help.
	suite.Kubectl(t, "-n", ns, "delete", "deployment", "taken")
	expectHelloWorld(t, ns, "taken", 3)
}

func TestHelloWorldSaysWhatKeepsItFromItsPods(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Kubectl(t, "-n", ns, "create", "quota", "small", "--hard=pods=1")
	suite.Kubectl(t, "-n", ns, "wait", "quota/small", "--for=jsonpath={.status.used.pods}=0", "--timeout=60s")
	hw := helloWorld(ns, "wide", 2)
	suite.Create(t, hw)
	testkit.Eventually(t, "it is stalled by the quota", func() error {
		hw = testkit.Read(t, suite, hw)
		return stalled(hw, hw.Status.Conditions, testv1alpha1.ReasonReplicaFailure)
	})
	expectKstatus(t, hw, status.FailedStatus)
	suite.ExpectEvent(t, hw, corev1.EventTypeWarning, testv1alpha1.ReasonFailed, "exceeded quota")
}

func TestHelloWorldSaysThatItsDeploymentIsRefused(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Kubectl(t, "-n", ns, "create", "quota", "none", "--hard=count/deployments.apps=0")
	suite.Kubectl(t, "-n", ns, "wait", "quota/none", "--for=jsonpath={.status.used.count/deployments\\.apps}=0", "--timeout=60s")
	hw := helloWorld(ns, "refused", 1)
	suite.Create(t, hw)
	testkit.Eventually(t, "it says that the Deployment is refused", func() error {
		hw = testkit.Read(t, suite, hw)
		return stalled(hw, hw.Status.Conditions, testv1alpha1.ReasonRefused)
	})
	suite.Kubectl(t, "-n", ns, "delete", "quota", "none")
	expectHelloWorld(t, ns, "refused", 1)
}

func TestHelloWorldDeploymentGoesWithIt(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Create(t, helloWorld(ns, "short", 1))
	expectHelloWorld(t, ns, "short", 1)
	suite.Kubectl(t, "-n", ns, "delete", "helloworld", "short", "--timeout=60s")
	testkit.Eventually(t, "the Deployment is gone", func() error {
		err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "short"}, &kappsv1.Deployment{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("got %w", err)
		}
		return nil
	})
}

func TestHelloWorldBadInputIsRefused(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	for name, c := range map[string]struct {
		hw   *testv1alpha1.HelloWorld
		want string
	}{
		"negative size":   {helloWorld(ns, "neg", -1), "greater than or equal to 0"},
		"far too large":   {helloWorld(ns, "many", 100001), "less than or equal to 100000"},
		"a name too long": {helloWorld(ns, strings.Repeat("n", 64), 1), "at most 63 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			err := suite.Client.Create(t.Context(), c.hw)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to say %q", err, c.want)
			}
		})
	}
}
