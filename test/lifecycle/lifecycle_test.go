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

// Package lifecycle drives the operator through the API of lifecycle.k8s.io,
// EvictionRequests and Evictions, which Kubernetes 1.37 has behind the feature gate
// EvictionRequestAPI. The controller that makes Evictions from EvictionRequests is
// not in 1.37: where a test needs it, the test writes what it would write.
package lifecycle

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/podrender"
	"github.com/mycompany/pod-operator/internal/testkit"
)

var suite *testkit.Suite

// Two tests have two nodes each for themselves.
const nodes = 4

var pairs atomic.Int32

func TestMain(m *testing.M) {
	testkit.Main(m, &suite, testkit.Setup{Verdict: checkRights, Cluster: localkube.Options{
		Audit:         localkube.AuditOptions{Level: localkube.AuditMetadata},
		Nodes:         localkube.NodeOptions{Count: nodes},
		FeatureGates:  map[string]bool{"EvictionRequestAPI": true},
		RuntimeConfig: map[string]string{"lifecycle.k8s.io/v1alpha1": "true"},
	}})
}

// checkRights reads the audit log: the operator was refused nothing, and it needed
// every right that it has for this API.
func checkRights(_ context.Context, s *testkit.Suite) error {
	events, err := s.Cluster.AuditEvents(0)
	if err != nil {
		return err
	}
	unused := sets.New("watch evictionrequests", "watch evictions", "patch evictions/status")
	var errs []error
	for i := range events {
		e := &events[i]
		if e.User.Username != testkit.OperatorUser {
			continue
		}
		if e.Annotations["authorization.k8s.io/decision"] == "forbid" {
			errs = append(errs, fmt.Errorf("the operator may not %s %s", e.Verb, e.RequestURI))
		}
		if e.ObjectRef.APIGroup == lifecyclev1alpha1.GroupName {
			unused.Delete(strings.TrimSuffix(e.Verb+" "+e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource, "/"))
		}
	}
	if len(unused) > 0 && flag.Lookup("test.run").Value.String() == "" {
		errs = append(errs, fmt.Errorf("the operator may and never did: %v", sets.List(unused)))
	}
	return errors.Join(errs...)
}

// requester is who asks for evictions here.
const requester = "drains.example.com/test"

func ask(t *testing.T, pod *corev1.Pod) *lifecyclev1alpha1.EvictionRequest {
	t.Helper()
	request := &lifecyclev1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: "leave-" + pod.Name}}
	request.Spec = lifecyclev1alpha1.EvictionRequestSpec{
		Target:    lifecyclev1alpha1.EvictionRequestTarget{Pod: &lifecyclev1alpha1.EvictionRequestPodReference{Name: pod.Name, UID: pod.UID}},
		Requester: requester, Intent: lifecyclev1alpha1.EvictionRequestIntentEviction,
	}
	suite.Create(t, request)
	return request
}

// surgeFirst makes a fleet.
func surgeFirst(t *testing.T, replicas int32) *testkit.Fleet {
	t.Helper()
	f := suite.NewFleet(t, "web")
	pm := f.Build().Replicas(replicas).Obj()
	pm.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst
	suite.Create(t, pm)
	f.ExpectReady(int(replicas))
	return f
}

// crowded makes a fleet of one pod with no room for a replacement, until the other
// node gets the label, which room does.
func crowded(t *testing.T) (f *testkit.Fleet, room func()) {
	t.Helper()
	f = suite.NewFleet(t, "web")
	var all corev1.NodeList
	if err := suite.Client.List(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	label := func(n int) {
		suite.Patch(t, &all.Items[n], fmt.Sprintf(`{"metadata":{"labels":{"for":%q}}}`, f.Namespace))
	}
	n := 2 * int(pairs.Add(1)-1)
	label(n)
	pm := f.Build().Replicas(1).PodSpec(func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"for": f.Namespace}
		spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, LabelSelector: metav1.SetAsLabelSelector(map[string]string{appsv1.LabelName: "web"}),
			}},
		}}
	}).Obj()
	pm.Spec.Disruption.Policy = appsv1.DisruptionSurgeFirst
	suite.Create(t, pm)
	f.ExpectReady(1)
	return f, func() { label(n + 1) }
}

func TestARequestedPodIsReplacedAndEvicted(t *testing.T) {
	t.Parallel()
	f := surgeFirst(t, 1)
	pod := f.Live()[0]
	want := []corev1.EvictionResponder{{Name: podrender.EvictionResponder, Priority: ptr.To[int32](10000)}}
	if got := pod.Spec.EvictionResponders; len(got) != 1 || got[0].Name != want[0].Name || *got[0].Priority != *want[0].Priority {
		t.Errorf("the responders are %+v", got)
	}
	ask(t, &pod)
	f.ExpectSuccessor(&pod)
	f.ExpectHistory(appsv1.ReasonEvicted, appsv1.WhyEvictionRequested, "was requested by "+requester)
	f.ExpectReady(1)
	if least := leastReady(f); least != "" {
		t.Error(least)
	}
}

// leastReady looks into the history: the stand-in came before the eviction.
func leastReady(f *testkit.Fleet) string {
	pm := f.Get()
	made := testkit.Decided(pm, appsv1.ReasonCreated, appsv1.WhyDisruptionSurge)
	gone := testkit.Decided(pm, appsv1.ReasonEvicted, appsv1.WhyEvictionRequested)
	if made == nil || gone == nil || gone.Time.Before(&made.Time) {
		return fmt.Sprintf("a stand-in was made: %+v; the pod went: %+v", made, gone)
	}
	return ""
}

// A request that is withdrawn or deleted ends, and its stand-in goes.
func TestARequestIsCancelled(t *testing.T) {
	t.Parallel()
	f, _ := crowded(t)
	before := f.UIDs()
	pod := f.Live()[0]
	for what, cancel := range map[string]func(*lifecyclev1alpha1.EvictionRequest){
		"withdrawn": func(r *lifecyclev1alpha1.EvictionRequest) {
			suite.Patch(t, r, `{"spec":{"intent":"Withdrawn"}}`)
			suite.Delete(t, r)
		},
		"deleted": func(r *lifecyclev1alpha1.EvictionRequest) { suite.Delete(t, r) },
	} {
		request := ask(t, &pod)
		expectPods(t, f, 2)
		cancel(request)
		expectPods(t, f, 1)
		f.ExpectReady(1)
		f.ExpectSamePods(before)
		if t.Failed() {
			t.Fatalf("the request was %s", what)
		}
	}
}

func expectPods(t *testing.T, f *testkit.Fleet, n int) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("there are %d pods", n), func() error {
		if live := len(f.Live()); live != n {
			return fmt.Errorf("there are %d", live)
		}
		return nil
	})
}

// turn writes what the controller of Kubernetes writes when it is the operator's turn.
func turn(t *testing.T, pod *corev1.Pod) *lifecyclev1alpha1.Eviction {
	t.Helper()
	eviction := &lifecyclev1alpha1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	eviction.Spec.Target.Pod = &lifecyclev1alpha1.EvictionPodReference{Name: pod.Name, UID: pod.UID}
	suite.Create(t, eviction)
	now := metav1.Now()
	eviction.Status = lifecyclev1alpha1.EvictionStatus{
		Requesters: []lifecyclev1alpha1.Requester{{Name: requester, Intent: lifecyclev1alpha1.RequesterIntentEviction}},
		TargetResponders: []lifecyclev1alpha1.TargetResponder{
			{Name: podrender.EvictionResponder, Priority: ptr.To[int32](10000), State: lifecyclev1alpha1.ResponderStateActive},
			{Name: lifecyclev1alpha1.EvictionResponderImperativeEviction, Priority: ptr.To[int32](100), State: lifecyclev1alpha1.ResponderStateInactive},
		},
		Responders: []lifecyclev1alpha1.ResponderStatus{
			{Name: podrender.EvictionResponder, StartTime: &now},
			{Name: lifecyclev1alpha1.EvictionResponderImperativeEviction},
		},
	}
	if err := suite.Client.Status().Update(t.Context(), eviction); err != nil {
		t.Fatal(err)
	}
	return eviction
}

// expectReport waits for the operator's report.
func expectReport(t *testing.T, eviction *lifecyclev1alpha1.Eviction, message string, over bool) {
	t.Helper()
	testkit.Eventually(t, "the operator reports: "+message, func() error {
		if err := suite.Client.Get(t.Context(), client.ObjectKeyFromObject(eviction), eviction); err != nil {
			return err
		}
		for _, r := range eviction.Status.Responders {
			if r.Name != podrender.EvictionResponder {
				continue
			}
			if !strings.Contains(ptr.Deref(r.Message, ""), message) || over != (r.CompletionTime != nil) || !over && r.HeartbeatTime == nil {
				return fmt.Errorf("it says %q, last at %s, over at %s", ptr.Deref(r.Message, ""), r.HeartbeatTime, r.CompletionTime)
			}
			return nil
		}
		return errors.New("it is no responder")
	})
}

func TestTheActiveResponderReports(t *testing.T) {
	t.Parallel()
	f, room := crowded(t)
	pod := f.Live()[0]
	eviction := turn(t, &pod)
	until := eviction.Status.Responders[0].StartTime.Add(10 * time.Minute).UTC().Format(time.RFC3339)
	expectReport(t, eviction, "waits until a replacement of PodManager web is available, at most until "+until, false)
	expectPods(t, f, 2)
	room()
	f.ExpectSuccessor(&pod)
	expectReport(t, eviction, "the pod is gone", true)
}

// A fleet that makes no replacements is no responder of new pods, and hands over at
// once what it was asked before.
func TestWithoutSurgeFirstTheNextResponderIsAsked(t *testing.T) {
	t.Parallel()
	f := surgeFirst(t, 1)
	pod := f.Live()[0]
	f.Patch(`{"disruption":{"policy":"Allow"}}`)
	f.ExpectReady(1)
	expectReport(t, turn(t, &pod), "PodManager web makes no replacement before a pod goes", true)
	f.Scale(2)
	f.ExpectReady(2)
	for _, p := range f.Live() {
		if (p.UID == pod.UID) != (len(p.Spec.EvictionResponders) == 1) {
			t.Errorf("%s has the responders %+v", p.Name, p.Spec.EvictionResponders)
		}
	}
}
