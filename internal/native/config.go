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
	BySubPath:     "when the container restarts: its files are not updated",
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
	for _, u := range Uses(spec) {
		if u.Kind == c.Kind && u.Name == c.Name && (len(u.Keys) == 0 || c.reads(u.Keys...)) {
			how[u.How] = append(how[u.How], u.Container)
		}
	}
	return how
}

// reads reports whether one of the keys changes.
func (c Config) reads(keys ...string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(c.Changed, key) })
}

// Use is how a container reads a ConfigMap or a Secret.
type Use struct {
	Kind, Name, Container, How string
	// Keys are those that it reads; none are all.
	Keys []string
}

// Uses are what the containers of a pod read, those that start first among them.
func Uses(spec *corev1.PodSpec) []Use {
	var all []Use
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		all = append(all, environment(&c)...)
		for _, mount := range c.VolumeMounts {
			how := ByVolume
			if mount.SubPath != "" || mount.SubPathExpr != "" {
				how = BySubPath
			}
			for _, u := range contents(spec, mount.Name) {
				u.Container, u.How = c.Name, how
				all = append(all, u)
			}
		}
	}
	for _, ref := range spec.ImagePullSecrets {
		all = append(all, Use{Kind: "Secret", Name: ref.Name, How: ByImagePull})
	}
	return all
}

func environment(c *corev1.Container) []Use {
	var all []Use
	add := func(kind, name string, keys ...string) {
		all = append(all, Use{Kind: kind, Name: name, Container: c.Name, How: ByEnvironment, Keys: keys})
	}
	for _, from := range c.EnvFrom {
		if r := from.ConfigMapRef; r != nil {
			add("ConfigMap", r.Name)
		}
		if r := from.SecretRef; r != nil {
			add("Secret", r.Name)
		}
	}
	for _, env := range c.Env {
		if env.ValueFrom == nil {
			continue
		}
		if r := env.ValueFrom.ConfigMapKeyRef; r != nil {
			add("ConfigMap", r.Name, r.Key)
		}
		if r := env.ValueFrom.SecretKeyRef; r != nil {
			add("Secret", r.Name, r.Key)
		}
	}
	return all
}

// contents are what a volume holds.
func contents(spec *corev1.PodSpec, volume string) []Use {
	at := slices.IndexFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == volume })
	if at < 0 {
		return nil
	}
	var all []Use
	add := func(kind, name string, items []corev1.KeyToPath) {
		var keys []string
		for _, item := range items {
			keys = append(keys, item.Key)
		}
		all = append(all, Use{Kind: kind, Name: name, Keys: keys})
	}
	v := &spec.Volumes[at]
	if v.ConfigMap != nil {
		add("ConfigMap", v.ConfigMap.Name, v.ConfigMap.Items)
	}
	if v.Secret != nil {
		add("Secret", v.Secret.SecretName, v.Secret.Items)
	}
	if v.Projected == nil {
		return all
	}
	for _, s := range v.Projected.Sources {
		if s.ConfigMap != nil {
			add("ConfigMap", s.ConfigMap.Name, s.ConfigMap.Items)
		}
		if s.Secret != nil {
			add("Secret", s.Secret.Name, s.Secret.Items)
		}
	}
	return all
}
