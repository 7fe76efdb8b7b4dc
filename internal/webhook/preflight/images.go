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

package preflight

import (
	"slices"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
)

// checkImages parses the images as kubelets do. The API server takes any text
// for an image, and a pod with an invalid one waits for ever.
func checkImages(pod *corev1.Pod) Findings {
	var found Findings
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if c.Image == "" {
			continue // the trial says so
		}
		if _, err := reference.ParseNormalizedNamed(c.Image); err != nil {
			found = join(found, warn("container %s will not start: its image %q cannot be read: %v", c.Name, c.Image, err))
		}
	}
	return found
}
