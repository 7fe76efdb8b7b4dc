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
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// volumes makes volumes of a storage class that is the namespace's own, to
// which claims bind.
func (f *fleet) volumes(n int) {
	f.Helper()
	var manifests []string
	for i := range n {
		manifests = append(manifests, fmt.Sprintf(`apiVersion: v1
kind: PersistentVolume
metadata: {name: %[1]s-%[2]d}
spec:
  storageClassName: %[1]s
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Gi}
  persistentVolumeReclaimPolicy: Retain
  hostPath: {path: /none}
`, f.Namespace, i))
	}
	f.ApplyYAML(strings.Join(manifests, "---\n"))
	f.Cleanup(func() {
		for i := range n {
			volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", f.Namespace, i)}}
			_ = suite.Client.Delete(context.Background(), volume)
		}
	})
}

func (f *fleet) claims() map[string]types.UID {
	f.Helper()
	var list corev1.PersistentVolumeClaimList
	if err := suite.Client.List(f.Context(), &list, client.InNamespace(f.Namespace)); err != nil {
		f.Fatalf("list claims: %v", err)
	}
	m := map[string]types.UID{}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			m[list.Items[i].Name] = list.Items[i].UID
		}
	}
	return m
}

func (f *fleet) expectClaims(names ...string) map[string]types.UID {
	f.Helper()
	var got map[string]types.UID
	testkit.Eventually(f, fmt.Sprintf("the claims are %v", names), func() error {
		got = f.claims()
		for _, name := range names {
			if _, ok := got[name]; !ok {
				return fmt.Errorf("they are %v", got)
			}
		}
		if len(got) != len(names) {
			return fmt.Errorf("they are %v", got)
		}
		return nil
	})
	return got
}

// claimTemplate takes the retention policy and the storage class.
const claimTemplate = `
persistentVolumeClaimRetentionPolicy: {%s}
volumeClaimTemplates:
- metadata: {name: data}
  spec: {accessModes: [ReadWriteOnce], storageClassName: %s, resources: {requests: {storage: 1Gi}}}
update: {maxUnavailable: 1, maxSurge: 0}
image: nginx:1.27
template: {spec: {containers: [{name: app, volumeMounts: [{name: data, mountPath: /data}]}]}}
`

// withClaims is a fleet whose pods have a volume each.
func (f *fleet) withClaims(replicas int, retention string) {
	f.Helper()
	f.Apply(replicas, fmt.Sprintf(claimTemplate, retention, f.Namespace))
	f.ExpectRolledOut(replicas)
}

// Every ordinal has a claim of its own and finds it again: after a recreate,
// and, because claims are kept by default, after a scale-down and up.
func TestVolumeClaimsAreFoundAgain(t *testing.T) {
	t.Parallel()
	f := emptyFleet(t)
	f.volumes(3)
	f.withClaims(2, "")
	claims := f.expectClaims("data-web-0", "data-web-1")
	same := func() {
		t.Helper()
		if now := f.claims(); !maps.Equal(claims, now) {
			t.Errorf("the claims were %v and are %v", claims, now)
		}
		for _, p := range f.Live() {
			i := len(p.Spec.Volumes) - 1
			for ; i >= 0 && p.Spec.Volumes[i].Name != "data"; i-- {
			}
			if i < 0 || p.Spec.Volumes[i].PersistentVolumeClaim.ClaimName != "data-"+p.Name {
				t.Errorf("%s has the volumes %+v", p.Name, p.Spec.Volumes)
			}
		}
	}
	same()
	before := f.UIDs()
	f.Patch(`{"template":{"spec":{"hostname":"other"}}}`)
	f.ExpectRolledOut(2)
	f.ExpectNewPods(before)
	same()
	f.Kubectl("scale", "pm", "web", "--replicas=1")
	f.ExpectRolledOut(1)
	f.Kubectl("scale", "pm", "web", "--replicas=2")
	f.ExpectRolledOut(2)
	same()
	f.Kubectl("delete", "pm", "web")
	same()
}

// persistentVolumeClaimRetentionPolicy: Delete, when scaled and when deleted.
func TestVolumeClaimsGoWhereThePolicySaysSo(t *testing.T) {
	t.Parallel()
	f := emptyFleet(t)
	f.volumes(3)
	f.withClaims(2, "whenScaled: Delete, whenDeleted: Delete")
	claims := f.expectClaims("data-web-0", "data-web-1")
	f.Kubectl("scale", "pm", "web", "--replicas=1")
	f.ExpectRolledOut(1)
	if left := f.expectClaims("data-web-0"); left["data-web-0"] != claims["data-web-0"] {
		t.Error("the claim of the pod that stays was replaced")
	}
	f.Kubectl("delete", "pm", "web")
	f.expectClaims()
}

// A PodManager that is created again with fewer replicas leaves the claims of its
// predecessor alone. It adopts a claim when its ordinal gets a pod, and from then
// on the claim goes with the pod.
func TestVolumeClaimsOfAnEarlierOwner(t *testing.T) {
	t.Parallel()
	f := emptyFleet(t)
	f.volumes(3)
	f.withClaims(3, "whenScaled: Delete")
	claims := f.expectClaims("data-web-0", "data-web-1", "data-web-2")
	f.Kubectl("delete", "pm", "web")
	f.withClaims(1, "whenScaled: Delete, whenDeleted: Delete")
	f.Kubectl("scale", "pm", "web", "--replicas=2")
	pm := f.ExpectRolledOut(2)
	testkit.Eventually(t, "data-web-1 is the new owner's", func() error {
		claim := &corev1.PersistentVolumeClaim{}
		if err := suite.Client.Get(t.Context(), client.ObjectKey{Namespace: f.Namespace, Name: "data-web-1"}, claim); err != nil {
			return err
		}
		if got := claim.Labels[appsv1.LabelUID]; got != string(pm.UID) {
			return fmt.Errorf("it is %s's", got)
		}
		return nil
	})
	if got := f.expectClaims("data-web-0", "data-web-1", "data-web-2"); !maps.Equal(got, claims) {
		t.Errorf("the claims were %v and are %v", claims, got)
	}
	f.Kubectl("scale", "pm", "web", "--replicas=1")
	f.expectClaims("data-web-0", "data-web-2")
	f.Kubectl("delete", "pm", "web")
	f.expectClaims("data-web-2")
}

// A claim that is deleted while its pod waits for a node is made again.
func TestAVolumeClaimThatVanishedIsMadeAgain(t *testing.T) {
	t.Parallel()
	f := emptyFleet(t)
	f.Apply(1, fmt.Sprintf(claimTemplate, "", f.Namespace)) // no volume is there to bind
	before := f.expectClaims("data-web-0")["data-web-0"]
	testkit.Eventually(t, "the pod waits", func() error {
		return suite.Client.Get(t.Context(), client.ObjectKey{Namespace: f.Namespace, Name: "web-0"}, &corev1.Pod{})
	})
	pod := f.Pod("web-0").UID
	f.Kubectl("delete", "pvc", "data-web-0")
	testkit.Eventually(t, "the claim is made again", func() error {
		if now, ok := f.claims()["data-web-0"]; !ok || now == before {
			return fmt.Errorf("it was %s and is %q", before, now)
		}
		return nil
	})
	f.volumes(1)
	f.ExpectRolledOut(1)
	if f.Pod("web-0").UID != pod {
		t.Error("the pod was replaced")
	}
}

// reserveOrdinals: those get no pod, others take their place.
func TestReserveOrdinals(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 3, "reserveOrdinals: [1]"+plain)
	expect := func(want string) {
		t.Helper()
		f.ExpectRolledOut(3)
		if got := strings.Join(f.Names(), " "); got != want {
			t.Errorf("the pods are %s, want %s", got, want)
		}
	}
	expect("web-0 web-2 web-3")
	kept := f.Pod("web-0").UID
	f.Patch(`{"reserveOrdinals":[1,2]}`)
	expect("web-0 web-3 web-4")
	f.ExpectHistory(appsv1.ReasonDeleted, appsv1.WhyReserved, "ordinal 2 is reserved")
	f.Patch(`{"reserveOrdinals":null}`)
	expect("web-0 web-1 web-2")
	if f.Pod("web-0").UID != kept {
		t.Error("web-0 was replaced")
	}
}

// Revisions are compared by meaning, used again, numbered, pruned; and any that
// is kept can be pinned, without touching the spec.
func TestRevisionsAreReusedPinnedAndPruned(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 2, "revisionHistoryLimit: 2"+plain)
	before := f.UIDs()
	numbers := func() string {
		var list []string
		for _, r := range f.Revisions() {
			list = append(list, fmt.Sprint(r.Revision))
		}
		return strings.Join(list, " ")
	}
	first := f.Get().Status.UpdateRevision
	for _, image := range []string{"nginx:1.28", "nginx:1.29"} {
		f.Patch(`{"image":"` + image + `"}`)
		f.ExpectRolledOut(2)
	}
	if got := numbers(); got != "1 2 3" {
		t.Errorf("the revisions are %s", got)
	}

	// An undo by annotation: the spec stays as a GitOps tool wants it.
	generation := f.Get().Generation
	f.Kubectl("annotate", "pm", "web", appsv1.AnnotationPin+"=1")
	f.ExpectImages(map[string]int{"nginx:1.27": 2})
	pm := f.ExpectRolledOut(2)
	if pm.Generation != generation || pm.Spec.Image != "nginx:1.29" || pm.Status.UpdateRevision != first {
		t.Errorf("generation %d, image %s, revision %s", pm.Generation, pm.Spec.Image, pm.Status.UpdateRevision)
	}
	f.Kubectl("annotate", "pm", "web", "--overwrite", appsv1.AnnotationPin+"=99")
	if _, message := f.ExpectCondition(appsv1.ConditionStalled, appsv1.ReasonPinnedRevisionMissing); !strings.Contains(message, "99") {
		t.Errorf("Stalled does not say which: %s", message)
	}
	f.ExpectImages(map[string]int{"nginx:1.27": 2})
	f.Kubectl("annotate", "pm", "web", appsv1.AnnotationPin+"-")
	f.ExpectImages(map[string]int{"nginx:1.29": 2})
	f.ExpectRolledOut(2)

	// An equal older revision is used again, under the newest number.
	f.Patch(`{"image":"nginx:1.27","template":{"spec":{"restartPolicy":"Always"}}}`)
	if pm := f.ExpectRolledOut(2); pm.Status.UpdateRevision != first {
		t.Errorf("the revision is %s, want %s again", pm.Status.UpdateRevision, first)
	}
	if got := numbers(); got != "2 3 4" {
		t.Errorf("the revisions are %s", got)
	}

	// Beyond the limit the oldest go, never one in use.
	for _, image := range []string{"nginx:1.30", "nginx:1.31"} {
		f.Patch(`{"image":"` + image + `"}`)
		f.ExpectRolledOut(2)
	}
	testkit.Eventually(t, "the oldest are pruned", func() error {
		if got := numbers(); got != "4 5 6" {
			return errors.New("the revisions are " + got)
		}
		return nil
	})
	f.ExpectSamePods(before)
}
