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

package change

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
)

// natives are Kubernetes' own kinds that have plans.
var natives = map[schema.GroupVersionKind]Kind{
	kappsv1.SchemeGroupVersion.WithKind("Deployment"):  {replicas: "replicas", setImage: setTemplateImage, restart: restartTemplate, typed: kappsv1.Deployment{}},
	kappsv1.SchemeGroupVersion.WithKind("ReplicaSet"):  {replicas: "replicas", setImage: setTemplateImage, typed: kappsv1.ReplicaSet{}},
	kappsv1.SchemeGroupVersion.WithKind("StatefulSet"): {replicas: "replicas", setImage: setTemplateImage, restart: restartTemplate, typed: kappsv1.StatefulSet{}},
	kappsv1.SchemeGroupVersion.WithKind("DaemonSet"):   {setImage: setTemplateImage, restart: restartTemplate, typed: kappsv1.DaemonSet{}},
	corev1.SchemeGroupVersion.WithKind("ConfigMap"):    {typed: corev1.ConfigMap{}, setContent: setConfigMap},
	corev1.SchemeGroupVersion.WithKind("Secret"):       {typed: corev1.Secret{}, setContent: setSecret},
}

// restartedAt is the annotation of kubectl rollout restart.
const restartedAt = "kubectl.kubernetes.io/restartedAt"

// NativeOf is the kind of a version of Kubernetes' own kinds that has plans.
func NativeOf(version schema.GroupVersionKind) (Kind, bool) {
	k, ok := natives[version]
	return k, ok
}

// NativePlannable reports whether some version of Kubernetes' own kind has plans.
func NativePlannable(kind schema.GroupKind) bool {
	for known := range natives {
		if known.GroupKind() == kind {
			return true
		}
	}
	return false
}

// setTemplateImage changes an image in the pod template, as kubectl set image does. An
// image without a container is that of the only one.
func setTemplateImage(spec map[string]any, container, image string) error {
	containers := containersOf(spec, "containers")
	all := slices.Concat(containers, containersOf(spec, "initContainers"))
	names := namesOf(all)
	if container == "" {
		if len(containers) != 1 {
			return fmt.Errorf("there are %d containers: give CONTAINER=IMAGE, where the containers are %s", len(containers), strings.Join(names, ", "))
		}
		containers[0]["image"] = image
		return nil
	}
	if container != every && !slices.Contains(names, container) {
		return fmt.Errorf("there is no container %s: the containers are %s", container, strings.Join(names, ", "))
	}
	for _, c := range all {
		if container == every || c["name"] == container {
			c["image"] = image
		}
	}
	return nil
}

// restartTemplate does what kubectl rollout restart does.
func restartTemplate(object *unstructured.Unstructured, at time.Time) error {
	if paused, _, _ := unstructured.NestedBool(object.Object, "spec", "paused"); paused {
		return errors.New("it is paused, and kubectl rollout restart refuses that: kubectl rollout resume comes first")
	}
	return unstructured.SetNestedField(object.Object, at.UTC().Format(time.RFC3339), "spec", "template", "metadata", "annotations", restartedAt)
}

// restartManager asks for the restart of a PodManager.
func restartManager(object *unstructured.Unstructured, at time.Time) error {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[appsv1.AnnotationRestart] = at.UTC().Format(time.RFC3339)
	object.SetAnnotations(annotations)
	return nil
}

// setConfigMap sets keys as kubectl create configmap --from-file does: text in data, and what is
// no text in binaryData.
func setConfigMap(object *unstructured.Unstructured, content map[string][]byte) error {
	for key, value := range content {
		in, other, text := "data", "binaryData", string(value)
		if !utf8.Valid(value) {
			in, other, text = other, in, base64.StdEncoding.EncodeToString(value)
		}
		unstructured.RemoveNestedField(object.Object, other, key)
		if err := unstructured.SetNestedField(object.Object, text, in, key); err != nil {
			return err
		}
	}
	return nil
}

func setSecret(object *unstructured.Unstructured, content map[string][]byte) error {
	for key, value := range content {
		if err := unstructured.SetNestedField(object.Object, base64.StdEncoding.EncodeToString(value), "data", key); err != nil {
			return err
		}
	}
	return nil
}

// merge is what kubectl apply makes of a live object of a kind that it knows: it
// merges lists by their keys.
func (k Kind) merge(last, modified, current []byte) ([]byte, error) {
	schema, err := strategicpatch.NewPatchMetaFromStruct(k.typed)
	if err != nil {
		return nil, err
	}
	patch, err := strategicpatch.CreateThreeWayMergePatch(last, modified, current, schema, true)
	if err != nil {
		return nil, fmt.Errorf("compare the change with the live object: %w", err)
	}
	return strategicpatch.StrategicMergePatchUsingLookupPatchMeta(current, patch, schema)
}
