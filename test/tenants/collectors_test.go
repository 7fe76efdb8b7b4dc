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

package tenants

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// collectorOf is a Collector of everything in some namespaces.
func collectorOf(home, name string, namespaces ...string) *collectorv1.Collector {
	c := &collectorv1.Collector{Spec: collectorv1.CollectorSpec{Namespaces: namespaces}}
	c.Namespace, c.Name = home, name
	return c
}

// editor logs in as a user with the role edit in a namespace, and no other rights.
func editor(t testing.TB, namespace, user string) client.Client {
	t.Helper()
	suite.Kubectl(t, "-n", namespace, "create", "rolebinding", user, "--clusterrole=edit", "--user="+user)
	config, err := suite.Cluster.RESTConfigFor(user)
	if err != nil {
		t.Fatal(err)
	}
	c, err := testkit.NewClient(config)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, user+"'s rights are known", func() error {
		return c.List(t.Context(), &collectorv1.CollectorList{}, client.InNamespace(namespace))
	})
	return c
}

// withoutPolicy does something while the policy may-read-pods does not hold. The
// test must not be a parallel one.
func withoutPolicy(t testing.TB, do func()) {
	t.Helper()
	binding := testkit.Get(t, suite, "", "pod-operator-may-read-pods", &admissionv1.ValidatingAdmissionPolicyBinding{})
	if err := suite.Client.Delete(t.Context(), binding.DeepCopy()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		binding.ResourceVersion, binding.UID = "", ""
		suite.Create(t, binding)
	}()
	do()
}

// aTenantsPod is a pod with an address.
func aTenantsPod(t testing.TB, namespace, name string) *corev1.Pod {
	t.Helper()
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "app:1"}}},
	}
	suite.Create(t, p)
	testkit.Eventually(t, "pod "+name+" has an address", func() error {
		if testkit.Get(t, suite, namespace, name, p); p.Status.PodIP == "" {
			return errNotYet
		}
		return nil
	})
	return p
}

// stalledFor: the Collector says of this generation why it does not read.
func stalledFor(c *collectorv1.Collector, reason string, words ...string) error {
	s := meta.FindStatusCondition(c.Status.Conditions, collectorv1.ConditionStalled)
	if s == nil || s.Reason != reason || s.ObservedGeneration != c.Generation {
		return fmt.Errorf("the conditions are %+v", c.Status.Conditions)
	}
	for _, word := range words {
		if !strings.Contains(s.Message, word) {
			return fmt.Errorf("the message is %q, want %q in it", s.Message, word)
		}
	}
	return nil
}

// expectNothingOf: a Collector's status shows nothing of what it may not read.
func expectNothingOf(t testing.TB, c *collectorv1.Collector, victim string) {
	t.Helper()
	s := c.Status
	if s.Pods != 0 || s.Workloads != 0 || s.IPCount != 0 || len(s.IPs) != 0 || s.Events.Total() != 0 {
		t.Errorf("Collector %s shows %s: %+v", c.Name, victim, s)
	}
	for _, change := range s.RecentChanges {
		if change.Namespace == victim {
			t.Errorf("Collector %s shows %s: %+v", c.Name, victim, change)
		}
	}
}

// TestACollectorReadsNothingOfOthers: mallory may do everything in their own
// namespace, no policy is installed, and the webhook does not answer. The
// Collector is stored, and reads nothing of the victim's.
func TestACollectorReadsNothingOfOthers(t *testing.T) {
	home, victim := suite.Namespace(t), suite.Namespace(t)
	mallory := editor(t, home, "mallory-"+home)
	aTenantsPod(t, victim, "secret")
	spy := collectorOf(home, "spy", victim)
	withoutPolicy(t, func() {
		withoutOperator(t, func() {
			testkit.Eventually(t, "nothing refuses the Collector", func() error { return mallory.Create(t.Context(), spy.DeepCopy()) })
		})
	})
	testkit.Eventually(t, "the Collector is refused", func() error {
		testkit.Get(t, suite, home, "spy", spy)
		return stalledFor(spy, collectorv1.ReasonNamespaceRefused, "may not list pods in namespace "+victim,
			fmt.Sprintf("kubectl create rolebinding collector-%s-default --clusterrole=view --serviceaccount=%s:default -n %s", home, home, victim))
	})
	// What happens there now is not counted either.
	suite.Create(t, testkit.MakePodManager(victim, "web").Replicas(1).Obj())
	suite.Fleet(t, victim, "web").ExpectReady(1)
	expectNothingOf(t, testkit.Get(t, suite, home, "spy", spy), victim)
}

// TestACollectorReadsWithTheRightsOfItsAccount: what is granted to a service
// account of its namespace is read, from then on and until it is withdrawn.
func TestACollectorReadsWithTheRightsOfItsAccount(t *testing.T) {
	t.Parallel()
	home, other := suite.Namespace(t), suite.Namespace(t)
	pod := aTenantsPod(t, other, "seen")
	own := aTenantsPod(t, home, "own")
	suite.Create(t, collectorOf(home, "wide", home, other))
	wide := &collectorv1.Collector{}
	reads := func(addresses ...string) func() error {
		return func() error {
			if testkit.Get(t, suite, home, "wide", wide); fmt.Sprint(wide.Status.IPs) != fmt.Sprint(addresses) {
				return fmt.Errorf("it reads %v", wide.Status.IPs)
			}
			return nil
		}
	}
	// Its own namespace is read in any case.
	testkit.Eventually(t, "it reads at home", reads(own.Status.PodIP))
	testkit.Eventually(t, "it says what to do", func() error {
		return stalledFor(testkit.Get(t, suite, home, "wide", wide), collectorv1.ReasonNamespaceRefused, "namespace "+other)
	})
	// The command is the one that the condition gives.
	message := meta.FindStatusCondition(wide.Status.Conditions, collectorv1.ConditionStalled).Message
	_, command, found := strings.Cut(message, "kubectl ")
	if !found {
		t.Fatalf("the message names no command: %s", message)
	}
	suite.Kubectl(t, strings.Fields(command)...)

	testkit.Eventually(t, "it reads there, too", func() error {
		if testkit.Get(t, suite, home, "wide", wide); wide.Status.IPCount != 2 || !meta.IsStatusConditionTrue(wide.Status.Conditions, collectorv1.ConditionReady) {
			return fmt.Errorf("%+v", wide.Status)
		}
		return nil
	})
	suite.Create(t, testkit.MakePodManager(other, "web").Replicas(1).Obj())
	testkit.Eventually(t, "the change there is counted", func() error {
		if testkit.Get(t, suite, home, "wide", wide); len(wide.Status.RecentChanges) == 0 {
			return errNotYet
		}
		return nil
	})

	suite.Kubectl(t, "-n", other, "delete", "rolebinding", "--all")
	testkit.Eventually(t, "it reads at home alone, and forgets the rest", reads(own.Status.PodIP))
	testkit.Eventually(t, "it says so", func() error {
		return stalledFor(testkit.Get(t, suite, home, "wide", wide), collectorv1.ReasonNamespaceRefused, "namespace "+other)
	})
	if len(wide.Status.RecentChanges) != 0 {
		t.Errorf("it still shows %+v", wide.Status.RecentChanges)
	}
	if err := suite.Client.Delete(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// TestATenantsCollectorsHaveOnlySoMuchRoom: what is over the bound is not read
// and not asked about, other tenants do not notice, and room that is given back
// is used.
func TestATenantsCollectorsHaveOnlySoMuchRoom(t *testing.T) {
	t.Parallel()
	home, other := suite.Namespace(t), suite.Namespace(t)
	var names []string
	for i := range 16 {
		names = append(names, fmt.Sprintf("%s-%d", home, i))
	}
	expectStalled := func(namespace, name, reason string, words ...string) {
		t.Helper()
		testkit.Eventually(t, fmt.Sprintf("%s/%s is stalled: %s", namespace, name, reason), func() error {
			return stalledFor(testkit.Get(t, suite, namespace, name, &collectorv1.Collector{}), reason, words...)
		})
	}
	testkit.Eventually(t, "the API server answers what is asked about 16 namespaces", func() error {
		return client.IgnoreAlreadyExists(suite.Client.Create(t.Context(), collectorOf(home, "greedy", names...)))
	})
	expectStalled(home, "greedy", collectorv1.ReasonNamespaceRefused)
	suite.Create(t, collectorOf(home, "more", "somewhere"))
	expectStalled(home, "more", collectorv1.ReasonNoRoom, "the Collectors of namespace "+home+" may read 16 others")
	suite.Create(t, collectorOf(other, "modest", "somewhere"))
	expectStalled(other, "modest", collectorv1.ReasonNamespaceRefused, "may not list pods in namespace somewhere")

	if err := suite.Client.Delete(t.Context(), collectorOf(home, "greedy")); err != nil {
		t.Fatal(err)
	}
	expectStalled(home, "more", collectorv1.ReasonNamespaceRefused, "may not list pods in namespace somewhere")
}
