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
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	batchv1alpha1 "github.com/mycompany/pod-operator/api/batch/v1alpha1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

func imoocPod(namespace, name string, replicas int32) *batchv1alpha1.ImoocPod {
	return &batchv1alpha1.ImoocPod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       batchv1alpha1.ImoocPodSpec{Replicas: ptr.To(replicas)},
	}
}

// expectImoocPod waits until an ImoocPod keeps n ready pods, and says so.
func expectImoocPod(t testing.TB, namespace, name string, n int) *batchv1alpha1.ImoocPod {
	t.Helper()
	ip := imoocPod(namespace, name, 0)
	testkit.Eventually(t, fmt.Sprintf("ImoocPod %s keeps %d pods", name, n), func() error {
		ip = testkit.Read(t, suite, ip)
		if err := settled(ip, ip.Status.ObservedGeneration, ip.Status.Conditions); err != nil {
			return err
		}
		pods := suite.Pods(t, namespace, map[string]string{"app": name, batchv1alpha1.LabelName: name})
		if len(pods) != n || int(ip.Status.Replicas) != n || int(ip.Status.ReadyReplicas) != n {
			return fmt.Errorf("%d pods, status.replicas %d, status.readyReplicas %d", len(pods), ip.Status.Replicas, ip.Status.ReadyReplicas)
		}
		if diff := cmp.Diff(testkit.Names(pods), append([]string{}, ip.Status.PodNames...)); diff != "" {
			return errors.New("status.podNames (-pods +status):\n" + diff)
		}
		return nil
	})
	expectKstatus(t, ip, status.CurrentStatus)
	return ip
}

func TestImoocPodSampleWorksAsTheTutorialsWriteIt(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	kubectl := func(args ...string) string { return suite.Kubectl(t, append([]string{"-n", ns}, args...)...) }
	kubectl("apply", "-f", filepath.Join(testkit.Root(), "config", "samples", "batch_v1alpha1_imoocpod.yaml"))
	kubectl("wait", "--for=condition=Ready", "imoocpod/imoocpod-sample", "--timeout=60s")
	ip := expectImoocPod(t, ns, "imoocpod-sample", 2)

	name := regexp.MustCompile(`^imoocpod-sample-pod-[a-z0-9]+$`)
	for _, pod := range suite.Pods(t, ns, map[string]string{"app": "imoocpod-sample"}) {
		if !name.MatchString(pod.Name) {
			t.Errorf("pod %s is not named imoocpod-sample-pod-…", pod.Name)
		}
		c := pod.Spec.Containers[0]
		if !strings.HasPrefix(c.Image, "busybox") || !slices.Equal(append(c.Command, c.Args...), []string{"sleep", "3600"}) {
			t.Errorf("pod %s runs %s %v %v", pod.Name, c.Image, c.Command, c.Args)
		}
		if !metav1.IsControlledBy(&pod, ip) {
			t.Errorf("pod %s is owned by %+v", pod.Name, pod.OwnerReferences)
		}
	}
	out := kubectl("get", "imoocpods")
	if want := []string{"NAME", "DESIRED", "CURRENT", "READY", "AGE"}; !slices.Equal(strings.Fields(strings.SplitN(out, "\n", 2)[0]), want) {
		t.Errorf("columns:\n%s", out)
	}
	suite.ExpectEvent(t, ip, corev1.EventTypeNormal, appsv1.ReasonCreated, "Created 2 pods")
}

// Tutorials apply the whole folder at once.
func TestTheFolderOfSamplesCanBeApplied(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Kubectl(t, "-n", ns, "apply", "-f", filepath.Join(testkit.Root(), "config", "samples"))
	for _, object := range []string{"imoocpod/imoocpod-sample", "helloworld/helloworld-sample", "collector/collector-sample", "podmanager/my-pod-manager"} {
		suite.Kubectl(t, "-n", ns, "wait", "--for=condition=Ready", object, "--timeout=60s")
	}
}

func TestImoocPodFollowsItsReplicas(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Create(t, imoocPod(ns, "walk", 3))
	expectImoocPod(t, ns, "walk", 3)
	for _, n := range []int{5, 1, 0, 2} {
		suite.Kubectl(t, "-n", ns, "scale", "imoocpod/walk", fmt.Sprintf("--replicas=%d", n))
		expectImoocPod(t, ns, "walk", n)
	}
	suite.ExpectSilence(t, ns, 2*time.Second)
}

func TestImoocPodReplacesWhatIsDeletedAndDoesNotCountWhatTerminates(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	ip := imoocPod(ns, "steady", 3)
	suite.Create(t, ip)
	before := expectImoocPod(t, ns, "steady", 3)

	// The finalizer keeps the pod terminating for as long as the test looks.
	victim := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: before.Status.PodNames[0]}}
	suite.Patch(t, victim, `{"metadata":{"finalizers":["example.com/hold"]}}`)
	if err := suite.Client.Delete(t.Context(), victim); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, "a successor lives beside the terminating pod", func() error {
		pods := suite.Pods(t, ns, map[string]string{"app": "steady"})
		ip = testkit.Read(t, suite, ip)
		if len(pods) != 4 || len(testkit.Live(pods)) != 3 || ip.Status.Replicas != 3 || ip.Status.TerminatingReplicas != 1 {
			return fmt.Errorf("%d pods, %d of them live; status %+v", len(pods), len(testkit.Live(pods)), ip.Status)
		}
		if slices.Contains(ip.Status.PodNames, victim.Name) {
			return errors.New("status.podNames lists the terminating pod")
		}
		return nil
	})
	suite.Patch(t, victim, `{"metadata":{"finalizers":null}}`)
	expectImoocPod(t, ns, "steady", 3)
}

func TestImoocPodTakesInOnlyWhatCarriesItsOwnLabel(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	stray := func(name string, labels map[string]string) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "busybox:1.37"}}},
		}
	}
	suite.Create(t, stray("foreign", map[string]string{"app": "mine"}))
	suite.Create(t, stray("orphan", map[string]string{"app": "mine", batchv1alpha1.LabelName: "mine"}))
	ip := imoocPod(ns, "mine", 2)
	suite.Create(t, ip)
	expectImoocPod(t, ns, "mine", 2)
	suite.ExpectEvent(t, ip, corev1.EventTypeNormal, appsv1.ReasonAdopted, "Adopted 1 pod: orphan")
	suite.Kubectl(t, "-n", ns, "scale", "imoocpod/mine", "--replicas=0")
	expectImoocPod(t, ns, "mine", 0)
	foreign := testkit.Read(t, suite, stray("foreign", nil))
	if foreign.DeletionTimestamp != nil || len(foreign.OwnerReferences) > 0 {
		t.Errorf("the foreign pod was touched: %+v", foreign.ObjectMeta)
	}
}

func TestImoocPodPodsGoWithIt(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	ip := imoocPod(ns, "short", 2)
	suite.Create(t, ip)
	expectImoocPod(t, ns, "short", 2)
	suite.Kubectl(t, "-n", ns, "delete", "imoocpod", "short", "--timeout=60s")
	testkit.Eventually(t, "the pods are gone", func() error {
		if pods := suite.Pods(t, ns, map[string]string{"app": "short"}); len(pods) > 0 {
			return fmt.Errorf("still there: %v", testkit.Names(pods))
		}
		return nil
	})
}

func TestImoocPodOrphansAreTakenInAgain(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Create(t, imoocPod(ns, "again", 2))
	before := expectImoocPod(t, ns, "again", 2)
	suite.Kubectl(t, "-n", ns, "delete", "imoocpod", "again", "--cascade=orphan", "--timeout=60s")
	suite.Create(t, imoocPod(ns, "again", 2))
	after := expectImoocPod(t, ns, "again", 2)
	if diff := cmp.Diff(before.Status.PodNames, after.Status.PodNames); diff != "" {
		t.Errorf("the pods were replaced (-before +after):\n%s", diff)
	}
}

func TestImoocPodRunsWhereOnlyRestrictedPodsMay(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Kubectl(t, "label", "namespace", ns, "pod-security.kubernetes.io/enforce=restricted")
	suite.Create(t, imoocPod(ns, "humble", 1))
	expectImoocPod(t, ns, "humble", 1)
}

func TestImoocPodSaysWhatKeepsItFromItsPods(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	suite.Kubectl(t, "-n", ns, "create", "quota", "small", "--hard=pods=1")
	suite.Kubectl(t, "-n", ns, "wait", "quota/small", "--for=jsonpath={.status.used.pods}=0", "--timeout=60s")
	ip := imoocPod(ns, "wide", 3)
	suite.Create(t, ip)
	testkit.Eventually(t, "it is stalled by the quota", func() error {
		ip = testkit.Read(t, suite, ip)
		return stalled(ip, ip.Status.Conditions, appsv1.ReasonQuotaExceeded)
	})
	expectKstatus(t, ip, status.FailedStatus)
	suite.ExpectEvent(t, ip, corev1.EventTypeWarning, appsv1.ReasonFailed, "exceeded quota")
	suite.Kubectl(t, "-n", ns, "delete", "quota", "small")
	expectImoocPod(t, ns, "wide", 3)
}

func TestImoocPodBadInputIsRefused(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	for name, c := range map[string]struct {
		ip   *batchv1alpha1.ImoocPod
		want string
	}{
		"negative replicas":     {imoocPod(ns, "neg", -1), "greater than or equal to 0"},
		"far too many replicas": {imoocPod(ns, "many", 100001), "less than or equal to 100000"},
		"a name too long":       {imoocPod(ns, strings.Repeat("n", 51), 1), "at most 50 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			err := suite.Client.Create(t.Context(), c.ip)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to say %q", err, c.want)
			}
		})
	}
	suite.Create(t, imoocPod(ns, "none", 0))
	expectImoocPod(t, ns, "none", 0)
	if out := suite.Kubectl(t, "-n", ns, "get", "imoocpod", "none", "--no-headers"); !slices.Equal(strings.Fields(out)[1:4], []string{"0", "0", "0"}) {
		t.Errorf("the columns of an ImoocPod without pods: %s", out)
	}
	plain := &batchv1alpha1.ImoocPod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "plain"}}
	suite.Create(t, plain)
	if ip := testkit.Read(t, suite, plain); ptr.Deref(ip.Spec.Replicas, -1) != 1 {
		t.Errorf("an empty spec means %v replicas, not 1", ip.Spec.Replicas)
	}
	expectImoocPod(t, ns, "plain", 1)
}
