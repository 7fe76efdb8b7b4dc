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

// Command playground starts a real local Kubernetes with the operator and a
// sample on it, and stops it again. Its verbs are in internal/playground.
package main

import (
	"os"

	"github.com/mycompany/pod-operator/internal/playground"
)

func main() {
	os.Exit(playground.Main(os.Args[1:], os.Stdout, os.Stderr))
}
