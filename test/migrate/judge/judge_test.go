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

package judge

import (
	"fmt"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// story is a history that is written by hand.
type story struct {
	revision int
	versions []Version
}

func (s *story) put(manifest string, gone bool) {
	s.revision++
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &u.Object); err != nil {
		panic(err)
	}
	u.SetResourceVersion(fmt.Sprint(s.revision))
	s.versions = append(s.versions, Version{u, gone})
}

func (s *story) is(manifests ...string) {
	for _, m := range manifests {
		s.put(m, false)
	}
}

func (s *story) gone(manifest string) { s.put(manifest, true) }

const template = `template: {spec: {containers: [{name: app, image: a}]}}`

func top(kind, extra string, replicas int) string {
	return fmt.Sprintf("{kind: %s, metadata: {name: web, uid: %s%s}, spec: {replicas: %d, %s}, status: {replicas: %d, updatedReplicas: %d}}",
		kind, kind, extra, replicas, template, replicas, replicas)
}

func pod(name, owner, extra string) string {
	refs := ""
	if owner != "" {
		refs = fmt.Sprintf("ownerReferences: [{kind: %s, name: web, uid: %s, controller: true}]", owner, owner)
	}
	return fmt.Sprintf("{kind: Pod, metadata: {name: %[1]s, uid: %[1]s, %[2]s%[3]s}, spec: {containers: [{name: app, image: a}]}}", name, refs, extra)
}

const (
	record  = "{kind: ConfigMap, metadata: {name: web-migration, uid: record}}"
	frozen  = ", annotations: {apps.mycompany.com/take-over: x}"
	evicted = "status: {conditions: [{type: DisruptionTarget, status: 'True', reason: EvictionByEvictionAPI}]}"
	dying   = `, deletionTimestamp: "2026-01-01T00:00:00Z"`
)

// there is a migration of a StatefulSet with one pod, as it should be.
func (s *story) there() {
	s.is(record, top("PodManager", frozen, 1), top("StatefulSet", dying, 1), pod("web-0", "", ""))
	s.gone(top("StatefulSet", dying, 1))
	s.is(pod("web-0", "PodManager", ""), top("PodManager", "", 1))
}

func TestTheJudge(t *testing.T) {
	tests := map[string]struct {
		tell func(*story)
		want string
	}{
		"a migration as it should be": {(*story).there, ""},
		"both want the pods at once": {func(s *story) {
			s.is(record, top("PodManager", "", 1))
			s.gone(top("PodManager", "", 1))
			s.gone(record)
		}, "the pods are wanted by PodManager and StatefulSet"},
		"a pod is free and there is no record": {func(s *story) { s.is(pod("web-0", "", ""), pod("web-0", "StatefulSet", "")) }, "no migration is under way"},
		"a pod belongs to what is gone": {func(s *story) {
			s.is(record)
			s.gone(top("StatefulSet", "", 1))
			s.is(top("PodManager", "", 1), pod("web-0", "PodManager", ""))
		}, "StatefulSet web, does not exist"},
		"a pod is replaced": {func(s *story) {
			s.there()
			s.gone(pod("web-0", "PodManager", ""))
			s.is(strings.Replace(pod("web-0", "PodManager", ""), "uid: web-0", "uid: second", 1))
		}, "0 pods came and 1 went, and 0 and 0 were asked to"},
		"a ReplicaSet and a PodManager want the pods": {func(s *story) {
			s.there()
			s.is(top("ReplicaSet", "", 1))
		}, "the pods are wanted by Deployment and PodManager"},
		"a pod comes without a scaling": {func(s *story) { s.is(pod("web-1", "StatefulSet", "")) }, "1 pods came"},
		"a pod is evicted and replaced": {func(s *story) {
			s.there()
			evicted := strings.Replace(pod("web-0", "PodManager", ""), "spec:", evicted+", spec:", 1)
			s.is(evicted)
			s.gone(evicted)
			s.is(strings.Replace(pod("web-0", "PodManager", ""), "uid: web-0", "uid: second", 1))
		}, ""},
		"an eviction takes two pods": {func(s *story) {
			s.is(top("StatefulSet", "", 2), pod("web-1", "StatefulSet", ""))
			s.is(strings.Replace(pod("web-0", "StatefulSet", ""), "spec:", evicted+", spec:", 1))
			s.is(pod("web-0", "StatefulSet", dying), pod("web-1", "StatefulSet", dying))
		}, "1 pods came and 2 went, and 2 and 1 were asked to"},
		"an autoscaler stays behind": {func(s *story) {
			s.is("{kind: HorizontalPodAutoscaler, metadata: {name: web, uid: hpa}, spec: {scaleTargetRef: {kind: StatefulSet, name: web}}}")
			s.there()
		}, "the autoscaler scales StatefulSet web, and PodManager has the pods"},
		"a scaling": {func(s *story) {
			s.there()
			s.is(top("PodManager", "", 2), pod("web-1", "PodManager", ""), top("PodManager", "", 1), pod("web-1", "PodManager", dying))
		}, ""},
		"a Deployment is scaled in the middle of a rollout": {func(s *story) {
			s.is(record, pod("web-0", "", ""))
			s.gone(top("StatefulSet", "", 1))
			s.is(top("Deployment", "", 1), pod("web-0", "Deployment", ""))
			s.gone(record)
			edited := func(manifest string) string { return strings.Replace(manifest, "image: a", "image: b", 1) }
			s.is(edited(top("Deployment", "", 1)), edited(top("Deployment", "", 2)))
			s.is(pod("web-1", "Deployment", ""), edited(pod("web-2", "Deployment", "")), edited(pod("web-3", "Deployment", "")))
			s.gone(pod("web-0", "Deployment", ""))
			s.gone(pod("web-1", "Deployment", ""))
		}, ""},
		"a StatefulSet is scaled in the middle of a rollout": {func(s *story) {
			edited := func(manifest string) string { return strings.Replace(manifest, "image: a", "image: b", 1) }
			s.is(edited(top("StatefulSet", "", 1)), edited(top("StatefulSet", "", 2)))
			s.is(pod("web-1", "StatefulSet", ""), edited(pod("web-2", "StatefulSet", "")), edited(pod("web-3", "StatefulSet", "")))
		}, "3 pods came and 0 went, and 2 and 1 were asked to"},
		"a scaling that goes the other way": {func(s *story) {
			s.is(top("StatefulSet", "", 2), pod("web-0", "StatefulSet", dying), pod("web-1", "StatefulSet", ""))
		}, "and 1 went"},
		"pods of another template": {func(s *story) {
			s.there()
			s.is(strings.Replace(top("PodManager", "", 1), "image: a", "image: b", 1))
		}, "pod web-0 runs a, and PodManager says b"},
		"nothing wants the pods": {func(s *story) { s.is(record, top("StatefulSet", dying, 1)) }, "0 workloads want the pods"},
		"a label is left":        {func(s *story) { s.is(pod("web-0", "StatefulSet", ", labels: {podmanager: web}")) }, "has the label podmanager"},
		"a record is left":       {func(s *story) { s.is(record) }, "a record of a migration is there: true"},
		"a revision is left":     {func(s *story) { s.is("{kind: ControllerRevision, metadata: {name: r, uid: r}}") }, "ControllerRevision r is not one of StatefulSet"},
		"the status says another thing": {func(s *story) {
			s.is(strings.Replace(top("StatefulSet", "", 1), "updatedReplicas: 1", "updatedReplicas: 0", 1))
		}, "says 1, 0 updated"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := &story{}
			before.is(top("StatefulSet", "", 1), pod("web-0", "StatefulSet", ""))
			told := &story{revision: before.revision}
			test.tell(told)
			got := strings.Join(Judge(before.versions, told.versions), "\n")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("it says\n%s\nwant %q", got, test.want)
			}
		})
	}
}

// The judge shares nothing with what migrates.
func TestTheJudgeImportsNothingOfTheProject(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range file.Imports {
			if strings.Contains(spec.Path.Value, "mycompany") {
				t.Errorf("%s imports %s", name, spec.Path.Value)
			}
		}
	}
}
