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
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// threePart is a template with an init container, a sidecar and the app.
const threePart = `
update: {maxUnavailable: 1}
template:
  metadata:
    labels: {tier: front, stage: one}
  spec:
    initContainers:
    - {name: setup, image: "busybox:1"}
    - {name: proxy, image: "envoy:1", restartPolicy: Always, resources: {requests: {cpu: 10m}}}
    containers:
    - name: app
      image: nginx:1.27
      resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 200m, memory: 128Mi}}
`

// Each change is made with kubectl on running pods: no pod is replaced, and
// nothing restarts that need not.
func TestChangesInPlace(t *testing.T) {
	t.Parallel()
	for _, identity := range []string{"Ordinal", "Random"} {
		t.Run(identity, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 4, "identity: "+identity+threePart)
			before := f.UIDs()
			for _, step := range []struct {
				name     string
				patch    string
				check    func(p *corev1.Pod) error
				restarts map[string]int
			}{
				{
					name:  "labels and annotations",
					patch: `{"template":{"metadata":{"labels":{"tier":"back","stage":null,"new":"yes"},"annotations":{"note":"x"}}}}`,
					check: func(p *corev1.Pod) error {
						if _, there := p.Labels["stage"]; there || p.Labels["tier"] != "back" || p.Labels["new"] != "yes" || p.Annotations["note"] != "x" {
							return fmt.Errorf("%s has labels %v and annotations %v", p.Name, p.Labels, p.Annotations)
						}
						return nil
					},
					restarts: map[string]int{"app": 0, "proxy": 0, "setup": 0},
				},
				{
					name:     "the image of the app",
					patch:    `{"image":"nginx:1.28"}`,
					check:    runs("app", "nginx:1.28"),
					restarts: map[string]int{"app": 4, "proxy": 0, "setup": 0},
				},
				{
					name: "the image of the sidecar",
					patch: `{"template":{"spec":{"initContainers":[{"name":"setup","image":"busybox:1"},` +
						`{"name":"proxy","image":"envoy:2","restartPolicy":"Always","resources":{"requests":{"cpu":"10m"}}}]}}}`,
					check:    runs("proxy", "envoy:2"),
					restarts: map[string]int{"app": 4, "proxy": 4, "setup": 0},
				},
				{
					name: "the image of the init container, which is done",
					patch: `{"template":{"spec":{"initContainers":[{"name":"setup","image":"busybox:2"},` +
						`{"name":"proxy","image":"envoy:2","restartPolicy":"Always","resources":{"requests":{"cpu":"10m"}}}]}}}`,
					check: func(p *corev1.Pod) error {
						if image := p.Spec.InitContainers[0].Image; image != "busybox:2" {
							return fmt.Errorf("%s has init container %s", p.Name, image)
						}
						return nil
					},
					restarts: map[string]int{"app": 4, "proxy": 4, "setup": 0},
				},
				{
					name: "the size of the app",
					patch: `{"template":{"spec":{"containers":[{"name":"app","image":"nginx:1.28","resources":` +
						`{"requests":{"cpu":"150m","memory":"64Mi"},"limits":{"cpu":"300m","memory":"128Mi"}}}]}}}`,
					check: func(p *corev1.Pod) error {
						if r := p.Status.ContainerStatuses[0].Resources; r == nil || r.Requests.Cpu().String() != "150m" || r.Limits.Cpu().String() != "300m" {
							return fmt.Errorf("%s has %+v", p.Name, r)
						}
						return nil
					},
					restarts: map[string]int{"app": 4, "proxy": 4, "setup": 0},
				},
			} {
				f.Patch(step.patch)
				f.ExpectRolledOut(4)
				for _, p := range f.Live() {
					if err := step.check(&p); err != nil {
						t.Errorf("%s: %v", step.name, err)
					}
				}
				if got := f.restarts(); !maps.Equal(got, step.restarts) {
					t.Errorf("%s: restarts are %v, want %v", step.name, got, step.restarts)
				}
				f.ExpectSamePods(before)
			}
			f.ExpectHistory(appsv1.ReasonUpdated, appsv1.WhyRolloutInPlace, "in place:")
			if d := testkit.Decided(f.Get(), appsv1.ReasonDeleted, appsv1.WhyRolloutRecreate); d != nil {
				t.Errorf("pods were recreated: %+v", d)
			}
		})
	}
}

// runs checks that a container runs an image, by its status.
func runs(container, image string) func(p *corev1.Pod) error {
	return func(p *corev1.Pod) error {
		for _, list := range [][]corev1.ContainerStatus{p.Status.ContainerStatuses, p.Status.InitContainerStatuses} {
			for i := range list {
				if list[i].Name == container && list[i].Image == image {
					return nil
				}
			}
		}
		return fmt.Errorf("%s does not run %s", p.Name, image)
	}
}

// With the gate a pod is out of service before its image changes and back when
// it is done; a resize that needs no restart leaves it in service.
func TestReadinessGate(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, `
update: {readinessGate: true, maxUnavailable: 1}
template:
  spec:
    containers: [{name: app, image: "nginx:1.27", resources: {requests: {cpu: 100m, memory: 64Mi}}}]
`)
	before := f.UIDs()
	seen := map[string][]string{}
	w := f.watch(func(pods map[string]*corev1.Pod) string {
		wrong := within(2, 3)(pods)
		for name, p := range pods {
			state := strings.TrimPrefix(p.Spec.Containers[0].Image, "nginx:") + " " + string(testkit.ConditionOf(p, appsv1.GateInService))
			if told := seen[name]; len(told) == 0 || told[len(told)-1] != state {
				seen[name] = append(told, state)
			}
		}
		return wrong
	})
	f.Patch(`{"image":"nginx:1.28"}`)
	f.ExpectRolledOut(3)
	f.Patch(`{"template":{"spec":{"containers":[{"name":"app","image":"nginx:1.28","resources":{"requests":{"cpu":"200m","memory":"64Mi"}}}]}}}`)
	f.ExpectRolledOut(3)
	w.hear(f)
	f.ExpectSamePods(before)
	for name, states := range seen {
		if got := strings.Join(states, ", "); got != "1.27 True, 1.27 False, 1.28 False, 1.28 True" {
			t.Errorf("%s went through %s", name, got)
		}
	}
	if len(seen) != 3 {
		t.Errorf("saw %d pods, want 3", len(seen))
	}
}

// What a node answers to a resize decides whether the pod is recreated.
func TestResizeAnswers(t *testing.T) {
	t.Parallel()
	for answer, reason := range map[string]string{"Infeasible": appsv1.WhyResizeInfeasible, "Deferred": appsv1.WhyResizeDeferred} {
		t.Run(answer, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3, fmt.Sprintf(`
update: {maxUnavailable: 1, maxSurge: 0, resizeDeadlineSeconds: 2}
template:
  metadata: {annotations: {localkube.mycompany.com/resize: %s}}
  spec:
    containers: [{name: app, image: "nginx:1.27", resources: {requests: {cpu: 100m, memory: 64Mi}}}]
`, answer))
			before := f.UIDs()
			w := f.watch(within(2, 3))
			f.Patch(`{"template":{"spec":{"containers":[{"name":"app","image":"nginx:1.27","resources":{"requests":{"cpu":"200m","memory":"64Mi"}}}]}}}`)
			f.ExpectRolledOut(3)
			w.hear(f)
			f.ExpectNewPods(before)
			f.ExpectHistory(appsv1.ReasonDeleted, reason, "recreated: node")
		})
	}
}

// A size that no node holds is taken back while the nodes still say no: the
// pods return in place.
func TestAResizeIsTakenBack(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, `
update: {maxUnavailable: 1, maxSurge: 0}
template:
  metadata: {annotations: {localkube.mycompany.com/resize: Deferred}}
  spec:
    containers: [{name: app, image: "nginx:1.27", resources: {requests: {cpu: 100m, memory: 64Mi}}}]
`)
	before := f.UIDs()
	size := `{"template":{"spec":{"containers":[{"name":"app","image":"nginx:1.27","resources":{"requests":{"cpu":%q,"memory":"64Mi"}}}]}}}`
	f.Patch(fmt.Sprintf(size, "200m"))
	testkit.Eventually(t, "the nodes put the resize off", func() error {
		for _, p := range f.Live() {
			if testkit.ConditionOf(&p, corev1.PodResizePending) != corev1.ConditionTrue {
				return fmt.Errorf("%s says %v", p.Name, p.Status.Conditions)
			}
		}
		return nil
	})
	f.ExpectCondition(appsv1.ConditionReconciling, appsv1.ReasonRollingOut)
	f.Patch(fmt.Sprintf(size, "100m"))
	f.ExpectRolledOut(2)
	f.ExpectSamePods(before)
}

// An image that is taken back before the kubelet followed leaves the container
// that runs alone, and the fleet does not wait for a restart that never comes.
func TestAnImageIsTakenBackBeforeTheKubeletFollowed(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, `
image: nginx:1.27
update: {maxUnavailable: 2, maxSurge: 0}
template:
  metadata: {annotations: {localkube.mycompany.com/start-delay: 15s}}
`)
	before := f.UIDs()
	f.Patch(`{"image":"nginx:1.28"}`)
	f.ExpectImages(map[string]int{"nginx:1.28": 2})
	f.Patch(`{"image":"nginx:1.27"}`)
	f.ExpectImages(map[string]int{"nginx:1.27": 2})
	f.ExpectRolledOut(2)
	f.ExpectSamePods(before)
	if got := f.restarts()["app"]; got != 0 {
		t.Errorf("the containers restarted %d times", got)
	}
}

// A default that the template begins to spell out is no change at all.
func TestADefaultThatIsSpelledOutChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, "image: nginx:1.27")
	before, revisions := f.UIDs(), len(f.Revisions())
	f.Patch(`{"template":{"spec":{"terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","restartPolicy":"Always",` +
		`"containers":[{"name":"app","image":"nginx:1.27","imagePullPolicy":"IfNotPresent","terminationMessagePolicy":"File"}]}}}`)
	f.ExpectRolledOut(2)
	f.ExpectSamePods(before)
	if now := len(f.Revisions()); now != revisions {
		t.Errorf("there are %d revisions, there were %d", now, revisions)
	}
}
