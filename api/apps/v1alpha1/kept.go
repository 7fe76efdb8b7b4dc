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
// when it is written back, and only the conversion writes it.
const AnnotationKept = "apps.mycompany.com/v1"

// LabelTooLarge marks, in place of the annotation, a v1alpha1 object whose v1
// fields do not fit into the annotation. It can be read as v1alpha1 and not be
// written. It is a label because those have no limit together: where the user's
// annotations take all the room there is, another annotation would not be admitted.
const (
	LabelTooLarge = AnnotationKept
	tooLarge      = "too-large"
)

const (
	// plainLimit is how long the annotation may be in plain JSON, which a
	// reader can make sense of. A longer one is compressed: all annotations
	// of an object together have to stay below 256 KiB.
	plainLimit = 4 << 10
	// AnnotationsLimit is what all annotations of an object may have
	// together. The API server holds a converted object to it, and one that
	// breaks it spoils every list that it is in.
	AnnotationsLimit = 256 << 10
	// unpackedLimit bounds what a compressed annotation may unpack to. No
	// object that etcd takes is larger.
	unpackedLimit = 3 << 19
	// keptValues bounds how many JSON values the annotation may hold. Go needs
	// more than a hundred bytes for the smallest value, so that a few kilobytes of
	// compressed "{}" would otherwise take all memory there is. The largest
	// template that etcd takes has fewer, unless it was made to have more.
	keptValues = 100_000
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

// putOn writes the annotation, unless there is nothing to keep, and tells
// whether it fits.
func (k kept) putOn(object map[string]any) (fits bool) {
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
		return true
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
	text, values := encode(content)
	annotations[AnnotationKept] = text
	if size(annotations) <= AnnotationsLimit && values <= keptValues {
		return true
	}
	drop(metadata, "annotations", AnnotationKept)
	labels := child(metadata, "labels")
	if labels == nil {
		labels = map[string]any{}
		metadata["labels"] = labels
	}
	labels[LabelTooLarge] = tooLarge
	return false
}

// IsTooLarge tells whether an object carries the label LabelTooLarge.
func IsTooLarge(labels map[string]string) bool { return labels[LabelTooLarge] == tooLarge }

// size counts annotations as the API server does.
func size(annotations map[string]any) int {
	total := 0
	for key, value := range annotations {
		text, _ := value.(string)
		total += len(key) + len(text)
	}
	return total
}

// takeKept takes the annotation off an object and returns what it held.
func takeKept(object map[string]any) kept {
	text, ok := takeText(object)
	if !ok {
		return kept{}
	}
	k, err := decode(text)
	if err != nil {
		return kept{}
	}
	return k
}

// takeText takes the annotation off an object and returns it unread.
func takeText(object map[string]any) (text string, ok bool) {
	metadata := child(object, "metadata")
	if text, ok = child(metadata, "annotations")[AnnotationKept].(string); ok {
		drop(metadata, "annotations", AnnotationKept)
	}
	return text, ok
}

// drop takes an entry out of the labels or the annotations.
func drop(metadata map[string]any, field, key string) {
	entries := child(metadata, field)
	delete(entries, key)
	if len(entries) == 0 {
		delete(metadata, field)
	}
}

// CheckKept tells what is wrong with the text of the annotation AnnotationKept.
func CheckKept(text string) error {
	_, err := decode(text)
	return err
}

// ErrTooLarge says that v1alpha1 cannot carry what v1 says.
var ErrTooLarge = errors.New("this PodManager is too large for v1alpha1: write it as v1")

// encode is deterministic: maps marshal in the order of their keys, and gzip
// writes no time.
func encode(content map[string]any) (text string, values int) {
	plain, err := json.Marshal(content)
	if err != nil {
		// JSON objects marshal; only a Go value that is none could fail.
		panic(fmt.Sprintf("marshal a JSON object: %v", err))
	}
	values = CountValues(plain)
	if len(plain) <= plainLimit {
		return string(plain), values
	}
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	_, _ = w.Write(plain) // a bytes.Buffer takes everything
	_ = w.Close()
	return base64.StdEncoding.EncodeToString(packed.Bytes()), values
}

// WeighKept counts the JSON values that the annotation of an object holds, without
// building them. It is 0 where there is no annotation.
func WeighKept(annotations map[string]string) (values int, err error) {
	text, ok := annotations[AnnotationKept]
	if !ok {
		return 0, nil
	}
	_, values, err = plainKept(text)
	return values, err
}

// plainKept is the text of the annotation in plain JSON, within the limits.
func plainKept(text string) (plain []byte, values int, err error) {
	plain = []byte(text)
	if text == "" || text[0] != '{' {
		if plain, err = unpack(text); err != nil {
			return nil, 0, err
		}
	}
	if values = CountValues(plain); values > keptValues {
		return nil, values, fmt.Errorf("it holds %d JSON values, and %d are the most", values, keptValues)
	}
	return plain, values, nil
}

// CountValues counts the values in a JSON text, the members of objects and the
// elements of arrays, without building them. Of a text that is not JSON it says no
// less than a parser would have built before it failed.
func CountValues(text []byte) int {
	values, quoted := 1, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == '{' || c == '['):
			values++
		}
	}
	return values
}

func decode(text string) (kept, error) {
	plain, _, err := plainKept(text)
	if err != nil {
		return kept{}, err
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
		return nil, errors.New("it unpacks to more than 1.5 MiB")
	}
	return plain, nil
}
