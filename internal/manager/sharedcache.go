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

package manager

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// sharedCache is a shard's own cache, except for what is the same for all
// shards: nodes, quotas, CRDs and what asks for evictions are read from the cache of the whole
// process. Handlers that the shard added to those are removed when it leaves, or they
// would keep it in memory for ever.
type sharedCache struct {
	cache.Cache
	root cache.Cache

	mu     sync.Mutex
	leaves []func()
}

func newSharedCache(root cache.Cache) *sharedCache { return &sharedCache{root: root} }

// with is a cache.NewCacheFunc.
func (c *sharedCache) with(config *rest.Config, o cache.Options) (cache.Cache, error) {
	own, err := cache.New(config, o)
	c.Cache = own
	return c, err
}

func (c *sharedCache) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.leaves {
		f()
	}
	c.leaves = nil
}

func isShared(obj any) bool {
	switch obj.(type) {
	case *corev1.Node, *corev1.NodeList, *corev1.ResourceQuota, *corev1.ResourceQuotaList, *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList,
		*lifecyclev1alpha1.EvictionRequest, *lifecyclev1alpha1.EvictionRequestList, *lifecyclev1alpha1.Eviction, *lifecyclev1alpha1.EvictionList:
		return true
	}
	return false
}

// Get implements client.Reader.
func (c *sharedCache) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if isShared(obj) {
		return c.root.Get(ctx, key, obj, opts...)
	}
	return c.Cache.Get(ctx, key, obj, opts...)
}

// List implements client.Reader.
func (c *sharedCache) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if isShared(list) {
		return c.root.List(ctx, list, opts...)
	}
	return c.Cache.List(ctx, list, opts...)
}

// GetInformer implements cache.Informers.
func (c *sharedCache) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	if !isShared(obj) {
		return c.Cache.GetInformer(ctx, obj, opts...)
	}
	informer, err := c.root.GetInformer(ctx, obj, opts...)
	if err != nil {
		return nil, err
	}
	return &guestInformer{Informer: informer, cache: c}, nil
}

// guestInformer remembers the handlers that were added through it.
type guestInformer struct {
	cache.Informer
	cache *sharedCache
}

func (i *guestInformer) remember(r toolscache.ResourceEventHandlerRegistration, err error) (toolscache.ResourceEventHandlerRegistration, error) {
	if err == nil {
		i.cache.mu.Lock()
		defer i.cache.mu.Unlock()
		i.cache.leaves = append(i.cache.leaves, func() { _ = i.RemoveEventHandler(r) })
	}
	return r, err
}

// AddEventHandler implements cache.Informer.
func (i *guestInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.remember(i.Informer.AddEventHandler(h))
}

// AddEventHandlerWithResyncPeriod implements cache.Informer.
func (i *guestInformer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler, d time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.remember(i.Informer.AddEventHandlerWithResyncPeriod(h, d))
}

// AddEventHandlerWithOptions implements cache.Informer.
func (i *guestInformer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler, o toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.remember(i.Informer.AddEventHandlerWithOptions(h, o))
}
