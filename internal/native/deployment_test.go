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

package native

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

func TestDeployment(t *testing.T) {
	three := []string{"a", "b", "c"}
	for name, given := range map[string]struct {
		live, changed *kappsv1.Deployment
		sets          []kappsv1.ReplicaSet
		pods          []corev1.Pod
		want          string
		fewest, most  int
		waves         int
	}{
		"with a surge of one, one comes before one goes": {
			live: deployment("v1", 3, "1", "0"), changed: deployment("v2", 3, "1", "0"),
			sets: []kappsv1.ReplicaSet{replicaSet("rs1", "v1", 3, 3, 9)}, pods: pods("rs1", three...),
			want:   "1 created 1 NewTemplate\n2 created 1 NewTemplate\n2 deleted a NewTemplate\n3 created 1 NewTemplate\n3 deleted b NewTemplate\n4 deleted c NewTemplate",
			fewest: 3, most: 4, waves: 4,
		},
		"percentages: maxSurge rounds up, maxUnavailable down": {
			live: deployment("v1", 3, "25%", "50%"), changed: deployment("v2", 3, "25%", "50%"),
			sets: []kappsv1.ReplicaSet{replicaSet("rs1", "v1", 3, 3, 9)}, pods: pods("rs1", three...),
			want:   "1 created 2 NewTemplate\n1 deleted a NewTemplate\n2 created 1 NewTemplate\n2 deleted b NewTemplate\n2 deleted c NewTemplate",
			fewest: 2, most: 4, waves: 2,
		},
		"both bounds 0: one may be unavailable": {
			live: deployment("v1", 3, "0", "10%"), changed: deployment("v2", 3, "0", "10%"),
			sets: []kappsv1.ReplicaSet{replicaSet("rs1", "v1", 3, 3, 9)}, pods: pods("rs1", three...),
			want:   "1 created 1 NewTemplate\n1 deleted a NewTemplate\n2 created 1 NewTemplate\n2 deleted b NewTemplate\n3 created 1 NewTemplate\n3 deleted c NewTemplate",
			fewest: 2, most: 3, waves: 3,
		},
		"Recreate: all go, and then all come": {
			live: deployment("v1", 3, "", ""), changed: deployment("v2", 3, "", ""),
			sets: []kappsv1.ReplicaSet{replicaSet("rs1", "v1", 3, 3, 9)}, pods: pods("rs1", three...),
			want:   "1 deleted a NewTemplate\n1 deleted b NewTemplate\n1 deleted c NewTemplate\n2 created 3 NewTemplate",
			fewest: 0, most: 3, waves: 2,
		},
		"a template that means the same touches no pod": {
			live: deployment("v1", 3, "1", "0"), changed: deployment("v1", 3, "1", "0"),
			sets: []kappsv1.ReplicaSet{replicaSet("rs1", "v1", 3, 3, 9)}, pods: pods("rs1", three...),
			fewest: 3, most: 3,
		},
		"an old template takes its ReplicaSet again, and its pods stay": {
			live: deployment("v2", 2, "1", "0"), changed: deployment("v1", 2, "1", "0"),
			sets:   []kappsv1.ReplicaSet{replicaSet("rs1", "v1", 1, 2, 9), replicaSet("rs2", "v2", 1, 2, 3)},
			pods:   append(pods("rs1", "a"), unready(pods("rs2", "b"))...),
			want:   "1 created 1 NewTemplate\n2 deleted b NewTemplate",
			fewest: 1, most: 3, waves: 2,
		},
		"pods that are not available go first, and cost nothing": {
			live: deployment("v1", 3, "1", "0"), changed: deployment("v2", 3, "1", "0"),
			sets: []kappsv1.ReplicaSet{replicaSet("rs1", "v1", 3, 3, 9)}, pods: append(pods("rs1", "a", "b"), unready(pods("rs1", "c"))...),
			want:   "1 created 1 NewTemplate\n2 created 1 NewTemplate\n2 deleted c NewTemplate\n3 created 1 NewTemplate\n3 deleted a NewTemplate\n4 deleted b NewTemplate",
			fewest: 2, most: 4, waves: 4,
		},
		"a smaller size takes pods by rank": {
			live: deployment("v1", 3, "1", "0"), changed: deployment("v1", 1, "1", "0"),
			sets: []kappsv1.ReplicaSet{replicaSet("rs1", "v1", 3, 3, 9)}, pods: pods("rs1", three...),
			want: "1 deleted a ScaleDown\n1 deleted b ScaleDown", fewest: 1, most: 3, waves: 1,
		},
		"size 0": {
			live: deployment("v1", 3, "1", "0"), changed: deployment("v2", 0, "1", "0"),
			sets: []kappsv1.ReplicaSet{replicaSet("rs1", "v1", 3, 3, 9)}, pods: pods("rs1", three...),
			want: "1 deleted a ScaleDown\n1 deleted b ScaleDown\n1 deleted c ScaleDown", fewest: 0, most: 3, waves: 1,
		},
		"a new one": {changed: deployment("v1", 3, "1", "0"), want: "1 created 3 ScaleUp", fewest: 0, most: 3, waves: 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := Deployment(given.live, given.changed, World{Now: now, Pods: given.pods, ReplicaSets: given.sets})
			if diff := cmp.Diff(given.want, story(p)); diff != "" {
				t.Error(diff)
			}
			if p.FewestAvailable != given.fewest || p.MostPods != given.most || p.Waves != given.waves {
				t.Errorf("%d available, %d pods, %d waves; want %d, %d, %d", p.FewestAvailable, p.MostPods, p.Waves, given.fewest, given.most, given.waves)
			}
		})
	}
}

func TestPausedDeploymentHoldsItsTemplateBack(t *testing.T) {
	live, changed := deployment("v1", 2, "1", "0"), deployment("v2", 2, "1", "0")
	changed.Spec.Paused = true
	p := Deployment(live, changed, World{Now: now, Pods: pods("rs1", "a", "b"), ReplicaSets: []kappsv1.ReplicaSet{replicaSet("rs1", "v1", 2, 2, 9)}})
	if got := story(p); got != "0 held 2 Paused" {
		t.Error(got)
	}
}

func TestScalingKeepsTheProportionsOfARollout(t *testing.T) {
	live, changed := deployment("v2", 4, "1", "1"), deployment("v2", 8, "1", "1")
	w := World{
		Now: now, Pods: append(pods("rs1", "a", "b", "c"), unready(pods("rs2", "d", "e"))...),
		ReplicaSets: []kappsv1.ReplicaSet{replicaSet("rs1", "v1", 3, 4, 9), replicaSet("rs2", "v2", 2, 4, 3)},
	}
	p := Deployment(live, changed, w)
	if p.MostPods != 9 || p.Passing != 2 {
		t.Errorf("%d pods, %d passing\n%s", p.MostPods, p.Passing, story(p))
	}
	if got := codes(p); got != RolloutUnderWay {
		t.Error(got)
	}
}

func TestWithoutPodsThereIsNoPlan(t *testing.T) {
	for _, source := range []string{Pods, ReplicaSets} {
		p := Deployment(deployment("v1", 2, "1", "0"), deployment("v2", 2, "1", "0"), World{Now: now, Unread: map[string]string{source: "no rights"}})
		if len(p.Unknown) == 0 || len(p.Steps) > 0 {
			t.Errorf("%s: %v %v", source, p.Unknown, p.Steps)
		}
	}
}

func TestReplicaSet(t *testing.T) {
	live, changed := replicaSet("rs1", "v1", 3, 3, 9), replicaSet("rs1", "v2", 2, 3, 9)
	live.OwnerReferences, changed.OwnerReferences = nil, nil
	p := ReplicaSet(&live, &changed, World{Now: now, Pods: pods("rs1", "a", "b", "c")})
	if got := story(p); got != "1 deleted a ScaleDown" {
		t.Error(got)
	}
	if got := codes(p); got != TemplateNotApplied {
		t.Error(got)
	}
	changed.Spec.Replicas = ptr.To[int32](5)
	if got := story(ReplicaSet(&live, &changed, World{Now: now, Pods: pods("rs1", "a", "b", "c")})); got != "1 created 2 ScaleUp" {
		t.Error(got)
	}
}

func TestThousandPodsArePlannedFast(t *testing.T) {
	live, changed := deployment("v1", 1000, "1", "0"), deployment("v2", 900, "1", "0")
	w := World{Now: now, ReplicaSets: []kappsv1.ReplicaSet{replicaSet("rs1", "v1", 1000, 1000, 9)}}
	for i := range 1000 {
		w.Pods = append(w.Pods, pods("rs1", fmt.Sprintf("web-%03d", i))...)
	}
	began := time.Now()
	p := Deployment(live, changed, w)
	if took := time.Since(began); took > patience || p.Count(Deleted) != 1000 {
		t.Errorf("it took %s for %d pods in %d waves", took, p.Count(Deleted), p.Waves)
	} else {
		t.Logf("%s", took)
	}
}

// The new ReplicaSet has its size, and its pods are not ready: whether the old pods go or all
// ReplicaSets grow depends on what comes first.
func TestAPauseInTheMiddleOfARolloutIsUnknownWhereItRaces(t *testing.T) {
	for name, c := range map[string]struct {
		surge   string
		fresh   []corev1.Pod
		unknown bool
	}{
		"new pods are not ready, and there is room": {"3", unready(pods("b", "b1", "b2")), true},
		"new pods are not ready, and no room":       {"1", unready(pods("b", "b1", "b2")), false},
		"new pods are ready":                        {"3", pods("b", "b1", "b2"), false},
	} {
		t.Run(name, func(t *testing.T) {
			live := deployment("b:1", 2, c.surge, "1")
			changed := live.DeepCopy()
			changed.Spec.Paused = true
			w := World{Now: now, ReplicaSets: []kappsv1.ReplicaSet{replicaSet("a", "a:1", 1, 2, 60), replicaSet("b", "b:1", 2, 2, 1)}}
			w.Pods = append(pods("a", "a1"), c.fresh...)
			p := Deployment(live, changed, w)
			if p.Unforeseen != c.unknown || p.Unforeseen == (len(p.Steps) > 0) {
				t.Errorf("unforeseen %t, want %t: %s", p.Unforeseen, c.unknown, story(p))
			}
		})
	}
}

func TestAScaleDownInTheMiddleOfARolloutMayDip(t *testing.T) {
	live, changed := deployment("b:1", 6, "1", "1"), deployment("b:1", 3, "1", "1")
	w := World{Now: now, ReplicaSets: []kappsv1.ReplicaSet{replicaSet("a", "a:1", 5, 6, 60), replicaSet("b", "b:1", 2, 6, 1)}}
	old := pods("a", "a1", "a2", "a3", "a4", "a5")
	for name, c := range map[string]struct {
		fresh []corev1.Pod
		want  bool
	}{
		"new pods are not ready": {unready(pods("b", "b1", "b2")), true},
		"new pods are ready":     {pods("b", "b1", "b2"), false},
	} {
		w.Pods = append(slices.Clone(old), c.fresh...)
		if p := Deployment(live, changed, w); (p.Dip > 0) != c.want || p.FewestAvailable < p.Dip {
			t.Errorf("%s: %d fewer for a moment of %d: %s", name, p.Dip, p.FewestAvailable, story(p))
		}
	}
}
