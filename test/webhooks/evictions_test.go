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

package webhooks

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/testkit"
	"github.com/mycompany/pod-operator/internal/webhook/paths"
)

// nodes is how many the cluster has.
const nodes = 3

// surgeFirst makes a fleet with a pod on every node and no room for a replacement, so
// that what waits for one waits, and waits itself until the webhook is asked about it.
func surgeFirst(t *testing.T, name string) *testkit.Fleet {
	t.Helper()
	f := suite.NewFleet(t, name)
	pm := f.Build().Replicas(nodes).PodSpec(func(spec *corev1.PodSpec) {
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: metav1.SetAsLabelSelector(map[string]string{appsv1.LabelName: name}),
			}},
		}}
	}).Obj()
	pm.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst
	suite.Create(t, pm)
	expectServing(f, nodes)
	expectAsked(t, f.Namespace, true)
	return f
}

func expectServing(f *testkit.Fleet, n int) {
	f.Expect(fmt.Sprintf("%d pods are ready", n), func(pm *appsv1.PodManager) error {
		if pm.Status.ReadyReplicas != int32(n) {
			return fmt.Errorf("%d are", pm.Status.ReadyReplicas)
		}
		return nil
	})
}

// expectServes waits for the pod itself: a status may still be of the pods before it.
func expectServes(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	testkit.Eventually(t, "pod "+pod.Name+" is ready", func() error {
		var fresh corev1.Pod
		if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &fresh); err != nil {
			return err
		}
		if fresh.UID != pod.UID || !observe.Ready(&fresh) {
			return fmt.Errorf("it is %s, UID %s", fresh.Status.Phase, fresh.UID)
		}
		return nil
	})
}

// expectAsked waits until the API server is told to ask about the evictions of a
// namespace, or not to.
func expectAsked(t *testing.T, namespace string, want bool) {
	t.Helper()
	expectAskedOn(t, suite, namespace, want)
}

func expectAskedOn(t *testing.T, s *testkit.Suite, namespace string, want bool) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("evictions in %s are asked about: %t", namespace, want), func() error {
		var configuration admissionregistrationv1.ValidatingWebhookConfiguration
		if err := s.Client.Get(t.Context(), client.ObjectKey{Name: testkit.WebhookConfiguration}, &configuration); err != nil {
			return err
		}
		for _, w := range configuration.Webhooks {
			if w.Name != paths.Evictions {
				continue
			}
			selector, err := metav1.LabelSelectorAsSelector(w.NamespaceSelector)
			if err != nil {
				return err
			}
			if got := selector.Matches(labelsOf(namespace)); got != want {
				return fmt.Errorf("the selector is %s", selector)
			}
			return nil
		}
		return fmt.Errorf("no webhook %s", paths.Evictions)
	})
}

type labelsOf string

func (n labelsOf) Has(label string) bool { return label == corev1.LabelMetadataName }

func (n labelsOf) Get(label string) string            { value, _ := n.Lookup(label); return value }
func (n labelsOf) Lookup(label string) (string, bool) { return string(n), n.Has(label) }

// evict asks once. It is the API server that notices a changed configuration late, so
// what is expected of the first eviction is waited for.
func evict(t *testing.T, c client.Client, pod *corev1.Pod, options ...client.SubResourceCreateOption) error {
	t.Helper()
	return c.SubResource("eviction").Create(t.Context(), pod.DeepCopy(), &policyv1.Eviction{}, options...)
}

// expectWaits expects 429 and returns the sentence.
func expectWaits(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	err := evict(t, suite.Client, pod)
	if !apierrors.IsTooManyRequests(err) {
		t.Fatalf("an eviction of %s was answered with %v", pod.Name, err)
	}
	if wait, ok := apierrors.SuggestsClientDelay(err); ok {
		t.Errorf("the client is told to wait %d s: it would try again by itself and not show why", wait)
	}
	return err.Error()
}

// trial is a fleet's pod that the webhook is known to be asked about: the API server
// has the configuration.
func trial(t *testing.T, f *testkit.Fleet) *corev1.Pod {
	t.Helper()
	pod := f.Live()[0]
	testkit.Eventually(t, "the API server asks about evictions", func() error {
		before := requested(t, &pod)
		err := evict(t, suite.Client, &pod, client.DryRunAll)
		if before != requested(t, &pod) {
			t.Fatal("a dry run wrote onto the pod")
		}
		return err
	})
	return &pod
}

func requested(t *testing.T, pod *corev1.Pod) string {
	t.Helper()
	return testkit.Get(t, suite, pod.Namespace, pod.Name, &corev1.Pod{}).Annotations[appsv1.AnnotationEvictionRequested]
}

// calls counts how often the operator was asked about evictions.
func calls(t *testing.T) float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != "controller_runtime_webhook_requests_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, l := range m.GetLabel() {
				if l.GetName() == "webhook" && l.GetValue() == paths.EvictionsPath {
					sum += m.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}

// note writes onto a pod since when its eviction waits.
func note(t *testing.T, pod *corev1.Pod, since time.Time) {
	t.Helper()
	suite.Patch(t, pod.DeepCopy(), fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`,
		appsv1.AnnotationEvictionRequested, since.UTC().Format(time.RFC3339)))
}

func gone(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	testkit.Eventually(t, "the pod is evicted", func() error {
		var now corev1.Pod
		err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), &now)
		if err == nil && now.UID == pod.UID && now.DeletionTimestamp == nil {
			return fmt.Errorf("pod %s lives", pod.Name)
		}
		return client.IgnoreNotFound(err)
	})
}

// onePod waits for a fleet's only pod.
func onePod(t *testing.T, f *testkit.Fleet) (pod *corev1.Pod) {
	t.Helper()
	testkit.Eventually(t, "the pod exists", func() error {
		pods := f.Live()
		if len(pods) != 1 {
			return fmt.Errorf("%d pods", len(pods))
		}
		pod = &pods[0]
		return nil
	})
	return pod
}

func TestAnEvictionWaitsForTheReplacement(t *testing.T) {
	t.Parallel()
	f := surgeFirst(t, "web")
	pod := trial(t, f)
	began := time.Now().Truncate(time.Second)
	sentence := expectWaits(t, pod)
	for _, want := range []string{
		"pod web-0 is evicted when its replacement is available", "PodManager web has disruption.policy SurgeFirst",
		"kubectl podmanager why-not -n " + f.Namespace + " pod/web-0",
	} {
		if !strings.Contains(sentence, want) {
			t.Errorf("the answer does not say %q:\n%s", want, sentence)
		}
	}
	noted := requested(t, pod)
	since, err := time.Parse(time.RFC3339, noted)
	if err != nil || since.Before(began) || since.After(time.Now()) {
		t.Errorf("the eviction waits since %q (%v)", noted, err)
	}
	if end := since.Add(10 * time.Minute).Format(time.RFC3339); !strings.Contains(sentence, "from "+end+" on") {
		t.Errorf("the answer does not say %s:\n%s", end, sentence)
	}
	expectWaits(t, pod)
	if again := requested(t, pod); again != noted {
		t.Errorf("a second attempt changed the time from %s to %s", noted, again)
	}
	// Karpenter names the UID. One of a pod that is gone is for the API server to refuse.
	other := types.UID("8b5e6a7f-3c4d-4e5f-8a9b-0c1d2e3f4a5b")
	err = suite.Client.SubResource("eviction").Create(t.Context(), pod.DeepCopy(), &policyv1.Eviction{
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &other}},
	})
	if !apierrors.IsConflict(err) {
		t.Errorf("an eviction of another UID was answered with %v", err)
	}
	// The policy is switched off while the eviction waits.
	f.Patch(`{"disruption":{"policy":"Allow"}}`)
	if err := evict(t, suite.Client, pod); err != nil {
		t.Errorf("without SurgeFirst: %v", err)
	}
	gone(t, pod)
	expectAsked(t, f.Namespace, false)
}

func TestEvictionsThatCostNothingDoNotWait(t *testing.T) {
	t.Parallel()
	f := surgeFirst(t, "web")
	trial(t, f)
	c := listen(t)

	own := f.Live()[1]
	err := suite.Client.SubResource("eviction").Create(t.Context(), own.DeepCopy(), &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{appsv1.AnnotationEvictedBy: "a test"}},
	})
	if err != nil {
		t.Errorf("an eviction of the operator's own: %v", err)
	}

	stuck := suite.Fleet(t, f.Namespace, "stuck")
	pm := stuck.Build().Replicas(1).PodSpec(func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"no": "node"} }).Obj()
	pm.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst
	suite.Create(t, pm)
	if err := evict(t, c, onePod(t, stuck)); err != nil {
		t.Errorf("a pod that is not ready: %v", err)
	}

	volumes := suite.Fleet(t, f.Namespace, "volumes")
	volumes.ApplyYAML(fmt.Sprintf(`
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {name: volumes, namespace: %s}
spec:
  replicas: 1
  image: nginx:1.27
  disruption: {policy: SurgeFirst}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
`, f.Namespace))
	withClaim := onePod(t, volumes)
	// No volume is provisioned here, and no node runs the pod.
	ready := `{"status":{"conditions":[{"type":"Ready","status":"True"}]}}`
	if err := suite.Client.Status().Patch(t.Context(), withClaim.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, []byte(ready))); err != nil {
		t.Fatal(err)
	}
	c.expect(t, "what happened until now")
	if err := evict(t, c, withClaim); err != nil {
		t.Errorf("a pod with a volume claim: %v", err)
	}
	c.expect(t, "a pod with a volume claim",
		"pod volumes-0 is evicted before it is replaced: PodManager volumes has volumeClaimTemplates, and a claim is for one pod at a time")

	alone := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: "alone"}}
	alone.Spec.Containers = []corev1.Container{{Name: "app", Image: "nginx:1.27"}}
	suite.Create(t, alone)
	if err := evict(t, c, alone); err != nil {
		t.Errorf("another's pod: %v", err)
	}
	c.expect(t, "another's pod")
}

func TestAnEvictionDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	f := surgeFirst(t, "web")
	pod := trial(t, f)
	c := listen(t)
	for what, since := range map[string]time.Time{
		"that was let through long ago": time.Now().Add(-21 * time.Minute),
		"that is still to come":         time.Now().Add(time.Hour),
	} {
		note(t, pod, since)
		expectWaits(t, pod)
		if now, _ := time.Parse(time.RFC3339, requested(t, pod)); time.Since(now) > testkit.Patience || time.Until(now) > 0 {
			t.Errorf("a request %s stays: %s", what, requested(t, pod))
		}
	}
	starts := fmt.Sprintf("pod web-%d is not ready yet", nodes)
	testkit.Eventually(t, "the answer names the stand-in", func() error {
		if said := expectWaits(t, pod); !strings.Contains(said, starts) {
			return fmt.Errorf("it says %q", said)
		}
		return nil
	})
	since := time.Now().Add(-11 * time.Minute)
	note(t, pod, since)
	if err := evict(t, c, pod); err != nil {
		t.Errorf("after the deadline: %v", err)
	}
	c.expect(t, "an eviction after the deadline", fmt.Sprintf("the eviction of pod web-0 is held no longer, and only a PodDisruptionBudget can refuse it: "+
		"it was asked for at %s, and disruption.deadlineSeconds of PodManager web is 600; its replacement: %s", since.UTC().Format(time.RFC3339), starts))
	gone(t, pod)
}

// TestAPodIsReplacedBeforeItIsEvicted is the whole way: an eviction waits, the
// operator makes a replacement and evicts the pod. A client that tries again by name
// does not evict the pod that has the name then.
func TestAPodIsReplacedBeforeItIsEvicted(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	pm := f.Build().Replicas(1).Obj()
	pm.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst
	suite.Create(t, pm)
	f.ExpectReady(1)
	expectAsked(t, f.Namespace, true)
	pod := trial(t, f)
	expectWaits(t, pod)
	gone(t, pod)
	f.ExpectHistory(appsv1.ReasonEvicted, appsv1.WhyEvictionRequested, "")
	successor := f.ExpectSuccessor(pod)
	f.ExpectReady(1)
	err := evict(t, suite.Client, successor)
	if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "the pod web-0 that was to be evicted is gone; this is its replacement") {
		t.Errorf("the eviction was tried again and answered with %v", err)
	}
	f.ExpectSamePods(map[string]types.UID{successor.Name: successor.UID})
}

// TestARetryByNameDoesNotEvictTheNextPodOfThatName: whatever took the pod that a drain
// waits for, here the end of its node, the pod that has its name then stays. There is
// room for one: should the stand-in have it, the test takes it away.
func TestARetryByNameDoesNotEvictTheNextPodOfThatName(t *testing.T) {
	t.Parallel()
	f := surgeFirst(t, "web")
	pod := trial(t, f)
	expectWaits(t, pod)
	if err := suite.Client.Delete(t.Context(), pod.DeepCopy(), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	successor := f.ExpectSuccessor(pod)
	standIn := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: fmt.Sprintf("web-%d", nodes)}}
	if err := suite.Client.Delete(t.Context(), standIn, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	for _, when := range []string{"at first", "when it is ready"} {
		if err := evict(t, suite.Client, successor); !apierrors.IsNotFound(err) {
			t.Errorf("%s, an eviction by name was answered with %v", when, err)
		}
		expectServes(t, successor)
	}
	if noted := requested(t, successor); noted != "" {
		t.Errorf("the successor is to leave since %s", noted)
	}
	err := suite.Client.SubResource("eviction").Create(t.Context(), successor.DeepCopy(), &policyv1.Eviction{
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &successor.UID}},
	})
	if !apierrors.IsTooManyRequests(err) {
		t.Errorf("an eviction by UID was answered with %v", err)
	}
}

// TestTheOperatorEvictsWithTheGracePeriodOfTheDrain.
func TestTheOperatorEvictsWithTheGracePeriodOfTheDrain(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	pm := f.Build().Replicas(1).Obj()
	pm.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst
	suite.Create(t, pm)
	f.ExpectReady(1)
	expectAsked(t, f.Namespace, true)
	pod := trial(t, f)
	pods := kubernetes.NewForConfigOrDie(suite.Cluster.RESTConfig()).CoreV1().Pods(f.Namespace)
	watcher, err := pods.Watch(t.Context(), metav1.SingleObject(metav1.ObjectMeta{Name: pod.Name, ResourceVersion: pod.ResourceVersion}))
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	grace := int64(7)
	err = suite.Client.SubResource("eviction").Create(t.Context(), pod.DeepCopy(), &policyv1.Eviction{
		DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: &grace},
	})
	if !apierrors.IsTooManyRequests(err) {
		t.Fatalf("an eviction was answered with %v", err)
	}
	for {
		select {
		case e := <-watcher.ResultChan():
			now, ok := e.Object.(*corev1.Pod)
			if !ok {
				t.Fatalf("the watch ended: %v", e.Object)
			}
			if now.DeletionTimestamp == nil {
				continue
			}
			if *now.DeletionGracePeriodSeconds != grace { // the node sets it to 0 later
				t.Errorf("the grace period is %d, want %d", *now.DeletionGracePeriodSeconds, grace)
			}
			return
		case <-time.After(time.Minute):
			t.Fatal("the operator does not evict the pod")
		}
	}
}

// A dry run writes nothing and does not wait: kubectl drain would try for ever.
func TestADrainCanBeTried(t *testing.T) {
	t.Parallel()
	f := surgeFirst(t, "web")
	pod := trial(t, f)
	out := suite.Kubectl(t, "drain", pod.Spec.NodeName, "--dry-run=server", "--pod-selector=podmanager=web,podmanager-uid="+string(f.Get().UID),
		"--timeout=30s")
	if want := "pod web-0 would not be evicted at once: PodManager web makes a replacement first, for which an eviction waits for at most 10m0s"; !strings.Contains(out, want) {
		t.Errorf("kubectl drain does not say %q:\n%s", want, out)
	}
	if noted := requested(t, pod); noted != "" {
		t.Errorf("it wrote %s", noted)
	}
}

// TestOthersEvictionsAreNotAskedAbout counts, so it has the operator for itself.
func TestOthersEvictionsAreNotAskedAbout(t *testing.T) {
	elsewhere := suite.NewFleet(t, "web")
	elsewhere.Create(elsewhere.Build().Replicas(1))
	elsewhere.ExpectReady(1)
	f := surgeFirst(t, "web")
	pod := trial(t, f)
	before := calls(t)
	other := elsewhere.Live()[0]
	if err := evict(t, suite.Client, &other); err != nil {
		t.Errorf("another namespace: %v", err)
	}
	if n := calls(t) - before; n != 0 {
		t.Errorf("the operator was asked %v times about another namespace", n)
	}
	expectWaits(t, pod)
	if n := calls(t) - before; n != 1 {
		t.Errorf("the operator was asked %v times about its own", n)
	}

	// What another client writes is put back.
	webhook := -1
	configuration := testkit.Get(t, suite, "", testkit.WebhookConfiguration, &admissionregistrationv1.ValidatingWebhookConfiguration{})
	for i, w := range configuration.Webhooks {
		if w.Name == paths.Evictions {
			webhook = i
		}
	}
	patch := fmt.Sprintf(`[{"op":"replace","path":"/webhooks/%d/namespaceSelector","value":{}}]`, webhook)
	if err := suite.Client.Patch(t.Context(), configuration, client.RawPatch(types.JSONPatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	expectAsked(t, elsewhere.Namespace, false)
	expectAsked(t, f.Namespace, true)
	f.Delete()
	expectAsked(t, f.Namespace, false)
}

// TestWithoutTheOperatorNodesAreDrained stops the operator, so it has it for itself.
func TestWithoutTheOperatorNodesAreDrained(t *testing.T) {
	f := surgeFirst(t, "web")
	pod := trial(t, f)
	expectWaits(t, pod)
	if err := suite.Suspend(); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := evict(t, suite.Client, pod); err != nil {
		t.Errorf("without the operator: %v", err)
	}
	t.Logf("answered after %s", time.Since(began))
	gone(t, pod)
	if err := suite.Resume(context.WithoutCancel(t.Context()), suite.Operator); err != nil {
		t.Fatal(err)
	}
	expectServing(f, nodes)
}

// A user who switches the policy on and off has the cluster's webhook configuration
// written once, and not each time.
func TestSwitchingThePolicyWritesTheConfigurationOnce(t *testing.T) {
	f := surgeFirst(t, "switched")
	expectAsked(t, f.Namespace, true)
	mark := suite.AuditMark(t)
	pm := &appsv1.PodManager{ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: "switched"}}
	for range 10 {
		for _, policy := range []appsv1.DisruptionPolicy{appsv1.DisruptionAllow, appsv1.DisruptionSurgeFirst} {
			patch := fmt.Sprintf(`{"spec":{"disruption":{"policy":%q}}}`, policy)
			if err := suite.Client.Patch(t.Context(), pm, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
				t.Fatal(err)
			}
			testkit.Eventually(t, "the operator has seen it", func() error { // what is done at once may be seen as one change
				if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(pm), pm); err != nil || pm.Status.ObservedGeneration == pm.Generation {
					return err
				}
				return fmt.Errorf("generation %d is not observed", pm.Generation)
			})
		}
	}
	expectAsked(t, f.Namespace, true)
	writes := suite.Requests(t, mark, func(e *localkube.AuditEvent) bool {
		return e.Mutating() && e.ObjectRef.Resource == "validatingwebhookconfigurations"
	})
	// Namespaces of other tests may leave meanwhile.
	if len(writes) > 3 {
		t.Errorf("20 switches had the configuration written %d times", len(writes))
	}
}
