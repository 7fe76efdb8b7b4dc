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

package v1alpha1

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// AnnotationKept carries, on a v1alpha1 object, what v1 says and v1alpha1 has
// no field for. It is made when an object is read as v1alpha1 and taken off
// when it is written back, and nobody but the conversion writes it.
const AnnotationKept = "apps.mycompany.com/v1"

const (
	// plainLimit is how long the annotation may be in plain JSON, which a
	// reader can make sense of. A longer one is compressed: all annotations
	// of an object together have to stay below 256 KiB.
	plainLimit = 4 << 10
	// unpackedLimit bounds what a compressed annotation may unpack to. No
	// object that etcd takes is larger.
	unpackedLimit = 4 << 20
)

// kept is what the annotation holds.
type kept struct {
	// Spec is v1's spec without replicas and image.
	Spec map[string]any
	// Status is v1's status without nodes.
	Status map[string]any
	// ImageOf is set where v1 has no image of its own: spec.image shows the
	// image of this container of the template, and an edit goes there.
	ImageOf string
}

// putOn writes the annotation, unless there is nothing to keep.
func (k kept) putOn(object map[string]any) {
	content := map[string]any{}
	if len(k.Spec) > 0 {
		content["spec"] = k.Spec
	}
	if len(k.Status) > 0 {
		content["status"] = k.Status
	}
	if k.ImageOf != "" {
		content["imageOf"] = k.ImageOf
	}
	if len(content) == 0 {
		return
	}
	metadata := child(object, "metadata")
	if metadata == nil {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	annotations := child(metadata, "annotations")
	if annotations == nil {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations[AnnotationKept] = encode(content)
}

// takeKept takes the annotation off an object and returns what it held.
func takeKept(object map[string]any) kept {
	metadata := child(object, "metadata")
	annotations := child(metadata, "annotations")
	text, ok := annotations[AnnotationKept].(string)
	if !ok {
		return kept{}
	}
	delete(annotations, AnnotationKept)
	if len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	k, err := decode(text)
	if err != nil {
		return kept{}
	}
	return k
}

// CheckKept tells what is wrong with the text of the annotation AnnotationKept.
func CheckKept(text string) error {
	_, err := decode(text)
	return err
}

// encode is deterministic: maps marshal in the order of their keys, and gzip
// writes no time.
func encode(content map[string]any) string {
	plain, err := json.Marshal(content)
	if err != nil {
		// JSON objects marshal; only a Go value that is none could fail.
		panic(fmt.Sprintf("marshal a JSON object: %v", err))
	}
	if len(plain) <= plainLimit {
		return string(plain)
	}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	_, _ = w.Write(plain) // a bytes.Buffer takes everything
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(packed.Bytes())
}

func decode(text string) (kept, error) {
	plain := []byte(text)
	if text == "" || text[0] != '{' {
		var err error
		if plain, err = unpack(text); err != nil {
			return kept{}, err
		}
	}
	content := map[string]any{}
	// Unlike encoding/json, this reads whole numbers as whole numbers.
	if err := utiljson.Unmarshal(plain, &content); err != nil {
		return kept{}, fmt.Errorf("it is no JSON object: %w", err)
	}
	k := kept{Spec: child(content, "spec"), Status: child(content, "status")}
	k.ImageOf, _ = content["imageOf"].(string)
	return k, nil
}

func unpack(text string) ([]byte, error) {
	packed, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("it is neither JSON nor base64: %w", err)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("it is not compressed with gzip: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, unpackedLimit+1))
	if err != nil {
		return nil, fmt.Errorf("unpack it: %w", err)
	}
	if len(plain) > unpackedLimit {
		return nil, errors.New("it unpacks to more than 4 MiB")
	}
	return plain, nil
}
