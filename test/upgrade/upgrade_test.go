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
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

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
type fleet struct{ *testkit.Fleet }

// rewrite reads the object in a version and writes it back as it is. Where the
// operator wrote its status in between, it is read again.
func (f *fleet) rewrite(version string) {
	f.Helper()
	testkit.Eventually(f, "the object is written again as "+version, func() error {
		file := testkit.File(f, f.Kubectl("get", "podmanagers."+version+".apps.mycompany.com", "web", "-o", "yaml"))
		out, err := suite.TryKubectl(f, "-n", f.Namespace, "replace", "-f", file)
		if err != nil && !strings.Contains(out, "the object has been modified") {
			f.Fatalf("replace: %v\n%s", err, out)
		}
		return err
	})
}

// pods are the UIDs of the fleet's pods, with their revisions.
func (f *fleet) pods() map[types.UID]string {
	f.Helper()
	m := map[types.UID]string{}
	for _, pod := range f.Pods() {
		m[pod.UID] = pod.Name + " of " + pod.Labels[appsv1.LabelRevision]
	}
	return m
}

// revisions are the stored revisions with their numbers.
func (f *fleet) revisions() map[string]int64 {
	f.Helper()
	m := map[string]int64{}
	for _, revision := range f.Revisions() {
		m[revision.Name] = revision.Revision
	}
	return m
}

// wrote counts the operator's writes since a mark, by verb and resource.
func (f *fleet) wrote(since localkube.AuditMark) map[string]int {
	f.Helper()
	m := map[string]int{}
	for _, e := range f.Requests(since, (*localkube.AuditEvent).Mutating) {
		m[e.Verb+" "+e.ObjectRef.Resource]++
	}
	return m
}

// An upgrade of the operator over two fleets of 100 running pods, one written
// as v1 and one as v1alpha1, replaces no pod and makes no revision: neither
// when the new build comes up, nor when it or a client writes the object again,
// in either version. A scale-up shows that the new build is at work, and that
// its pods are of the revision that is there.
func TestAnUpgradeReplacesNothing(t *testing.T) {
	before, after := suite.Program(t), filepath.Join(suite.Scratch, "next")
	overlay, err := nextRelease(suite.Scratch)
	if err != nil {
		t.Fatal(err)
	}
	if err := build(testkit.Root(), after, overlay); err != nil {
		t.Fatal(err)
	}
	options, err := testkit.WebhookOptions()
	if err != nil {
		t.Fatal(err)
	}
	old := start(t, before, options)
	fleets := map[string]*fleet{}
	for name, manifest := range map[string]string{"v1": rich, "v1alpha1": plain} {
		fleets[name] = &fleet{suite.NewFleet(t, "web")}
		fleets[name].ApplyYAML(fmt.Sprintf(manifest, size))
	}
	pods, revisions := map[string]map[types.UID]string{}, map[string]map[string]int64{}
	for name, f := range fleets {
		f.ExpectRolledOut(size)
		pods[name], revisions[name] = f.pods(), f.revisions()
		if len(pods[name]) != size || len(revisions[name]) != 1 {
			t.Fatalf("%s: %d pods, revisions %v", name, len(pods[name]), revisions[name])
		}
	}
	old.stop(t)
	mark := suite.AuditMark(t)
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
		if got := f.Kubectl("get", "pm", "web", "-o", "jsonpath={.spec.flavour}"); got != "sweet" {
			t.Fatalf("%s: the new field says %q, so this is no upgrade", name, got)
		}
		f.ExpectRolledOut(size)
		same(f, name, "at once", 0)
		for _, version := range []string{"v1", "v1alpha1"} {
			f.rewrite(version)
		}
		f.Kubectl("scale", "pm", "web", fmt.Sprintf("--replicas=%d", size+1))
		f.ExpectRolledOut(size + 1)
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
