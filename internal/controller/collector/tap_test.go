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

package collector

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	collectorv1 "github.com/mycompany/pod-operator/api/collector/v1"
)

func aPod(name, version string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name), ResourceVersion: version, Labels: map[string]string{"app": "web"},
		},
		Status: corev1.PodStatus{PodIP: "10.0.0." + name},
	}
}

func aDeployment(version string, own, pods map[string]string) *kappsv1.Deployment {
	d := &kappsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: "d", ResourceVersion: version, Labels: own}}
	d.Spec.Template.Labels = pods
	return d
}

// newTap is a tap of a stream of its own.
func newTap(kind int, b *book) (*stream, *tap) {
	k := watchedKinds()[kind]
	s := newStream(place{kind: k.gvk.Kind, namespace: "ns"}, k, clock.RealClock{})
	t := &tap{
		kind: k.gvk.Kind, selector: labels.SelectorFromSet(labels.Set{"app": "web"}), book: b,
		clock: clock.RealClock{}, known: map[types.UID]string{}, works: func() {}, fails: func(error) {},
	}
	s.join(t)
	return s, t
}

func statusOf(b *book) collectorv1.CollectorStatus {
	var s collectorv1.CollectorStatus
	b.status(&s)
	return s
}

func TestAListAfterALostWatchShowsWhatCameAndWent(t *testing.T) {
	b := newBook(nil, func() {})
	tap, _ := newTap(0, b)
	err := errors.Join(
		tap.Replace([]any{aPod("1", "10"), aPod("2", "11"), aPod("3", "12")}, "12"),
		tap.Update(aPod("1", "13")),
		tap.Replace([]any{aPod("1", "13"), aPod("2", "14"), aPod("4", "15")}, "15"),
	)
	if err != nil {
		t.Fatal(err)
	}
	got := statusOf(b)
	want := collectorv1.EventCounts{Added: 1, Modified: 2, Deleted: 1}
	if got.Events != want || got.Gaps != 1 || got.Pods != 3 {
		t.Errorf("counted %+v with %d gaps and %d pods", got.Events, got.Gaps, got.Pods)
	}
	if diff := cmp.Diff([]string{"10.0.0.1", "10.0.0.2", "10.0.0.4"}, got.IPs); diff != "" {
		t.Errorf("addresses (-want +got):\n%s", diff)
	}
}

func TestAWorkloadMatchesByItsLabelsOrByThoseOfItsPods(t *testing.T) {
	match, other := map[string]string{"app": "web"}, map[string]string{"app": "other"}
	for name, c := range map[string]struct {
		own, pods map[string]string
		want      int64
	}{
		"its own labels":     {match, other, 1},
		"the labels of pods": {nil, match, 1},
		"neither":            {other, other, 0},
		"no labels at all":   {nil, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(nil, func() {})
			tap, _ := newTap(1, b)
			if err := errors.Join(tap.Replace(nil, "1"), tap.Add(aDeployment("2", c.own, c.pods))); err != nil {
				t.Fatal(err)
			}
			if got := statusOf(b); got.WorkloadEvents.Added != c.want || int64(got.Workloads) != c.want {
				t.Errorf("counted %+v of %d workloads", got.WorkloadEvents, got.Workloads)
			}
		})
	}
}

func TestAWorkloadThatNoLongerMatchesIsForgotten(t *testing.T) {
	b := newBook(nil, func() {})
	stream, tap := newTap(1, b)
	err := errors.Join(
		stream.Replace([]any{aDeployment("1", map[string]string{"app": "web"}, nil)}, "1"),
		stream.Update(aDeployment("2", nil, nil)),
		stream.Update(aDeployment("3", nil, nil)),
	)
	if err != nil {
		t.Fatal(err)
	}
	if got := statusOf(b); got.Workloads != 0 || got.WorkloadEvents.Total() != 0 || len(tap.known) > 0 {
		t.Errorf("%d workloads, %+v, knows %v", got.Workloads, got.WorkloadEvents, tap.known)
	}
}

// other gives a pod labels that do not match.
func other(p *corev1.Pod) *corev1.Pod {
	p.Labels = map[string]string{"app": "other"}
	return p
}

// TestAPodIsCountedAsAWatchWithASelectorDoes: the API server tells such a watch
// that a pod was added when its labels begin to match, and deleted when they end.
func TestAPodIsCountedAsAWatchWithASelectorDoes(t *testing.T) {
	for name, c := range map[string]struct {
		events func(*stream) error
		want   collectorv1.EventCounts
		pods   int32
	}{
		"it never matches": {
			events: func(s *stream) error {
				return errors.Join(s.Add(other(aPod("1", "2"))), s.Update(other(aPod("1", "3"))), s.Delete(other(aPod("1", "4"))))
			},
		},
		"it begins to match": {
			events: func(s *stream) error { return errors.Join(s.Add(other(aPod("1", "2"))), s.Update(aPod("1", "3"))) },
			want:   collectorv1.EventCounts{Added: 1}, pods: 1,
		},
		"it ends to match": {
			events: func(s *stream) error {
				return errors.Join(s.Add(aPod("1", "2")), s.Update(other(aPod("1", "3"))), s.Update(other(aPod("1", "4"))), s.Delete(other(aPod("1", "5"))))
			},
			want: collectorv1.EventCounts{Added: 1, Deleted: 1},
		},
		"it loses its labels in the write that deletes it": {
			events: func(s *stream) error { return errors.Join(s.Add(aPod("1", "2")), s.Delete(other(aPod("1", "3")))) },
			want:   collectorv1.EventCounts{Added: 1, Deleted: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook(nil, func() {})
			s, _ := newTap(0, b)
			if err := errors.Join(s.Replace(nil, "1"), c.events(s)); err != nil {
				t.Fatal(err)
			}
			if got := statusOf(b); got.Events != c.want || got.Pods != c.pods {
				t.Errorf("counted %+v of %d pods, want %+v of %d", got.Events, got.Pods, c.want, c.pods)
			}
		})
	}
}
