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

// Package paths says where on its server the operator has which webhook: the
// operator repairs a configuration that calls another path, and the command
// line reports it.
package paths

import (
	"regexp"
	"strings"
)

// Conversion is the key of the CRD's conversion webhook, which has no name.
const Conversion = ""

// Evictions is the name of the webhook for evictions.
const Evictions = "evictions.apps.mycompany.com"

// EvictionsPath is where it is.
const EvictionsPath = "/evictions"

// All are the paths by the names of the webhooks in the configurations.
func All() map[string]string {
	return map[string]string{
		Conversion: "/convert",
		"keep.v1alpha1.podmanager.apps.mycompany.com":              "/mutate-apps-mycompany-com-v1alpha1-podmanager",
		"default.v1.podmanager.apps.mycompany.com":                 "/mutate-apps-mycompany-com-v1-podmanager",
		"validate.v1alpha1.podmanager.apps.mycompany.com":          "/validate-apps-mycompany-com-v1alpha1-podmanager",
		"validate.v1.podmanager.apps.mycompany.com":                "/validate-apps-mycompany-com-v1-podmanager",
		"validate.v1alpha1.imoocpod.batch.tutorial.kubebuilder.io": "/validate-batch-tutorial-kubebuilder-io-v1alpha1-imoocpod",
		"validate.v1alpha1.helloworld.test.jiaozi.com":             "/validate-test-jiaozi-com-v1alpha1-helloworld",
		"validate.v1.collector.collector.ip.mycompany.com":         "/validate-collector-ip-mycompany-com-v1-collector",
		"validate.scale.mycompany.com":                             "/validate-scale",
		Evictions:                                                  EvictionsPath,
	}
}

// secret is what the operator adds to a path: only the API server and those who may
// read the configuration know it.
var secret = regexp.MustCompile(`/[0-9a-f]{32}$`)

// IsServed reports whether the webhook of a path in All answers at a path, and whether
// that ends in a secret.
func IsServed(base, path string) (served, isSecret bool) {
	rest, ours := strings.CutPrefix(path, base)
	isSecret = ours && rest != "" && rest == secret.FindString(rest)
	return path == base || isSecret, isSecret
}

// Redacted is a path without its secret.
func Redacted(path string) string { return secret.ReplaceAllString(path, "/…") }
