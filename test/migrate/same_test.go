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

package migrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/mycompany/pod-operator/internal/migrate"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/testkit"
)

// remembered are the kinds of objects that have to be after a migration there and back what they
// were before.
var remembered = []schema.GroupVersionResource{
	{Version: "v1", Resource: "pods"},
	{Version: "v1", Resource: "persistentvolumeclaims"},
	{Version: "v1", Resource: "configmaps"},
	{Group: "apps", Version: "v1", Resource: "deployments"},
	{Group: "apps", Version: "v1", Resource: "replicasets"},
	{Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "apps", Version: "v1", Resource: "controllerrevisions"},
	{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
	{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"},
}

// picture is everything in a namespace that people and their tools may read and that no
// controller counts.
func (w *world) picture() map[string]any {
	w.Helper()
	c, err := dynamic.NewForConfig(suite.Cluster.RESTConfig())
	w.must(err)
	all := map[string]any{}
	for _, resource := range remembered {
		list, err := c.Resource(resource).Namespace(w.namespace).List(w.Context(), metav1.ListOptions{})
		w.must(err)
		for i := range list.Items {
			all[list.Items[i].GetKind()+" "+list.Items[i].GetName()] = drawn(&list.Items[i])
		}
	}
	return all
}

// drawn is an object without what is anew for each object of a name.
func drawn(u *unstructured.Unstructured) map[string]any {
	o := u.DeepCopy().Object
	delete(o, "status")
	meta := o["metadata"].(map[string]any)
	for _, field := range []string{"creationTimestamp", "resourceVersion", "generation"} {
		delete(meta, field)
	}
	if kind := u.GetKind(); kind != "Pod" && kind != "PersistentVolumeClaim" {
		delete(meta, "uid")
	}
	unstructured.RemoveNestedField(o, "metadata", "annotations", "deployment.kubernetes.io/desired-replicas")
	unstructured.RemoveNestedField(o, "metadata", "annotations", "deployment.kubernetes.io/max-replicas")
	meta["managedFields"] = managers(u)
	for _, ref := range u.GetOwnerReferences() {
		meta["ownerReferences"] = ref.Kind + " " + ref.Name
	}
	return o
}

// managers are who set which fields of a workload: by that, kubectl apply --server-side and
// GitOps tools know what is theirs.
func managers(u *unstructured.Unstructured) []string {
	var fields []string
	for _, entry := range u.GetManagedFields() {
		if kind := u.GetKind(); entry.Subresource == "" && (kind == "Deployment" || kind == "StatefulSet") && entry.Manager != "kube-controller-manager" {
			raw, _ := json.Marshal(entry.FieldsV1)
			fields = append(fields, entry.Manager+" "+string(entry.Operation)+" "+string(raw))
		}
	}
	slices.Sort(fields)
	return fields
}

// unusual are workloads as people have them.
var unusual = map[string]struct {
	kind     *migrate.Kind
	manifest string
}{
	"a Deployment of Helm and Argo CD that is paused": {migrate.Deployments, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {app.kubernetes.io/managed-by: Helm, argocd.argoproj.io/instance: shop}
  annotations:
    meta.helm.sh/release-name: shop
    meta.helm.sh/release-namespace: default
    argocd.argoproj.io/tracking-id: "shop:apps/Deployment:x/web"
    deployment.kubernetes.io/own: "kept"
spec:
  replicas: 2
  minReadySeconds: 1
  progressDeadlineSeconds: 77
  revisionHistoryLimit: 0
  strategy: {rollingUpdate: {maxSurge: 100%, maxUnavailable: 0}}
  selector: {matchLabels: {app: web}, matchExpressions: [{key: tier, operator: In, values: [a, b]}]}
  template:
    metadata: {labels: {app: web, tier: a}, annotations: {a: b}}
    spec: {containers: [{name: app, image: "nginx:1.27"}]}
`},
	"a Deployment of no pods": {migrate.Deployments, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 0
  strategy: {type: Recreate}
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "nginx:1.27"}]}}
`},
	"a StatefulSet that begins at 3 and deletes its claims": {migrate.StatefulSets, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, annotations: {team: shop}}
spec:
  serviceName: web
  replicas: 2
  ordinals: {start: 3}
  podManagementPolicy: Parallel
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Delete}
  updateStrategy: {rollingUpdate: {partition: 4}}
  revisionHistoryLimit: 0
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, tier: a}}
    spec: {containers: [{name: app, image: "nginx:1.27", volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data, labels: {of: data}, annotations: {kept: "yes"}}
    spec: {storageClassName: NAMESPACE, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`},
	"a StatefulSet with OnDelete": {migrate.StatefulSets, `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web}
spec:
  serviceName: web
  replicas: 2
  minReadySeconds: 1
  updateStrategy: {type: OnDelete}
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: "nginx:1.27"}]}}
`},
}

// After a migration there and back each object is what it was, but for its UID.
func TestEverythingIsTheSameThereAndBack(t *testing.T) {
	t.Parallel()
	for name, test := range unusual {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.volume(0)
			w.volume(1)
			file := testkit.File(t, strings.ReplaceAll(test.manifest, "NAMESPACE", w.namespace))
			suite.Kubectl(t, "apply", "--server-side", "--field-manager=a-tool", "-n", w.namespace, "-f", file)
			if test.kind == migrate.Deployments {
				suite.Kubectl(t, "rollout", "pause", "-n", w.namespace, "deployment/web")
			}
			testkit.Eventually(t, "it can be taken over", func() error { return w.ready(test.kind) })
			before := w.picture()
			w.witness()
			w.must(w.take(suite.Client, test.kind))
			w.expectUntouched()
			w.must(w.giveBack(suite.Client))
			w.expectUntouched()
			testkit.Eventually(t, "everything is the same", func() error {
				if diff := cmp.Diff(before, w.picture()); diff != "" {
					return fmt.Errorf("%s", diff)
				}
				return nil
			})
			suite.Kubectl(t, "apply", "--server-side", "--field-manager=a-tool", "-n", w.namespace, "-f", file)
			if names := slices.Sorted(maps.Keys(w.picture())); len(names) != len(before) {
				t.Errorf("there are %v", names)
			}
		})
	}
}

// ready fails while the workload's pods are not ready, or it cannot be taken over.
func (w *world) ready(kind *migrate.Kind) error {
	found, err := migrate.Find(w.Context(), suite.Client, kind, w.key())
	if err != nil {
		return err
	}
	if obstacle := found.Obstacle(); obstacle != "" {
		return errors.New(obstacle)
	}
	for i := range found.Pods {
		if !observe.Ready(&found.Pods[i]) {
			return fmt.Errorf("pod %s is not ready", found.Pods[i].Name)
		}
	}
	return nil
}
