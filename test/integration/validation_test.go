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
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/mycompany/pod-operator/internal/testkit"
)

// TestValidation: what the API server refuses, and the sentence a person gets.
func TestValidation(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	reserved := "the labels podmanager, podmanager-uid, apps.mycompany.com/revision, apps.mycompany.com/slot"
	for name, test := range map[string]struct {
		name string // of the object, where it is not "web"
		spec string
		// want is a part of the message, or empty where the object is fine.
		want string
	}{
		"an image is enough":     {spec: `{image: "nginx:1.27"}`},
		"a template is enough":   {spec: `{template: {spec: {containers: [{name: web, image: nginx}]}}}`},
		"an image and a sidecar": {spec: `{image: nginx, template: {spec: {containers: [{name: app}, {name: proxy, image: envoy}]}}}`},
		"an image and labels":    {spec: `{image: nginx, template: {metadata: {labels: {tier: front}}}}`},
		"the longest name": {
			name: strings.Repeat("n", 52),
			spec: `{image: nginx}`,
		},
		"no replicas at all": {spec: `{image: nginx, replicas: 0}`},

		"a service":        {spec: `{image: nginx, serviceName: peers}`},
		"pods in order":    {spec: `{image: nginx, podManagementPolicy: OrderedReady}`},
		"a service's name": {spec: `{image: nginx, serviceName: Peers}`, want: "serviceName must be the name of a Service"},
		"a service that is too long": {
			spec: `{image: nginx, serviceName: ` + strings.Repeat("n", 64) + `}`,
			want: "spec.serviceName: Too long",
		},
		"a service of random names": {
			spec: `{image: nginx, identity: Random, serviceName: peers}`,
			want: "serviceName needs identity Ordinal, so that a pod keeps its name",
		},
		"a service for a name with dots": {
			name: "web.eu",
			spec: `{image: nginx, serviceName: peers}`,
			want: "spec.serviceName needs a metadata.name without dots, because the pods' names are their hostnames",
		},
		"a service and a hostname": {
			spec: `{image: nginx, serviceName: peers, template: {spec: {hostname: own, containers: []}}}`,
			want: "serviceName gives every pod a hostname of its own: leave template.spec.hostname out",
		},
		"a service and another subdomain": {
			spec: `{image: nginx, serviceName: peers, template: {spec: {subdomain: own, containers: []}}}`,
			want: "serviceName is the pods' subdomain: leave template.spec.subdomain out",
		},
		"random names in order": {
			spec: `{image: nginx, identity: Random, podManagementPolicy: OrderedReady}`,
			want: "podManagementPolicy OrderedReady needs identity Ordinal, which gives the pods an order",
		},
		"an order that there is not": {
			spec: `{image: nginx, podManagementPolicy: Reversed}`,
			want: `supported values: "Parallel", "OrderedReady"`,
		},

		"neither image nor template": {
			spec: `{replicas: 1}`,
			want: "set image, or template with at least one container",
		},
		"an empty spec": {
			spec: `{}`,
			want: "set image, or template with at least one container",
		},
		"a template without container": {
			spec: `{template: {spec: {containers: []}}}`,
			want: "template has no container: add one under template.spec.containers, or set image",
		},
		"a template with nothing but labels": {
			spec: `{template: {metadata: {labels: {app: web}}}}`,
			want: "template has no container: add one under template.spec.containers, or set image",
		},
		"an image for a container that is not there": {
			spec: `{image: nginx, template: {spec: {containers: [{name: web, image: nginx}]}}}`,
			want: "image is the image of the container named app, but the template has no container of that name: name one app, or leave image out",
		},
		"an empty image": {
			spec: `{image: ""}`,
			want: "spec.image: Invalid value",
		},
		"an image with a space": {
			spec: `{image: "nginx "}`,
			want: "image must not begin or end with a space",
		},
		"the label of the name": {
			spec: `{image: nginx, template: {metadata: {labels: {podmanager: other}}}}`,
			want: reserved,
		},
		"the label of the UID": {
			spec: `{image: nginx, template: {metadata: {labels: {podmanager-uid: "1"}}}}`,
			want: reserved,
		},
		"the label of the revision": {
			spec: `{image: nginx, template: {metadata: {labels: {apps.mycompany.com/revision: "1"}}}}`,
			want: reserved,
		},
		"the label of the slot": {
			spec: `{image: nginx, template: {metadata: {labels: {apps.mycompany.com/slot: "0"}}}}`,
			want: reserved,
		},
		"the label that asks for deletion": {
			spec: `{image: nginx, template: {metadata: {labels: {apps.mycompany.com/delete: "true"}}}}`,
			want: reserved,
		},
		"a name too long for its ordinals": {
			name: strings.Repeat("n", 53),
			spec: `{image: nginx}`,
			want: "metadata.name must be at most 52 characters, so that its pods' names with their ordinals stay valid host names",
		},
		"fewer than no replicas": {
			spec: `{image: nginx, replicas: -1}`,
			want: "spec.replicas in body should be greater than or equal to 0",
		},
		"a mistyped number of replicas": {
			spec: `{image: nginx, replicas: 100001}`,
			want: "spec.replicas in body should be less than or equal to 100000",
		},
		"a word for replicas": {
			spec: `{image: nginx, replicas: three}`,
			want: `spec.replicas in body must be of type integer: "string"`,
		},
		"pods that end": {
			spec: `{image: nginx, template: {spec: {restartPolicy: Never, containers: [{name: app}]}}}`,
			want: "restartPolicy must be Always: a PodManager keeps its pods running",
		},
		"pods with a deadline": {
			spec: `{image: nginx, template: {spec: {activeDeadlineSeconds: 10, containers: [{name: app}]}}}`,
			want: "activeDeadlineSeconds ends pods that a PodManager has to keep running: leave it out",
		},
		"an unknown identity": {
			spec: `{image: nginx, identity: Named}`,
			want: `spec.identity: Unsupported value: "Named": supported values: "Ordinal", "Random"`,
		},
		"an unknown deletion policy": {
			spec: `{image: nginx, deletion: {policy: Keep}}`,
			want: `spec.deletion.policy: Unsupported value: "Keep": supported values: "Delete", "Orphan"`,
		},
		"a backoff without a unit": {
			spec: `{image: nginx, failedPods: {backoff: {initial: "10"}}}`,
			want: "spec.failedPods.backoff.initial in body should match",
		},
		"a negative backoff": {
			spec: `{image: nginx, failedPods: {backoff: {initial: "-10s"}}}`,
			want: "spec.failedPods.backoff.initial in body should match",
		},
		"a backoff that begins above its end": {
			spec: `{image: nginx, failedPods: {backoff: {initial: 10m, max: 1m}}}`,
			want: "backoff.initial must not be longer than backoff.max",
		},
		"a backoff of days": {
			spec: `{image: nginx, failedPods: {backoff: {max: 25h}}}`,
			want: "backoff.max must be at most 24h",
		},
		"a negative limit of failed pods": {
			spec: `{image: nginx, failedPods: {limit: -1}}`,
			want: "spec.failedPods.limit in body should be greater than or equal to 0",
		},
		"a negative minReadySeconds": {
			spec: `{image: nginx, minReadySeconds: -1}`,
			want: "spec.minReadySeconds in body should be greater than or equal to 0",
		},
		"minReadySeconds that no pod can keep in time": {
			spec: `{image: nginx, minReadySeconds: 600}`,
			want: "update.progressDeadlineSeconds must be greater than minReadySeconds, or no pod can become available in time",
		},
		"minReadySeconds just below the deadline": {
			name: "web-in-time",
			spec: `{image: nginx, replicas: 0, minReadySeconds: 599}`,
		},
		"a deadline that minReadySeconds do not leave": {
			spec: `{image: nginx, minReadySeconds: 10, update: {progressDeadlineSeconds: 5}}`,
			want: "update.progressDeadlineSeconds must be greater than minReadySeconds, or no pod can become available in time",
		},
		"a negative history": {
			spec: `{image: nginx, revisionHistoryLimit: -1}`,
			want: "spec.revisionHistoryLimit in body should be greater than or equal to 0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := manifest(t, ns, test.name, test.spec)
			checkMessage(t, suite.Client.Create(t.Context(), object, client.DryRunAll), test.want)
		})
	}
}

func manifest(t *testing.T, namespace, name, spec string) *unstructured.Unstructured {
	t.Helper()
	if name == "" {
		name = "web"
	}
	object := &unstructured.Unstructured{}
	text := fmt.Sprintf("{apiVersion: apps.mycompany.com/v1, kind: PodManager, metadata: {namespace: %s, name: %s}, spec: %s}", namespace, name, spec)
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

func checkMessage(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("it is refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("it is not refused; want %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("the message is\n  %v\nwant\n  %s", err, want)
	}
}

// TestIdentityCannotBeChanged: it names the pods.
func TestIdentityCannotBeChanged(t *testing.T) {
	t.Parallel()
	f := suite.NewFleet(t, "web")
	f.Create(f.Build().Replicas(0))
	pm := f.Get()
	body := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"identity":"Random"}}`))
	checkMessage(t, suite.Client.Patch(t.Context(), pm, body, client.DryRunAll),
		"identity cannot be changed, because it names the pods: make a new PodManager instead")
	// Leaving it out is no way round it.
	body = client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"identity":null}}`))
	checkMessage(t, suite.Client.Patch(t.Context(), pm, body, client.DryRunAll), "")
}

// TestVolumeClaimTemplatesCannotBeChanged: a pod that is replaced would mount another
// volume than its predecessor, an empty one, and its siblings the old one. What a
// client may write differently without a change of meaning passes.
func TestVolumeClaimTemplatesCannotBeChanged(t *testing.T) {
	t.Parallel()
	f, bare := suite.NewFleet(t, "web"), suite.NewFleet(t, "bare")
	pm := f.Build().Replicas(0).Obj()
	pm.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*claimOf("", "data"), *claimOf("", "logs")}
	suite.Create(t, pm)
	bare.Create(bare.Build().Replicas(0))
	const sentence = "volumeClaimTemplates cannot be changed, because pods that are replaced would find other volumes than before: make a new PodManager instead"
	at := "/spec/volumeClaimTemplates"
	for name, test := range map[string]struct {
		fleet *testkit.Fleet
		patch string
		want  string
	}{
		"another name":           {f, `[{"op": "replace", "path": "` + at + `/0/metadata/name", "value": "other"}]`, sentence},
		"another size":           {f, `[{"op": "replace", "path": "` + at + `/0/spec/resources/requests/storage", "value": "2Gi"}]`, sentence},
		"another class":          {f, `[{"op": "add", "path": "` + at + `/0/spec/storageClassName", "value": "fast"}]`, sentence},
		"a label":                {f, `[{"op": "add", "path": "` + at + `/0/metadata/labels", "value": {"a": "b"}}]`, sentence},
		"one fewer":              {f, `[{"op": "remove", "path": "` + at + `/1"}]`, sentence},
		"none":                   {f, `[{"op": "remove", "path": "` + at + `"}]`, sentence},
		"the first":              {bare, `[{"op": "add", "path": "` + at + `", "value": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]}]`, sentence},
		"an empty list":          {bare, `[{"op": "add", "path": "` + at + `", "value": []}]`, ""},
		"an empty status":        {f, `[{"op": "add", "path": "` + at + `/0/status", "value": {}}]`, ""},
		"the kind":               {f, `[{"op": "add", "path": "` + at + `/0/kind", "value": "PersistentVolumeClaim"}]`, ""},
		"something else":         {f, `[{"op": "replace", "path": "/spec/replicas", "value": 1}]`, ""},
		"something of the other": {bare, `[{"op": "replace", "path": "/spec/replicas", "value": 1}]`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			body := client.RawPatch(types.JSONPatchType, []byte(test.patch))
			checkMessage(t, suite.Client.Patch(t.Context(), test.fleet.Get(), body, client.DryRunAll), test.want)
		})
	}
}

// TestKubectlShowsTheSentence: the message reaches a person whole.
func TestKubectlShowsTheSentence(t *testing.T) {
	t.Parallel()
	ns := suite.Namespace(t)
	out, err := suite.TryKubectl(t, "-n", ns, "create", "--dry-run=server", "-f", testkit.File(t, `
apiVersion: apps.mycompany.com/v1
kind: PodManager
metadata:
  name: web
spec:
  replicas: 2
`))
	if err == nil || !strings.Contains(out, "set image, or template with at least one container") {
		t.Errorf("kubectl ends with %v and says\n%s", err, out)
	}
}
