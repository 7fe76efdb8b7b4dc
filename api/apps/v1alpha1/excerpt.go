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
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// excerptMeta is the metadata that a conversion has to return: the API server puts
// the rest back as it was.
type excerptMeta struct {
	Name        string          `json:"name"`
	Namespace   string          `json:"namespace,omitempty"`
	UID         types.UID       `json:"uid,omitempty"`
	Labels      json.RawMessage `json:"labels,omitempty"`
	Annotations json.RawMessage `json:"annotations,omitempty"`
}

// excerptHub is what an excerpt reads of a v1 PodManager. What may have any number of
// values stays text.
type excerptHub struct {
	Metadata excerptMeta `json:"metadata"`
	Spec     struct {
		Replicas json.RawMessage `json:"replicas"`
		Image    json.RawMessage `json:"image"`
		Template struct {
			Spec struct {
				Containers []excerptContainer `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status *struct {
		Nodes json.RawMessage `json:"nodes,omitempty"`
	} `json:"status"`
}

type excerptContainer struct {
	Name  string          `json:"name"`
	Image json.RawMessage `json:"image"`
}

// Excerpt shows a v1 PodManager that has too many values to be built: what v1alpha1
// has fields for, with the label LabelTooLarge. One object that could not be
// converted would make every list that it is in fail, for all who read v1alpha1.
func Excerpt(hub []byte) (spoke []byte, err error) {
	var from excerptHub
	if err := utiljson.Unmarshal(hub, &from); err != nil {
		return nil, fmt.Errorf("read a PodManager that is too large for v1alpha1: %w", err)
	}
	spec := map[string]json.RawMessage{}
	if from.Spec.Replicas != nil {
		spec["size"] = from.Spec.Replicas
	}
	if image := from.image(); image != nil {
		spec["image"] = image
	}
	from.Metadata.Labels = marked(from.Metadata.Labels)
	object := map[string]any{"apiVersion": GroupVersion.String(), "kind": "PodManager", "metadata": from.Metadata, "spec": spec}
	if from.Status != nil {
		object["status"] = from.Status
	}
	return json.Marshal(object)
}

// image is what FromHub would show: v1's image, or that of the container app or the
// first one.
func (h *excerptHub) image() json.RawMessage {
	containers := h.Spec.Template.Spec.Containers
	if h.Spec.Image != nil || len(containers) == 0 {
		return h.Spec.Image
	}
	for i := range containers {
		if containers[i].Name == appsv1.AppContainer {
			return containers[i].Image
		}
	}
	return containers[0].Image
}

// marked adds LabelTooLarge to the text of labels. Of a name that is there twice, the
// last one counts.
func marked(labels json.RawMessage) json.RawMessage {
	mark := fmt.Appendf(nil, "%q:%q}", LabelTooLarge, tooLarge)
	entries, isObject := bytes.CutSuffix(bytes.TrimSpace(labels), []byte("}"))
	if entries = bytes.TrimSpace(entries); !isObject || len(entries) == 1 {
		return append([]byte("{"), mark...)
	}
	return append(append(bytes.Clone(entries), ','), mark...)
}
