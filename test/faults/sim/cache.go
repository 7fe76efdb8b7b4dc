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

package sim

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/observe"
	"github.com/mycompany/pod-operator/internal/podrender"
)

// source is where objects are read from: the server or a cache.
type source interface {
	get(key objectKey) (client.Object, error)
	objectsOf(kind string) []client.Object
}

// reader is a client.Reader over a source.
type reader struct {
	source    source
	server    *Server
	transport transport
	indexes   indexes
}

// Get implements client.Reader.
func (r *reader) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	k := objectKey{r.server.kindOf(obj), key.Namespace, key.Name}
	return r.transport.do(call{
		text: "get " + k.kind + " " + k.name, into: obj, live: r.source == source(r.server) && k.kind == "PodManager",
		run: func() (client.Object, error) { return r.source.get(k) },
	})
}

// List implements client.Reader. It knows the options that Observe uses.
func (r *reader) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	kind := strings.TrimSuffix(r.server.kindOf(list), "List")
	return r.transport.do(call{text: "list " + kind, run: func() (client.Object, error) {
		var picked []runtime.Object
		for _, obj := range r.source.objectsOf(kind) {
			if r.matches(obj, options) {
				picked = append(picked, obj.DeepCopyObject())
			}
		}
		return nil, meta.SetList(list, picked)
	}})
}

func (r *reader) matches(obj client.Object, o *client.ListOptions) bool {
	if o.Namespace != "" && obj.GetNamespace() != o.Namespace {
		return false
	}
	if o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(obj.GetLabels())) {
		return false
	}
	if o.FieldSelector == nil {
		return true
	}
	for _, q := range o.FieldSelector.Requirements() {
		if !slices.Contains(r.indexes.values(obj, q.Field), q.Value) {
			return false
		}
	}
	return true
}

// indexes are the operator's own, as it registers them with its cache.
type indexes map[string]client.IndexerFunc

// IndexField implements client.FieldIndexer.
func (i indexes) IndexField(_ context.Context, obj client.Object, field string, values client.IndexerFunc) error {
	i[indexName(obj, field)] = values
	return nil
}

func indexName(obj client.Object, field string) string {
	return reflect.TypeOf(obj).String() + " " + field
}

func (i indexes) values(obj client.Object, field string) []string {
	values, ok := i[indexName(obj, field)]
	if !ok {
		panic(fmt.Sprintf("there is no index %s of %T", field, obj))
	}
	return values(obj)
}

// cursor is an informer: a position in the log, and what the log said up to
// it. How stale it is, is how far its position is behind.
type cursor struct {
	kind string
	// at is the index of the next entry of the log to be read.
	at      int
	objects map[objectKey]client.Object
	// sharded: only what carries the label of the shard is shown.
	sharded bool
}

// kinds are what the operator's caches hold.
var kinds = []string{"PodManager", "Pod", "ControllerRevision", "Node", "PersistentVolumeClaim"}

// trim does to an object what the operator's cache does before it stores it.
func (c *cursor) trim(obj client.Object) client.Object {
	if c.sharded && c.kind != "Node" && obj.GetLabels()[appsv1.LabelShard] != "0" {
		return nil
	}
	switch obj := obj.(type) {
	case *corev1.Pod:
		slim, err := observe.Slim(obj.DeepCopy())
		if err != nil {
			panic(err)
		}
		return slim.(client.Object)
	case *corev1.Node:
		slim, err := observe.SlimNode(obj.DeepCopy())
		if err != nil {
			panic(err)
		}
		return slim.(client.Object)
	case *kappsv1.ControllerRevision, *corev1.PersistentVolumeClaim:
		if obj.GetLabels()[podrender.LabelManagedBy] != podrender.ManagedBy {
			return nil
		}
	}
	return obj
}

// next is the next entry of the cursor's kind, or nil.
func (c *cursor) next(s *Server) *entry {
	for i := c.at; i < len(s.log); i++ {
		if s.log[i].kind == c.kind {
			c.at = i
			return &s.log[i]
		}
	}
	c.at = len(s.log)
	return nil
}

// read takes one entry in and returns what the cache held and holds now.
func (c *cursor) read(s *Server, e *entry) (before, after client.Object) {
	key := s.key(e.Object)
	before = c.objects[key]
	c.at++
	after = c.trim(e.Object)
	if e.Gone || after == nil {
		delete(c.objects, key)
		return before, nil
	}
	c.objects[key] = after
	return before, after
}

// version is the resourceVersion the cursor has read up to.
func (c *cursor) version(s *Server) int64 {
	if c.at == 0 || len(s.log) == 0 {
		return 0
	}
	return s.log[c.at-1].Version
}

// cacheOf is all cursors of a process.
type cacheOf struct {
	server  *Server
	cursors map[string]*cursor
}

func (c *cacheOf) get(key objectKey) (client.Object, error) {
	cursor := c.cursors[key.kind]
	if cursor == nil {
		return nil, errors.New("the operator does not watch " + key.kind)
	}
	if obj := cursor.objects[key]; obj != nil {
		return obj, nil
	}
	return (&Server{}).get(key)
}

func (c *cacheOf) objectsOf(kind string) []client.Object {
	var list []client.Object
	for _, obj := range c.cursors[kind].objects {
		list = append(list, obj)
	}
	slices.SortFunc(list, compareNames)
	return list
}

// newIndexes are the indexes that the manager registers.
func newIndexes() indexes {
	i := indexes{}
	if err := observe.AddIndexes(context.Background(), i, appsv1.LabelName); err != nil {
		panic(err)
	}
	return i
}
