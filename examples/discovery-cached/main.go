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

// Command discovery-cached discovers three times through a cache on disk, as
// kubectl does, and through one in memory, as controllers do.
//
// Look at the number of requests: the second time costs none, also for another
// client on the same folder, and Invalidate makes the next one ask again.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"

	"github.com/mycompany/pod-operator/examples/internal/demo"
)

func main() { demo.Main(run) }

func run(_ context.Context, cfg *rest.Config, _ string) error {
	dir, err := os.MkdirTemp("", "discovery-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cfg, requests := demo.Counted(cfg)
	onDisk := func() (*disk.CachedDiscoveryClient, error) {
		return disk.NewCachedDiscoveryClientForConfig(cfg, filepath.Join(dir, "discovery"), filepath.Join(dir, "http"), 10*time.Minute)
	}
	first, err := onDisk()
	if err != nil {
		return err
	}
	second, err := onDisk()
	if err != nil {
		return err
	}
	plain, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return err
	}
	inMemory := memory.NewMemCacheClient(plain)
	nothing := func() {}
	for _, step := range []struct {
		what   string
		client discovery.DiscoveryInterface
		before func()
	}{
		{"no cache: the first time", plain, nothing},
		{"no cache: the second time", plain, nothing},
		{"on disk: the first time", first, nothing},
		{"on disk: the second time", first, nothing},
		{"on disk: another client, same folder", second, nothing},
		{"on disk: after Invalidate", first, first.Invalidate},
		{"in memory: the first time", inMemory, nothing},
		{"in memory: the second time", inMemory, nothing},
		{"in memory: after Invalidate", inMemory, inMemory.Invalidate},
	} {
		step.before()
		var versions int
		sent, err := requests.Since(func() error {
			_, lists, err := step.client.ServerGroupsAndResources()
			versions = len(lists)
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		fmt.Printf("%-38s %2d requests for %d group versions\n", step.what, sent, versions)
	}
	return nil
}
