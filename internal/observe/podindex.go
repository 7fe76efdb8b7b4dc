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

package observe

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PodIndex finds pods in the store of an informer. A list through the client
// copies every pod into the list, a kilobyte and more each, also where it is
// asked not to copy deeply; for a fleet of a thousand that is most of what a
// look costs. What is found here is the store's own: it is read and never
// changed.
type PodIndex struct{ store toolscache.Indexer }

// NewPodIndex adds an index to the informer of pods. It returns nil where there
// is not one informer but several, for a choice of namespaces or for shards;
// pods are then listed through the client.
func NewPodIndex(ctx context.Context, informers crcache.Informers, orphanLabels ...string) (*PodIndex, error) {
	informer, err := informers.GetInformer(ctx, &corev1.Pod{}, crcache.BlockUntilSynced(false))
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	single, ok := informer.(toolscache.SharedIndexInformer)
	if !ok {
		return nil, nil
	}
	values := podKeys(orphanLabels)
	err = single.AddIndexers(toolscache.Indexers{podIndexName: func(obj any) ([]string, error) {
		pod, ok := obj.(client.Object)
		if !ok {
			return nil, fmt.Errorf("a %T among the pods", obj)
		}
		keys := values(pod)
		for i := range keys {
			keys[i] = pod.GetNamespace() + "/" + keys[i]
		}
		return keys, nil
	}})
	if err != nil {
		return nil, fmt.Errorf("index pods: %w", err)
	}
	return &PodIndex{store: single.GetIndexer()}, nil
}

// podIndexName differs from those of the cache's own indexes.
const podIndexName = "observe/" + IndexPods

func (p *PodIndex) find(namespace, key string) ([]*corev1.Pod, error) {
	found, err := p.store.ByIndex(podIndexName, namespace+"/"+key)
	if err != nil {
		return nil, err
	}
	pods := make([]*corev1.Pod, 0, len(found))
	for _, obj := range found {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			return nil, fmt.Errorf("a %T among the pods", obj)
		}
		pods = append(pods, pod)
	}
	return pods, nil
}
