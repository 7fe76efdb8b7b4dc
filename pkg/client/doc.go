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

// Package client is what programs that work with our kinds need: below it are
// the generated clientset, the informers and listers for caches, and the apply
// configurations for server-side apply. "make generate" writes all of it;
// this file alone is written by hand. See examples/apply and
// examples/sharedinformer-factory for how to use it.
//
//	clientset/versioned            typed clients, one per group and version, and a fake for tests
//	informers/externalversions     shared informers for all kinds
//	listers                        typed reads from the informers' caches
//	applyconfiguration             the fields that a server-side apply sets, and no others
package client
