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
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// three are a Deployment, a StatefulSet and a PodManager of the same pods, as
// docs/rollouts.md sets them side by side.
const three = `apiVersion: apps/v1
kind: Deployment
metadata: {name: d}
spec:
  replicas: 3
  selector: {matchLabels: {app: d}}
  template: {metadata: {labels: {app: d}}, spec: {containers: [{name: app, image: "nginx:1.27"}]}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: s}
spec:
  replicas: 3
  serviceName: s
  selector: {matchLabels: {app: s}}
  template: {metadata: {labels: {app: s}}, spec: {containers: [{name: app, image: "nginx:1.27"}]}}
---
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {name: p}
spec: {replicas: 3, image: "nginx:1.27", update: {maxUnavailable: 1}}
`

// of are the UIDs of the live pods with an app label, by image.
func (f *fleet) of(app string) (uids map[types.UID]bool, ready, images map[string]int) {
	f.Helper()
	var list corev1.PodList
	if err := suite.Client.List(f.Context(), &list, client.InNamespace(f.Namespace), client.MatchingLabels{"app": app}); err != nil {
		f.Fatal(err)
	}
	uids, ready, images = map[types.UID]bool{}, map[string]int{}, map[string]int{}
	for i := range list.Items {
		if p := &list.Items[i]; testkit.Lives(p) {
			uids[p.UID] = true
			images[p.Spec.Containers[0].Image]++
			if testkit.IsReady(p) {
				ready[p.Spec.Containers[0].Image]++
			}
		}
	}
	return uids, ready, images
}

func (f *fleet) expectOf(app, image string, n int) map[types.UID]bool {
	f.Helper()
	var uids map[types.UID]bool
	testkit.Eventually(f, fmt.Sprintf("%d pods of %s are ready with %s", n, app, image), func() error {
		var ready, images map[string]int
		if uids, ready, images = f.of(app); ready[image] != n || images[image] != len(uids) {
			return fmt.Errorf("ready are %v of %v", ready, images)
		}
		return nil
	})
	return uids
}

// setImages changes the image of all three, as each is changed.
func (f *fleet) setImages(image string) {
	f.Helper()
	f.Kubectl("set", "image", "deployment/d", "statefulset/s", "app="+image)
	f.Kubectl("patch", "pm", "p", "--type=merge", "-p", `{"spec":{"image":"`+image+`"}}`)
}

// The comparison that docs/rollouts.md makes with the built-in kinds: an image
// change keeps the PodManager's pods and none of the others'; and the fix for a
// broken revision reaches all but the StatefulSet, whose broken pod has to be
// deleted by hand.
func TestBesideTheBuiltInKinds(t *testing.T) {
	testkit.Long(t, "it measures other kinds beside ours")
	t.Parallel()
	f := emptyFleet(t)
	f.ApplyYAML(three)
	before := map[string]map[types.UID]bool{}
	for _, app := range []string{"d", "s", "p"} {
		before[app] = f.expectOf(app, "nginx:1.27", 3)
	}
	f.setImages("nginx:1.28")
	for app, kept := range map[string]int{"d": 0, "s": 0, "p": 3} {
		maps.DeleteFunc(before[app], func(uid types.UID, _ bool) bool { return !f.expectOf(app, "nginx:1.28", 3)[uid] })
		if n := len(before[app]); n != kept {
			t.Errorf("%d pods of %s are the same, want %d", n, app, kept)
		}
	}

	f.setImages("broken.invalid/app:1")
	for _, app := range []string{"d", "s", "p"} {
		testkit.Eventually(t, "a pod of "+app+" is broken", func() error {
			if _, _, images := f.of(app); images["broken.invalid/app:1"] == 0 {
				return fmt.Errorf("they have %v", images)
			}
			return nil
		})
	}
	f.setImages("nginx:1.29")
	f.expectOf("d", "nginx:1.29", 3)
	f.expectOf("p", "nginx:1.29", 3)
	testkit.Stays(f, time.Second, func() error {
		if _, _, images := f.of("s"); images["broken.invalid/app:1"] == 0 {
			return fmt.Errorf("the StatefulSet came on by itself: %v", images)
		}
		return nil
	})
	f.Kubectl("delete", "pod", "s-2")
	f.expectOf("s", "nginx:1.29", 3)
}
