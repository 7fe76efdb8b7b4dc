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

// Package execpages gives back memory that holds code which is not needed any
// more. Starting touches most of a program once: every package sets itself up
// and every type is registered. The kernel maps those pages, in blocks of
// sixteen, and counts them as the program's memory from then on; what runs
// afterwards needs less than half of them.
//
// Nothing is lost: the pages are the executable's, unchanged, and come back
// from the file system's cache when they are touched.
package execpages
