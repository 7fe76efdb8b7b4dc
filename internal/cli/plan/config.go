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

package plan

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mycompany/pod-operator/internal/native"
	"github.com/mycompany/pod-operator/internal/view"
)

const (
	configMap = "ConfigMap"
	secret    = "Secret"
)

// config plans a change of a ConfigMap or a Secret: which pods read it.
func (w *world) config(ctx context.Context, live, changed *unstructured.Unstructured, p *Plan) error {
	p.Preview = view.Preview{Counts: map[string]int{}, Complete: true, Steps: []view.Step{}}.After(nil)
	p.Native = &outlook{Stay: []string{}, Warnings: []native.Note{}, Unknown: []string{}}
	keys := native.ChangedKeys(contentOf(live), contentOf(changed))
	switch {
	case live == nil:
		return nil
	case len(keys) > 0:
		p.Keys = keys
	case p.Source == "": // asked for by name: who reads any key
		keys = slices.Sorted(maps.Keys(contentOf(live)))
	default:
		return nil
	}
	var pods corev1.PodList
	if err := w.list(ctx, native.Pods, &pods, client.InNamespace(w.namespace)); err != nil {
		return err
	}
	if why, unread := w.Unread[native.Pods]; unread {
		p.Native.Unknown = append(p.Native.Unknown, "which pods read it: the pods could not be read: "+why)
		return nil
	}
	p.Readers = native.Config{Kind: changed.GetKind(), Name: changed.GetName(), Changed: keys}.Readers(pods.Items)
	return nil
}

// contentOf is what a ConfigMap or a Secret holds.
func contentOf(object *unstructured.Unstructured) map[string][]byte {
	content := map[string][]byte{}
	if object == nil {
		return content
	}
	for _, field := range []string{"data", "binaryData"} {
		values, _, _ := unstructured.NestedStringMap(object.Object, field)
		for key, value := range values {
			content[key] = []byte(value)
		}
	}
	return content
}

// contents reads FILE, KEY=FILE and folders of files, as kubectl create configmap does.
func contents(words []string) (map[string][]byte, error) {
	content := map[string][]byte{}
	add := func(key, file string) error {
		if _, twice := content[key]; twice {
			return fmt.Errorf("the key %s is there twice", key)
		}
		raw, err := os.ReadFile(file) // #nosec G304 -- the user names the file
		content[key] = raw
		return err
	}
	for _, word := range words {
		key, file, named := strings.Cut(word, "=")
		if !named {
			key, file = filepath.Base(word), word
		}
		entries, err := os.ReadDir(file)
		if named || err != nil {
			if err := add(key, file); err != nil {
				return nil, err
			}
			continue
		}
		for _, entry := range entries {
			if !entry.Type().IsRegular() {
				continue
			}
			if err := add(entry.Name(), filepath.Join(file, entry.Name())); err != nil {
				return nil, err
			}
		}
	}
	return content, nil
}

// showReaders prints which pods read the keys that change, or with no change any key.
func (p *Plan) showReaders(out io.Writer) {
	which, it := "them", "it"
	if len(p.Keys) > 0 {
		fmt.Fprintf(out, "Keys that change: %s\n", strings.Join(p.Keys, ", "))
	} else {
		which, it = "it", "a change"
	}
	for i := range p.Readers {
		r := &p.Readers[i]
		of := r.Owner
		if of == "" {
			of = strings.Join(r.Pods, ", ")
		}
		fmt.Fprintf(out, "Read by %s of %s, by %s: %s arrives %s.\n", view.Count(len(r.Pods), "pod"), of, r.How, it, r.When)
	}
	if len(p.Readers) == 0 && len(p.Native.Unknown) == 0 && (len(p.Keys) > 0 || p.Source == "") {
		fmt.Fprintf(out, "No pod reads %s.\n", which)
	}
}
