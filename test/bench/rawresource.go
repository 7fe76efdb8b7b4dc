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
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
)

// RawResourceVerb is the first argument that makes the program a controller of
// a custom resource that does no more than it has to.
const RawResourceVerb = "raw-resource"

// The custom resources of that controller. These two have one version, no
// webhook and no conversion; the open one takes everything without looking at
// it, the typed one has the schema and the rules of a PodManager. The third is
// in rawserved.go.
const (
	rawGroup      = "bench.mycompany.com"
	openResource  = "openfleets"
	typedResource = "typedfleets"
)

func rawGVR(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: rawGroup, Version: "v1", Resource: resource}
}

// rawCRDs are the two resources.
func rawCRDs(manifests []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	for _, object := range manifests {
		if object.GetKind() != "CustomResourceDefinition" || object.GetName() != "podmanagers.apps.mycompany.com" {
			continue
		}
		versions, _, err := unstructured.NestedSlice(object.Object, "spec", "versions")
		if err != nil {
			return nil, fmt.Errorf("read the versions of PodManagers: %w", err)
		}
		for _, raw := range versions {
			if version, _ := raw.(map[string]any); version["name"] == "v1" {
				return []*unstructured.Unstructured{
					rawCRD(openResource, "OpenFleet", map[string]any{"openAPIV3Schema": map[string]any{
						"type": "object", "x-kubernetes-preserve-unknown-fields": true,
					}}),
					rawCRD(typedResource, "TypedFleet", version["schema"]),
				}, nil
			}
		}
	}
	return nil, errors.New("there is no PodManager of version v1 among the manifests")
}

func rawCRD(resource, kind string, schema any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": resource + "." + rawGroup},
		"spec": map[string]any{
			"group": rawGroup, "scope": "Namespaced",
			"names": map[string]any{"plural": resource, "kind": kind},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": schema, "subresources": map[string]any{"status": map[string]any{}},
			}},
		},
	}}
}

// startRawResource runs this program again.
func startRawResource(s *stage, c *contender) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	args := []string{RawResourceVerb, "--namespace=" + s.namespace(), "--resource=" + c.gvr.Resource}
	if c.gvr.Resource == servedResource {
		args = append(args, "--webhook-port="+strconv.Itoa(s.servedPort))
	}
	return s.run(c, self, args, nil)
}

// rawResourceWorkers is as many as helped in step a.
const rawResourceWorkers = 32

// RawResource is the limit for a controller that keeps pods for a custom
// resource: it sends only what no controller can leave out, a create for each
// pod and one status for each object, once all its pods are ready. It has no
// finalizer and does not handle failures; it writes history and events only
// where it serves webhooks.
func RawResource(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet(RawResourceVerb, flag.ContinueOnError)
	kubeconfig := fs.String("kubeconfig", "", "")
	namespace := fs.String("namespace", "", "")
	resource := fs.String("resource", "", "")
	port := fs.Int("webhook-port", 0, "")
	if err := fs.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("read %s: %w", *kubeconfig, err)
	}
	config.QPS = -1
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if *port > 0 {
		if err := serve(ctx, config, *port, fail); err != nil {
			return fmt.Errorf("serve the webhooks of %s: %w", *resource, err)
		}
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	k := &rawKeeper{
		clients: clients, objects: objects.Resource(rawGVR(*resource)).Namespace(*namespace), namespace: *namespace,
		records: *port > 0, queue: workqueue.NewTyped[string](), made: map[types.UID]int{}, told: map[types.UID]int64{},
	}
	return k.run(ctx, objects, *resource)
}

// rawKeeper is that controller.
type rawKeeper struct {
	clients   kubernetes.Interface
	objects   dynamic.ResourceInterface
	namespace string
	// records: it writes a revision and an event for each object.
	records bool
	queue   workqueue.TypedInterface[string]
	fleets  cache.Indexer
	pods    cache.Indexer

	mu sync.Mutex
	// made is how many pods an object was given, told the generation of the
	// last status written for it.
	made map[types.UID]int
	told map[types.UID]int64
}

const byFleet = "fleet"

func (k *rawKeeper) run(ctx context.Context, objects dynamic.Interface, resource string) error {
	pods := informers.NewSharedInformerFactoryWithOptions(k.clients, 0, informers.WithNamespace(k.namespace)).Core().V1().Pods().Informer()
	fleets := dynamicinformer.NewFilteredDynamicSharedInformerFactory(objects, 0, k.namespace, nil).ForResource(rawGVR(resource)).Informer()
	err := pods.AddIndexers(cache.Indexers{byFleet: func(obj any) ([]string, error) {
		return []string{obj.(metav1.Object).GetLabels()[fleetLabel]}, nil
	}})
	if err != nil {
		return err
	}
	k.fleets, k.pods = fleets.GetIndexer(), pods.GetIndexer()
	hear := func(informer cache.SharedIndexInformer, fleet func(metav1.Object) string) error {
		add := func(obj any) {
			if o, ok := obj.(metav1.Object); ok {
				k.queue.Add(fleet(o))
			}
		}
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, obj any) { add(obj) }, DeleteFunc: add})
		return err
	}
	err = errors.Join(
		hear(fleets, func(o metav1.Object) string { return o.GetName() }),
		hear(pods, func(o metav1.Object) string { return o.GetLabels()[fleetLabel] }),
	)
	if err != nil {
		return err
	}
	go pods.RunWithContext(ctx)
	go fleets.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced, fleets.HasSynced) {
		return context.Cause(ctx)
	}
	var workers sync.WaitGroup
	failed := make(chan error, rawResourceWorkers)
	for range rawResourceWorkers {
		workers.Go(func() { failed <- k.work(ctx) })
	}
	go func() { <-ctx.Done(); k.queue.ShutDown() }()
	err = <-failed
	k.queue.ShutDown()
	workers.Wait()
	return err
}

func (k *rawKeeper) work(ctx context.Context) error {
	for {
		name, done := k.queue.Get()
		if done {
			return nil
		}
		err := k.keep(ctx, name)
		k.queue.Done(name)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("keep the pods of %s/%s: %w", k.namespace, name, err)
		}
	}
}

// keep makes missing pods, deletes surplus ones, and writes the status when all
// are ready.
func (k *rawKeeper) keep(ctx context.Context, name string) error {
	obj, there, err := k.fleets.GetByKey(k.namespace + "/" + name)
	if err != nil || !there {
		return err
	}
	fleet := obj.(*unstructured.Unstructured)
	want, _, err := unstructured.NestedInt64(fleet.Object, "spec", "replicas")
	if err != nil {
		return err
	}
	k.mu.Lock()
	have, known := k.made[fleet.GetUID()]
	k.made[fleet.GetUID()] = int(want)
	told := k.told[fleet.GetUID()]
	k.mu.Unlock()
	if k.records && !known {
		if err := k.record(ctx, fleet); err != nil {
			return err
		}
	}
	pods := k.clients.CoreV1().Pods(k.namespace)
	for i := have; i < int(want); i++ {
		if _, err := pods.Create(ctx, fleetPod(fleet, i), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for i := int(want); i < have; i++ {
		if err := pods.Delete(ctx, fleetPod(fleet, i).Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	if live, ready := k.count(name); told == fleet.GetGeneration() || live != int(want) || ready != int(want) {
		return nil
	}
	k.mu.Lock()
	k.told[fleet.GetUID()] = fleet.GetGeneration()
	k.mu.Unlock()
	return k.tell(ctx, fleet, want)
}

func (k *rawKeeper) count(fleet string) (live, ready int) {
	list, _ := k.pods.ByIndex(byFleet, fleet) // fails for an index that is not there only
	for _, obj := range list {
		pod := obj.(*corev1.Pod)
		live++
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
				ready++
			}
		}
	}
	return live, ready
}

func (k *rawKeeper) tell(ctx context.Context, fleet *unstructured.Unstructured, pods int64) error {
	patch, err := json.Marshal(map[string]any{"status": map[string]int64{
		"observedGeneration": fleet.GetGeneration(), "replicas": pods, "updatedReplicas": pods, "readyReplicas": pods,
	}})
	if err != nil {
		return err
	}
	_, err = k.objects.Patch(ctx, fleet.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

func fleetPod(fleet *unstructured.Unstructured, i int) *corev1.Pod {
	pod := rawPod(i)
	pod.Name = fmt.Sprintf("%s-%d", fleet.GetName(), i)
	pod.Labels = map[string]string{fleetLabel: fleet.GetName()}
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: fleet.GetAPIVersion(), Kind: fleet.GetKind(), Name: fleet.GetName(), UID: fleet.GetUID(), Controller: ptr.To(true),
	}}
	return pod
}
