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

package native

import (
	"bytes"
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How a pod reads a ConfigMap or a Secret.
const (
	ByEnvironment = "environment"
	ByVolume      = "volume"
	BySubPath     = "subPath"
	ByImagePull   = "imagePull"
)

// Config is a ConfigMap or a Secret.
type Config struct {
	Kind, Name string
	// Changed are the keys whose values change, are added or go.
	Changed []string
}

// Reader is how pods of one owner read it.
type Reader struct {
	// Owner is their controller, "ReplicaSet/web-5d8c", or empty.
	Owner string `json:"owner,omitempty"`
	How   string `json:"how"`
	// Containers read it, those that start first among them; none for an image pull.
	Containers []string `json:"containers,omitempty"`
	Pods       []string `json:"pods"`
	// When a change reaches them.
	When string `json:"when"`
}

// When a change reaches a pod.
var arrives = map[string]string{
	ByEnvironment: "when the container restarts",
	ByVolume:      "in the files within about a minute; the program has to read them again",
	BySubPath:     "never while the pod lives",
	ByImagePull:   "at the next pull of an image",
}

// ChangedKeys are the keys of data that differ.
func ChangedKeys(before, after map[string][]byte) []string {
	keys := map[string]bool{}
	for key, value := range before {
		if now, ok := after[key]; !ok || !bytes.Equal(now, value) {
			keys[key] = true
		}
	}
	for key := range after {
		if _, ok := before[key]; !ok {
			keys[key] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// Readers are the pods that read what changes, by owner and by how.
func (c Config) Readers(pods []corev1.Pod) []Reader {
	type group struct{ owner, how string }
	found := map[group]*Reader{}
	for i := range pods {
		pod := &pods[i]
		if !active(pod) {
			continue
		}
		owner := ""
		if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
			owner = ref.Kind + "/" + ref.Name
		}
		for how, containers := range c.readBy(&pod.Spec) {
			key := group{owner, how}
			if found[key] == nil {
				found[key] = &Reader{Owner: owner, How: how, When: arrives[how]}
			}
			r := found[key]
			r.Pods = append(r.Pods, pod.Name)
			for _, name := range containers {
				if name != "" && !slices.Contains(r.Containers, name) {
					r.Containers = append(r.Containers, name)
				}
			}
		}
	}
	var readers []Reader
	for _, r := range found {
		slices.Sort(r.Pods)
		readers = append(readers, *r)
	}
	slices.SortFunc(readers, func(a, b Reader) int { return cmp.Or(cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.How, b.How)) })
	return readers
}

// readBy are the containers that read it, by how.
func (c Config) readBy(spec *corev1.PodSpec) map[string][]string {
	how := map[string][]string{}
	volumes := map[string]bool{}
	for i := range spec.Volumes {
		volumes[spec.Volumes[i].Name] = c.isVolume(&spec.Volumes[i])
	}
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		if c.inEnvironment(&container) {
			how[ByEnvironment] = append(how[ByEnvironment], container.Name)
		}
		for _, mount := range container.VolumeMounts {
			switch {
			case !volumes[mount.Name]:
			case mount.SubPath != "" || mount.SubPathExpr != "":
				how[BySubPath] = append(how[BySubPath], container.Name)
			default:
				how[ByVolume] = append(how[ByVolume], container.Name)
			}
		}
	}
	for _, ref := range spec.ImagePullSecrets {
		if c.Kind == "Secret" && ref.Name == c.Name {
			how[ByImagePull] = []string{""}
		}
	}
	return how
}

// reads reports whether one of the keys changes.
func (c Config) reads(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(c.Changed, key) })
}

func (c Config) inEnvironment(container *corev1.Container) bool {
	for _, from := range container.EnvFrom {
		if from.ConfigMapRef != nil && c.Kind == "ConfigMap" && from.ConfigMapRef.Name == c.Name ||
			from.SecretRef != nil && c.Kind == "Secret" && from.SecretRef.Name == c.Name {
			return true
		}
	}
	for _, env := range container.Env {
		from := env.ValueFrom
		switch {
		case from == nil:
		case c.Kind == "ConfigMap" && from.ConfigMapKeyRef != nil && from.ConfigMapKeyRef.Name == c.Name && c.reads(from.ConfigMapKeyRef.Key),
			c.Kind == "Secret" && from.SecretKeyRef != nil && from.SecretKeyRef.Name == c.Name && c.reads(from.SecretKeyRef.Key):
			return true
		}
	}
	return false
}

// isVolume: the volume holds one of the keys that change.
func (c Config) isVolume(v *corev1.Volume) bool {
	if v.ConfigMap != nil && c.isConfigMap(v.ConfigMap.Name, v.ConfigMap.Items) || v.Secret != nil && c.isSecret(v.Secret.SecretName, v.Secret.Items) {
		return true
	}
	return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
		return s.ConfigMap != nil && c.isConfigMap(s.ConfigMap.Name, s.ConfigMap.Items) || s.Secret != nil && c.isSecret(s.Secret.Name, s.Secret.Items)
	})
}

func (c Config) isConfigMap(name string, items []corev1.KeyToPath) bool {
	return c.Kind == "ConfigMap" && name == c.Name && c.some(items)
}

func (c Config) isSecret(name string, items []corev1.KeyToPath) bool {
	return c.Kind == "Secret" && name == c.Name && c.some(items)
}

// some: no items are all keys.
func (c Config) some(items []corev1.KeyToPath) bool {
	if len(items) == 0 {
		return true
	}
	return slices.ContainsFunc(items, func(item corev1.KeyToPath) bool { return c.reads(item.Key) })
}
