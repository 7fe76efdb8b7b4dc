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
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// sizes is a change of the cpus of the two containers.
func sizes(app, log string) string {
	const container = `{"name":%q,"image":"nginx:1.27","resources":{"requests":{"cpu":%q,"memory":"64Mi"}}}`
	return fmt.Sprintf(`{"template":{"spec":{"containers":[%s,%s]}}}`, fmt.Sprintf(container, "app", app), fmt.Sprintf(container, "log", log))
}

func twoContainers(resize string) string {
	return fmt.Sprintf(`
update: {maxUnavailable: 1, maxSurge: 0}
template:
  metadata: {annotations: {localkube.mycompany.com/resize: %q}}
  spec:
    containers:
    - {name: app, image: "nginx:1.27", resources: {requests: {cpu: 100m, memory: 64Mi}}}
    - {name: log, image: "nginx:1.27", resources: {requests: {cpu: 100m, memory: 64Mi}}}
`, resize)
}

// keepLabels refuses the second of the two writes that a resize takes: the one
// that moves the revision label.
func keepLabels(t *testing.T, f *fleet) (lift func()) {
	t.Helper()
	lift = forbid(t, f.Namespace, "labels",
		admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
		`oldObject == null || object.metadata.labels["`+appsv1.LabelRevision+`"] == oldObject.metadata.labels["`+appsv1.LabelRevision+`"]`,
		"revision labels stay here")
	testkit.Eventually(t, "the policy is in force", func() error {
		body := fmt.Sprintf(`{"metadata":{"labels":{%q:"other"}}}`, appsv1.LabelRevision)
		pod := f.Live()[0]
		if err := suite.Client.Patch(t.Context(), &pod, client.RawPatch(types.MergePatchType, []byte(body)), client.DryRunAll); err == nil {
			return errors.New("a revision label can be changed")
		}
		return nil
	})
	return lift
}

func expectSizes(t *testing.T, f *fleet, app, log string) {
	t.Helper()
	testkit.Eventually(t, fmt.Sprintf("the pods ask for %s and %s", app, log), func() error {
		for _, p := range f.Live() {
			if got := cpusOf(&p); got != [2]string{app, log} {
				return fmt.Errorf("%s of revision %s asks for %v", p.Name, p.Labels[appsv1.LabelRevision], got)
			}
		}
		return nil
	})
}

func cpusOf(p *corev1.Pod) [2]string {
	return [2]string{p.Spec.Containers[0].Resources.Requests.Cpu().String(), p.Spec.Containers[1].Resources.Requests.Cpu().String()}
}

// TestAHalfResizeIsTakenBack: the pods were resized, their label was not moved, and
// the template is taken back. They get their size back, and are not recreated, also
// where the node has put the resize off.
func TestAHalfResizeIsTakenBack(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"", "Deferred"} {
		t.Run("the node says "+answer, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 2, twoContainers(answer))
			before := f.UIDs()
			keepLabels(t, f)
			f.Patch(sizes("200m", "100m"))
			expectSizes(t, f, "200m", "100m")
			f.Patch(sizes("100m", "100m"))
			f.ExpectRolledOut(2)
			expectSizes(t, f, "100m", "100m")
			f.ExpectSamePods(before)
			f.ExpectHistory(appsv1.ReasonUpdated, appsv1.WhyRolloutInPlace, "from a change that was taken back")
		})
	}
}

// TestAHalfResizeGivesWayToAnother: the third size has other containers than the
// second one.
func TestAHalfResizeGivesWayToAnother(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, twoContainers(""))
	before := f.UIDs()
	lift := keepLabels(t, f)
	f.Patch(sizes("200m", "100m"))
	expectSizes(t, f, "200m", "100m")
	f.Patch(sizes("100m", "200m"))
	expectSizes(t, f, "100m", "200m")
	lift()
	f.ExpectRolledOut(2)
	expectSizes(t, f, "100m", "200m")
	f.ExpectSamePods(before)
}

// TestTheSizeThatAnotherOneChoseStays, though it is exactly that of an old revision
// and we had resized the pod before.
func TestTheSizeThatAnotherOneChoseStays(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, twoContainers(""))
	f.Patch(sizes("200m", "100m"))
	f.ExpectRolledOut(2)
	pod := f.Pod("web-0")
	body := `{"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"100m"}}}]}}`
	err := suite.Client.SubResource("resize").Patch(t.Context(), pod, client.RawPatch(types.StrategicMergePatchType, []byte(body)), client.FieldOwner("vpa-updater"))
	if err != nil {
		t.Fatal(err)
	}
	f.Scale(3)
	f.ExpectRolledOut(3)
	if got := cpusOf(f.Pod("web-0")); got != [2]string{"100m", "100m"} {
		t.Errorf("web-0 asks for %v: want what the other one chose", got)
	}
	if got := cpusOf(f.Pod("web-2")); got != [2]string{"200m", "100m"} {
		t.Errorf("web-2 asks for %v: want what the template says", got)
	}
}
