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

// Package certs makes the operator's servers trusted without storing a secret:
// its webhooks, its metrics endpoint and its page.
//
// Every replica of the operator makes a key, a CA and a serving certificate of
// its own. The CA's key signs that one certificate and is thrown away; the
// serving key stays in the process's memory. What is shared is public: the CA
// is put into the caBundle of the webhook configurations and of the CRD's
// conversion, beside those of the other replicas, and into a ConfigMap for
// clients that are no API servers, Prometheus for one. So there is no Secret to
// read, no right to read Secrets, and nothing to agree on between replicas.
//
// A rotation has no gap, because every step is taken only after the step
// before it is known everywhere:
//
//  1. a new pair is made and its CA joins the bundles, while the old
//     certificate is still served;
//  2. after the settling time, when everyone has long seen the new bundles,
//     the new certificate is served;
//  3. after another settling time the old CA leaves the bundles.
//
// The Keeper watches the objects it writes to: a caBundle, an address or a path
// that was replaced is corrected at once. It touches clientConfig, one key of the
// ConfigMap and nothing else, and each write carries the resourceVersion it was
// made for, so that replicas do not overwrite each other's CAs. It never makes a configuration
// again that was deleted: it cannot tell a mistake from the uninstallation, and
// a configuration that outlives the operator refuses objects of everyone.
package certs
