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

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/pod-operator/conformance"
	"github.com/mycompany/pod-operator/internal/install"
)

const shippedByOthers = `
- {apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: clonesets.apps.kruise.io}}
- {apiVersion: v1, kind: Service, metadata: {name: webhooks, namespace: theirs}, spec: {clusterIP: None, ports: [{port: 443}]}}
- {apiVersion: apps/v1, kind: Deployment, metadata: {name: manager, namespace: theirs}}
- {apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: manager}}
- apiVersion: admissionregistration.k8s.io/v1
  kind: MutatingWebhookConfiguration
  metadata: {name: both}
  webhooks:
  - {name: pods, rules: [{resources: [pods]}], clientConfig: {service: {name: webhooks, namespace: theirs, path: /pods}}}
  - {name: clonesets, rules: [{resources: [clonesets]}], clientConfig: {service: {name: webhooks, namespace: theirs, path: /clonesets}}}
- apiVersion: admissionregistration.k8s.io/v1
  kind: ValidatingWebhookConfiguration
  metadata: {name: pods-only}
  webhooks: [{name: pods, rules: [{resources: [pods]}], clientConfig: {service: {name: webhooks, namespace: theirs}}}]
`

// What a manager of others ships is installed as far as the process needs it: no second
// manager, no webhooks for all pods, and its Service leads to this machine.
func TestOnlyWhatIsNeededIsInstalled(t *testing.T) {
	var fields []map[string]any
	if err := yaml.Unmarshal([]byte(shippedByOthers), &fields); err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, f := range fields {
		objects = append(objects, &unstructured.Unstructured{Object: f})
	}
	built := &conformance.Built{Namespace: "theirs", Webhooks: []string{"clonesets"}}
	const port = 1234
	got := map[string]any{}
	for _, object := range install.OfOthers(objects, built.Namespace, built.Webhooks, port) {
		got[object.GetKind()+" "+object.GetName()] = nil
		switch object.GetKind() {
		case "Service":
			got["Service webhooks"], _, _ = unstructured.NestedString(object.Object, "spec", "externalName")
		case "MutatingWebhookConfiguration":
			webhook := object.Object["webhooks"].([]any)[0].(map[string]any)
			got["MutatingWebhookConfiguration both"], _, _ = unstructured.NestedMap(webhook, "clientConfig", "service")
		}
	}
	want := map[string]any{
		"Namespace theirs": nil,
		"CustomResourceDefinition clonesets.apps.kruise.io": nil,
		"Service webhooks": "localhost",
		"MutatingWebhookConfiguration both": map[string]any{
			"name": "webhooks", "namespace": "theirs", "path": "/clonesets", "port": int64(port),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestABuiltManagerGetsItsPlaces(t *testing.T) {
	s := &stage{dir: t.TempDir()}
	built := &conformance.Built{
		Args: []string{"--probes=:$(PORT1)"}, Env: []string{"CERTS=$(DIR)", "PORT=$(WEBHOOKS)"}, Ready: "http://127.0.0.1:$(PORT1)/readyz",
	}
	if err := s.describeBuilt("theirs/manager -v=2", built, 1234); err != nil {
		t.Fatal(err)
	}
	if len(s.spec.Args) != 2 || s.spec.Args[1] != "-v=2" || s.ready != "http://127.0.0.1:"+s.spec.Args[0][len("--probes=:"):]+"/readyz" {
		t.Errorf("the flags are %v and the probe is %s", s.spec.Args, s.ready)
	}
	if diff := cmp.Diff([]string{"CERTS=" + s.dir + "/built", "PORT=1234"}, s.spec.Env); diff != "" {
		t.Error(diff)
	}
}
