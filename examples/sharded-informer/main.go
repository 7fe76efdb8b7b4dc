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

// Command sharded-informer lets several informers share a load that one would
// carry alone, in two ways: by label, and by ranges of a hash of the UID.
//
// Look at what each informer holds. By label the API server sends an informer
// its own share only. By hash it does so too where it knows shardSelector (the
// feature gate ShardedListAndWatch); where it does not, every informer gets
// everything, keeps its share whole, and of the rest the name alone. In all
// cases each object is seen by exactly one, also while shards come and go and
// objects are created.
package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/sharding"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

// buckets is fixed, and more than there will ever be shards: the label says
// which bucket an object is in, and shards share out the buckets, so that a
// change of their number changes no object.
const buckets = 12

func main() { demo.Main(run) }

func run(ctx context.Context, cfg *rest.Config, namespace string) error {
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return err
	}
	objects := &objects{client.CoreV1().ConfigMaps(namespace), 0}
	if err := objects.create(ctx, 60); err != nil {
		return err
	}
	served, err := servesShards(ctx, objects.maps)
	if err != nil {
		return err
	}
	hash := sharder{name: "by hash, in the client (this server has no shardSelector)", keeps: inRange}
	if served {
		hash = sharder{name: "by hash, in the server (shardSelector)", asks: func(o *metav1.ListOptions, i, n int) {
			o.ShardSelector = hashRange(i, n).String()
		}}
	}
	byLabel := sharder{name: "by label, in the server", asks: func(o *metav1.ListOptions, i, n int) {
		var mine []string
		for bucket := i; bucket < buckets; bucket += n {
			mine = append(mine, strconv.Itoa(bucket))
		}
		o.LabelSelector = "bucket in (" + strings.Join(mine, ",") + ")"
	}}

	for _, how := range []sharder{byLabel, hash} {
		fmt.Println(how.name)
		for _, shards := range []int{1, 2, 4, 3} {
			group, err := how.start(ctx, objects.maps, shards)
			if err != nil {
				return err
			}
			if err := objects.create(ctx, 5); err != nil { // while they watch
				return err
			}
			if err := group.settle(ctx, objects.count); err != nil {
				return err
			}
			fmt.Printf("  %d informers: %s\n", shards, group.holdings())
			if err := group.exactlyOnce(objects.count); err != nil {
				return err
			}
			group.stop() // before others take over, so that no object has two
		}
	}
	fmt.Println("each object was seen by exactly one informer, every time")
	return nil
}

// servesShards asks for an empty share of the hashes. A server that knows
// shardSelector repeats it in its answer; another ignores it.
func servesShards(ctx context.Context, maps configMaps) (bool, error) {
	list, err := maps.List(ctx, metav1.ListOptions{ShardSelector: hashRange(0, buckets).String(), Limit: 1})
	return err == nil && list.ShardInfo != nil, err
}

// hashRange is shard i of n as the API server writes it.
func hashRange(i, n int) sharding.Selector {
	bound := func(i int) string {
		if i == n {
			return "0x10000000000000000" // 2^64, which no uint64 holds
		}
		return fmt.Sprintf("0x%016x", ^uint64(0)/uint64(n)*uint64(i)) //nolint:gosec // neither is negative
	}
	return sharding.NewSelector(sharding.ShardRangeRequirement{Key: "object.metadata.uid", Start: bound(i), End: bound(i + 1)})
}

func inRange(object *corev1.ConfigMap, i, n int) bool {
	matches, err := hashRange(i, n).Matches(object)
	return err == nil && matches
}

// objects makes ConfigMaps of 4 KiB, each with its bucket as a label.
type objects struct {
	maps  configMaps
	count int
}

func (o *objects) create(ctx context.Context, more int) error {
	for range more {
		name := fmt.Sprintf("object-%d", o.count)
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(name))
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"bucket": strconv.Itoa(int(hash.Sum32() % buckets))}},
			Data:       map[string]string{"load": strings.Repeat("x", 4096)},
		}
		if _, err := o.maps.Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create %s: %w", name, err)
		}
		o.count++
	}
	return nil
}
