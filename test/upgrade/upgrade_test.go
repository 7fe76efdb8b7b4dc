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

package upgrade

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/localkube"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// size is how many pods every fleet has.
const size = 100

// rich is a fleet in v1 whose template says a lot, in odd ways.
const rich = `apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata: {name: web}
spec:
  replicas: %d
  template:
    metadata: {labels: {tier: front}, annotations: {note: kept}}
    spec:
      initContainers: [{name: setup, image: "busybox:1.37", command: [sh, -c, "true"]}]
      containers:
      - name: app
        image: nginx:1.27
        resources: {requests: {cpu: 10m, memory: "1048576"}, limits: {cpu: "1000m"}}
        ports: [{containerPort: 80}]
        readinessProbe: {httpGet: {port: 80}, periodSeconds: 5}
        env: [{name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
        volumeMounts: [{name: config, mountPath: /etc/config}]
      volumes: [{name: config, emptyDir: {}}]
`

// plain is a fleet in v1alpha1.
const plain = `apiVersion: apps.mycompany.com/v1alpha1
kind: PodManager
metadata: {name: web}
spec: {size: %d, image: "nginx:1.27"}
`

// fleet is a PodManager named web in a namespace of its own.
type fleet struct {
	*testing.T
	ns string
}

func (f *fleet) kubectl(args ...string) string {
	f.Helper()
	return suite.Kubectl(f, append([]string{"-n", f.ns}, args...)...)
}

func (f *fleet) apply(manifest string) {
	f.Helper()
	f.kubectl("apply", "-f", f.file(manifest))
}

// rewrite reads the object in a version and writes it back as it is. Where the
// operator wrote its status in between, it is read again.
func (f *fleet) rewrite(version string) {
	f.Helper()
	testkit.Eventually(f, "the object is written again as "+version, func() error {
		file := f.file(f.kubectl("get", "podmanagers."+version+".apps.mycompany.com", "web", "-o", "yaml"))
		out, err := suite.TryKubectl(f, "-n", f.ns, "replace", "-f", file)
		if err != nil && !strings.Contains(out, "the object has been modified") {
			f.Fatalf("replace: %v\n%s", err, out)
		}
		return err
	})
}

func (f *fleet) file(manifest string) string {
	f.Helper()
	file := filepath.Join(f.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		f.Fatal(err)
	}
	return file
}

func (f *fleet) expectReady(n int) *appsv1.PodManager {
	f.Helper()
	pm := &appsv1.PodManager{}
	testkit.Eventually(f, fmt.Sprintf("%d pods are available", n), func() error {
		if err := suite.Client.Get(f.Context(), client.ObjectKey{Namespace: f.ns, Name: "web"}, pm); err != nil {
			return err
		}
		s := &pm.Status
		if s.ObservedGeneration != pm.Generation || int(s.AvailableReplicas) != n || int(s.UpdatedReplicas) != n ||
			meta.IsStatusConditionTrue(s.Conditions, appsv1.ConditionReconciling) {
			return fmt.Errorf("%d are, %d updated: %+v", s.AvailableReplicas, s.UpdatedReplicas, s.Conditions)
		}
		return nil
	})
	return pm
}

// pods are the UIDs of the fleet's pods, with their revisions.
func (f *fleet) pods() map[types.UID]string {
	f.Helper()
	var list corev1.PodList
	if err := suite.Client.List(f.Context(), &list, client.InNamespace(f.ns)); err != nil {
		f.Fatal(err)
	}
	m := map[types.UID]string{}
	for i := range list.Items {
		m[list.Items[i].UID] = list.Items[i].Name + " of " + list.Items[i].Labels[appsv1.LabelRevision]
	}
	return m
}

// revisions are the stored revisions with their numbers.
func (f *fleet) revisions() map[string]int64 {
	f.Helper()
	var list kappsv1.ControllerRevisionList
	if err := suite.Client.List(f.Context(), &list, client.InNamespace(f.ns)); err != nil {
		f.Fatal(err)
	}
	m := map[string]int64{}
	for i := range list.Items {
		m[list.Items[i].Name] = list.Items[i].Revision
	}
	return m
}

// wrote counts the operator's writes since a mark, by verb and resource.
func (f *fleet) wrote(since localkube.AuditMark) map[string]int {
	f.Helper()
	events, err := suite.Cluster.AuditEvents(since)
	if err != nil {
		f.Fatal(err)
	}
	m := map[string]int{}
	for i := range events {
		if e := &events[i]; e.Mutating() && e.User.Username == testkit.OperatorUser && e.ObjectRef.Namespace == f.ns {
			m[e.Verb+" "+e.ObjectRef.Resource]++
		}
	}
	return m
}

// An upgrade of the operator over two fleets of 100 running pods, one written
// as v1 and one as v1alpha1, replaces no pod and makes no revision: neither
// when the new build comes up, nor when it or a client writes the object again,
// in either version. A scale-up shows that the new build is at work, and that
// its pods are of the revision that is there.
func TestAnUpgradeReplacesNothing(t *testing.T) {
	before, after := filepath.Join(scratch, "manager"), filepath.Join(scratch, "next")
	overlay, err := nextRelease(scratch)
	if err != nil {
		t.Fatal(err)
	}
	for path, with := range map[string]string{before: "", after: overlay} {
		if err := build(path, with); err != nil {
			t.Fatal(err)
		}
	}
	options, err := testkit.WebhookOptions()
	if err != nil {
		t.Fatal(err)
	}
	old := start(t, before, options)
	fleets := map[string]*fleet{}
	for name, manifest := range map[string]string{"v1": rich, "v1alpha1": plain} {
		fleets[name] = &fleet{T: t, ns: suite.Namespace(t)}
		fleets[name].apply(fmt.Sprintf(manifest, size))
	}
	pods, revisions := map[string]map[types.UID]string{}, map[string]map[string]int64{}
	for name, f := range fleets {
		f.expectReady(size)
		pods[name], revisions[name] = f.pods(), f.revisions()
		if len(pods[name]) != size || len(revisions[name]) != 1 {
			t.Fatalf("%s: %d pods, revisions %v", name, len(pods[name]), revisions[name])
		}
	}
	old.stop(t)
	mark, err := suite.Cluster.AuditMark()
	if err != nil {
		t.Fatal(err)
	}
	addField(t)
	start(t, after, options)
	same := func(f *fleet, name, when string, made int) {
		t.Helper()
		now := f.pods()
		for uid, pod := range pods[name] {
			if now[uid] != pod {
				t.Errorf("%s, %s: %s is %q now", name, when, pod, now[uid])
			}
		}
		if got := f.revisions(); !maps.Equal(got, revisions[name]) || len(now) != size+made {
			t.Errorf("%s, %s: %d pods, revisions %v, want %v", name, when, len(now), got, revisions[name])
		}
		wrote := f.wrote(mark)
		if wrote["create pods"] != made || wrote["delete pods"]+wrote["patch pods"]+wrote["update pods"] > 0 ||
			wrote["create controllerrevisions"]+wrote["patch controllerrevisions"] > 0 {
			t.Errorf("%s, %s: the new build wrote %v", name, when, wrote)
		}
	}
	for name, f := range fleets {
		if got := f.kubectl("get", "pm", "web", "-o", "jsonpath={.spec.flavour}"); got != "sweet" {
			t.Fatalf("%s: the new field says %q, so this is no upgrade", name, got)
		}
		f.expectReady(size)
		same(f, name, "at once", 0)
		for _, version := range []string{"v1", "v1alpha1"} {
			f.rewrite(version)
		}
		f.kubectl("scale", "pm", "web", fmt.Sprintf("--replicas=%d", size+1))
		f.expectReady(size + 1)
		same(f, name, "after it was written again", 1)
	}
}

// addField gives the stored version a field more, with a default, as the CRD of
// the next release has it.
func addField(t *testing.T) {
	t.Helper()
	const crd = "podmanagers.apps.mycompany.com"
	versions := strings.Fields(suite.Kubectl(t, "get", "crd", crd, "-o", "jsonpath={.spec.versions[*].name}"))
	for i, version := range versions {
		if version == "v1" {
			suite.Kubectl(t, "patch", "crd", crd, "--type=json", "-p", fmt.Sprintf(
				`[{"op":"add","path":"/spec/versions/%d/schema/openAPIV3Schema/properties/spec/properties/flavour",`+
					`"value":{"type":"string","default":"sweet"}}]`, i))
			return
		}
	}
	t.Fatalf("the CRD has versions %v", versions)
}
