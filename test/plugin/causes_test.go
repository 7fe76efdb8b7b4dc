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

package plugin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestTheCauseIsToldByEveryVerb: what keeps a fleet from its goal is in the STATUS column
// of kubectl get, in status, in why-not and in rollout status.
func TestTheCauseIsToldByEveryVerb(t *testing.T) {
	for name, test := range map[string]struct {
		spec  func(*corev1.PodSpec)
		image string
		quota bool
		want  string
		by    string // empty where it is only under way
	}{
		"no node fits": {
			spec: func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"example.com/kind": "none"} },
			want: "2 of 2 pods cannot be scheduled: 0/", by: "Unschedulable",
		},
		"a claim is missing": {
			spec: func(s *corev1.PodSpec) {
				claim := &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "nowhere"}
				s.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim}}}
			},
			want: `2 of 2 pods are waiting for a volume: `, by: "WaitingForVolume",
		},
		"no scheduler answers": {
			spec: func(s *corev1.PodSpec) { s.SchedulerName = "none" },
			want: "2 of 2 pods are waiting for a node",
		},
		"an image is missing":    {image: "registry.invalid/app:1", want: "2 of 2 pods cannot pull an image: ImagePullBackOff", by: "ImageNotPulled"},
		"a container crashes":    {image: "app:crash-1", want: "2 of 2 pods are crashing: CrashLoopBackOff", by: "Crashing"},
		"a quota leaves no room": {quota: true, want: "2 of 2 pods cannot be created: ", by: "QuotaExceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := suite.Namespace(t)
			p := as(t, namespace, "ada")
			if test.quota {
				q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "few"}}
				q.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
				suite.Create(t, q)
			}
			pm := testkit.MakePodManager(namespace, "web").Replicas(2)
			if test.spec != nil {
				pm = pm.PodSpec(test.spec)
			}
			if test.image != "" {
				pm = pm.Image(test.image)
			}
			suite.Create(t, pm.Obj())
			for place, ask := range map[string]func() (string, error){
				"kubectl get pm": func() (string, error) { return suite.TryKubectl(t, "get", "pm", "web", "-n", namespace) },
				"status":         func() (string, error) { return p.try(t, "status", "web") },
				"why-not":        func() (string, error) { return p.try(t, "why-not", "web") },
				"rollout status": func() (string, error) {
					out, err := p.try(t, "rollout", "status", "web", "--watch=false")
					if err != nil { // it will not go on
						out += err.Error()
					}
					return out, nil
				},
			} {
				want := test.want
				if place == "why-not" && test.by != "" {
					want = test.by + "): " + test.want
					if test.quota {
						want = "is held back by " + test.by + ": " + test.want
					}
				}
				testkit.Eventually(t, place+" says "+want, func() error {
					out, err := ask()
					if err == nil && !strings.Contains(out, want) {
						err = fmt.Errorf("it says:\n%s", out)
					}
					return err
				})
			}
		})
	}
}

// TestARestartIsFollowedToItsEnd: a restart changes no spec, so that the status says that
// all is well until the operator has seen it.
func TestARestartIsFollowedToItsEnd(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	fleet(t, namespace, 3)
	old := podUIDs(t, namespace)
	<-time.After(1100 * time.Millisecond) // a restart is about pods of an earlier second
	p.must(t, "rollout", "restart", "web")
	told := p.must(t, "rollout", "status", "web")
	if !strings.Contains(told, "of 3 pods are restarted") {
		t.Errorf("it does not say how far it is:\n%s", told)
	}
	for name, uid := range podUIDs(t, namespace) {
		if old[name] == uid {
			t.Errorf("%s is still the old one when the restart is done", name)
		}
	}
}

// TestWhyKnowsAPodManagerThatIsGone, by its name.
func TestWhyKnowsAPodManagerThatIsGone(t *testing.T) {
	namespace := suite.Namespace(t)
	p := as(t, namespace, "ada")
	fleet(t, namespace, 2)
	suite.Delete(t, testkit.MakePodManager(namespace, "web").Obj(), client.PropagationPolicy(metav1.DeletePropagationBackground))
	testkit.Eventually(t, "its pods and it are gone", func() error {
		if left := podUIDs(t, namespace); len(left) > 0 {
			return fmt.Errorf("%d pods are left", len(left))
		}
		if _, err := p.try(t, "status", "web"); err == nil {
			return fmt.Errorf("it is still there")
		}
		return nil
	})
	if story := p.story(t, "web"); !strings.Contains(story, "created web-0, web-1") {
		t.Errorf("its story is lost:\n%s", story)
	}
	if _, err := p.try(t, "why", "never-was"); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("a name that never was: %v", err)
	}
}
