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

package certs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CAKey is the key of the CAs in the ConfigMap.
const CAKey = "ca.crt"

// Target is an object with webhook client configurations in it, or the
// ConfigMap.
type Target struct {
	GVK  schema.GroupVersionKind
	Name string
	// Namespace is empty for a cluster-scoped object.
	Namespace string
}

// MutatingConfiguration is a MutatingWebhookConfiguration.
func MutatingConfiguration(name string) Target {
	return Target{GVK: admissionregistrationv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration"), Name: name}
}

// ValidatingConfiguration is a ValidatingWebhookConfiguration.
func ValidatingConfiguration(name string) Target {
	return Target{GVK: admissionregistrationv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"), Name: name}
}

// CRD is a CustomResourceDefinition with a conversion webhook.
func CRD(name string) Target {
	return Target{GVK: schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}, Name: name}
}

func configMap(name types.NamespacedName) Target {
	return Target{GVK: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Name: name.Name, Namespace: name.Namespace}
}

// String names the target in errors.
func (t Target) String() string { return t.GVK.Kind + " " + t.Name }

func (t Target) object() *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(t.GVK)
	u.SetName(t.Name)
	u.SetNamespace(t.Namespace)
	return u
}

// clientConfig is one place where an API server learns which address to call
// and which CAs to trust.
type clientConfig struct {
	pointer string // JSON pointer to it
	// webhook is its name, empty for a conversion.
	webhook string
	config  map[string]any
}

// clientConfigs finds them in an object.
func clientConfigs(object *unstructured.Unstructured) []clientConfig {
	var found []clientConfig
	webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
	for i, item := range webhooks {
		webhook, _ := item.(map[string]any)
		if config, ok := webhook["clientConfig"].(map[string]any); ok {
			name, _ := webhook["name"].(string)
			found = append(found, clientConfig{"/webhooks/" + strconv.Itoa(i) + "/clientConfig", name, config})
		}
	}
	if config, ok, _ := unstructured.NestedMap(object.Object, "spec", "conversion", "webhook", "clientConfig"); ok {
		found = append(found, clientConfig{"/spec/conversion/webhook/clientConfig", "", config})
	}
	return found
}

// host is the name by which the API server calls.
func (c clientConfig) host() string {
	if raw, ok := c.config["url"].(string); ok {
		if u, err := url.Parse(raw); err == nil {
			return u.Hostname()
		}
		return ""
	}
	name, _, _ := unstructured.NestedString(c.config, "service", "name")
	namespace, _, _ := unstructured.NestedString(c.config, "service", "namespace")
	return name + "." + namespace + ".svc"
}

// address is the one of a server that is no Service: https://host:port.
func (c clientConfig) address() string {
	raw, _ := c.config["url"].(string)
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// path is where on the server the webhook is.
func (c clientConfig) path() string {
	if raw, ok := c.config["url"].(string); ok {
		if u, err := url.Parse(raw); err == nil {
			return u.Path
		}
		return ""
	}
	path, _, _ := unstructured.NestedString(c.config, "service", "path")
	return path
}

// patch is a JSON patch's one operation.
type patch struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patches are how an object has to change so that each of its clientConfigs
// trusts bundle(what it trusts now), calls the path of its webhook and, where
// base is set, that address. The path of a webhook that paths does not name is
// the manifest's.
func patches(object *unstructured.Unstructured, base string, paths map[string]string, bundle func([]byte) []byte) []patch {
	var list []patch
	for _, c := range clientConfigs(object) {
		path, known := paths[c.webhook]
		if !known {
			path = c.path()
		}
		// A caBundle that is no base64 would not be there.
		encoded, _ := c.config["caBundle"].(string)
		old, _ := base64.StdEncoding.DecodeString(encoded)
		wanted := bundle(old)
		if address := cmp.Or(base, c.address()); address != "" && c.config["url"] != address+path {
			list = append(list, patch{"replace", c.pointer, map[string]any{
				"url": address + path, "caBundle": wanted,
			}})
			continue
		}
		if _, service := c.config["service"]; service && c.path() != path {
			list = append(list, patch{"add", c.pointer + "/service/path", path})
		}
		if !bytes.Equal(old, wanted) {
			list = append(list, patch{"add", c.pointer + "/caBundle", wanted})
		}
	}
	return guarded(object, list)
}

// publication is how the ConfigMap has to change so that it holds bundle(what
// it holds now). Its other keys are not ours.
func publication(object *unstructured.Unstructured, bundle func([]byte) []byte) []patch {
	keys, _, _ := unstructured.NestedMap(object.Object, "data")
	old, _ := keys[CAKey].(string)
	wanted := string(bundle([]byte(old)))
	switch {
	case old == wanted:
		return nil
	case keys == nil:
		return guarded(object, []patch{{"add", "/data", map[string]string{CAKey: wanted}}})
	}
	return guarded(object, []patch{{"add", "/data/" + CAKey, wanted}})
}

// guarded makes patches hold for the version that was read. A bundle is merged
// from what was read: a write in between wins, and we merge again.
func guarded(object *unstructured.Unstructured, list []patch) []patch {
	if len(list) == 0 {
		return nil
	}
	return append([]patch{{"add", "/metadata/resourceVersion", object.GetResourceVersion()}}, list...)
}

// write sends patches, where there are any.
func write(ctx context.Context, c client.Writer, object *unstructured.Unstructured, list []patch) error {
	if len(list) == 0 {
		return nil
	}
	t := Target{GVK: object.GroupVersionKind(), Name: object.GetName(), Namespace: object.GetNamespace()}
	raw, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("patch %s: %w", t, err)
	}
	if err := c.Patch(ctx, t.object(), client.RawPatch(types.JSONPatchType, raw)); err != nil {
		return fmt.Errorf("patch %s: %w", t, err)
	}
	return nil
}

// hostsOf are the names by which objects have the API server call us, sorted.
func hostsOf(objects []*unstructured.Unstructured) []string {
	var hosts []string
	for _, object := range objects {
		for _, c := range clientConfigs(object) {
			if host := c.host(); host != "" {
				hosts = append(hosts, host)
			}
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}
