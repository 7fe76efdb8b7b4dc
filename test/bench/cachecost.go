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

package bench

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/observe"
)

// podIndexes collects the operator's indexes of pods.
type podIndexes map[string]client.IndexerFunc

// IndexField implements client.FieldIndexer.
func (p podIndexes) IndexField(_ context.Context, object client.Object, field string, values client.IndexerFunc) error {
	if _, ok := object.(*corev1.Pod); ok {
		p[field] = values
	}
	return nil
}

// indexers are the indexes as controller-runtime's cache keeps them: each value
// once with the namespace and once without.
func (p podIndexes) indexers() cache.Indexers {
	indexers := cache.Indexers{}
	for field, values := range p {
		indexers["field:"+field] = func(obj any) ([]string, error) {
			pod, ok := obj.(*corev1.Pod)
			if !ok {
				return nil, fmt.Errorf("a %T among the pods", obj)
			}
			var keys []string
			for _, value := range values(pod) {
				keys = append(keys, pod.Namespace+"/"+value, "__all_namespaces/"+value)
			}
			return keys, nil
		}
	}
	return indexers
}

// typicalPod is a pod as the API server sends it, here with one container, as
// JSON with PODNAME in the place of its name.
const typicalPod = `{"metadata":{"name":"PODNAME","namespace":"default","uid":"2f5f8a1c-6f0b-4c39-9a55-PODNAME","resourceVersion":"123456",
"generation":1,"creationTimestamp":"2026-03-01T12:00:00Z","labels":{"app":"web","podmanager":"web","podmanager-uid":"0c9e9bd8-5ab1-4c1b-8d6a-3d9f1c0f9a11",
"apps.mycompany.com/revision":"web-6d5f8c7b9d","apps.mycompany.com/slot":"PODNAME","topology.kubernetes.io/zone":"zone-a","topology.kubernetes.io/region":"local"},
"annotations":{"example.com/note":"something that no plan needs"},
"ownerReferences":[{"apiVersion":"apps.mycompany.com/v1","kind":"PodManager","name":"web","uid":"0c9e9bd8-5ab1-4c1b-8d6a-3d9f1c0f9a11","controller":true,"blockOwnerDeletion":true}],
"managedFields":[{"manager":"pod-operator","operation":"Update","apiVersion":"v1","time":"2026-03-01T12:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:labels":{}}}}]},
"spec":{"volumes":[{"name":"kube-api-access-x2x4z","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}}]}}],
"containers":[{"name":"app","image":"nginx:1.27","env":[{"name":"A","value":"b"}],"resources":{"limits":{"cpu":"200m","memory":"128Mi"},"requests":{"cpu":"100m","memory":"64Mi"}},"volumeMounts":[{"name":"kube-api-access-x2x4z","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],
"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}],
"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","serviceAccountName":"default","nodeName":"node-17",
"securityContext":{},"schedulerName":"default-scheduler","tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
"priority":0,"enableServiceLinks":true,"preemptionPolicy":"PreemptLowerPriority"},
"status":{"observedGeneration":1,"phase":"Running","conditions":[
{"type":"PodScheduled","status":"True","lastTransitionTime":"2026-03-01T12:00:00Z"},{"type":"PodReadyToStartContainers","status":"True","lastTransitionTime":"2026-03-01T12:00:00Z"},
{"type":"Initialized","status":"True","lastTransitionTime":"2026-03-01T12:00:00Z"},{"type":"ContainersReady","status":"True","lastTransitionTime":"2026-03-01T12:00:00Z"},
{"type":"Ready","status":"True","lastTransitionTime":"2026-03-01T12:00:00Z"}],
"hostIP":"172.16.0.1","hostIPs":[{"ip":"172.16.0.1"}],"podIP":"10.128.0.2","podIPs":[{"ip":"10.128.0.2"}],"startTime":"2026-03-01T12:00:00Z",
"containerStatuses":[{"name":"app","state":{"running":{"startedAt":"2026-03-01T12:00:00Z"}},"lastState":{},"ready":true,"restartCount":0,"image":"docker.io/library/nginx:1.27",
"imageID":"docker.io/library/nginx@sha256:9f2d0f5a4c8e7b1d9f2d0f5a4c8e7b1d","containerID":"containerd://0123456789abcdef0123456789abcdefPODNAME","started":true}],"qosClass":"Burstable"}}`

// CacheBytesPerPod is the heap that a pod takes in the operator's cache. Each
// pod is decoded for itself, so that nothing is shared that would not be.
func CacheBytesPerPod(pods int) (float64, error) {
	indexes := podIndexes{}
	if err := observe.AddIndexes(context.Background(), indexes, appsv1.LabelName); err != nil {
		return 0, err
	}
	before := heap()
	store, slimming := cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexes.indexers()), observe.NewSlim()
	for i := range pods {
		pod := &corev1.Pod{}
		if err := json.Unmarshal([]byte(strings.ReplaceAll(typicalPod, "PODNAME", fmt.Sprintf("web-%d", i))), pod); err != nil {
			return 0, fmt.Errorf("read the typical pod: %w", err)
		}
		pod.UID = types.UID(fmt.Sprintf("2f5f8a1c-6f0b-4c39-9a55-%012d", i))
		slim, err := slimming(pod)
		if err != nil {
			return 0, err
		}
		if err := store.Add(slim); err != nil {
			return 0, err
		}
	}
	after := heap()
	runtime.KeepAlive(store)
	return float64(after-before) / float64(pods), nil
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
