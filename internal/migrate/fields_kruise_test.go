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

package migrate

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

var kruiseCRDs = flag.String("kruise-crds", "", "The folder config/crd/bases of OpenKruise's source: its CRDs have the fields that are drawn, and no others.")

// cloneSetSpec are the fields of a CloneSet of OpenKruise 1.9.1. The package reads it without a type
// of it, so the test needs one to draw from.
type cloneSetSpec struct {
	Replicas                *int32                         `json:"replicas,omitempty"`
	Selector                *metav1.LabelSelector          `json:"selector,omitempty"`
	Template                corev1.PodTemplateSpec         `json:"template"`
	VolumeClaimTemplates    []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`
	MinReadySeconds         int32                          `json:"minReadySeconds,omitempty"`
	RevisionHistoryLimit    *int32                         `json:"revisionHistoryLimit,omitempty"`
	ProgressDeadlineSeconds *int32                         `json:"progressDeadlineSeconds,omitempty"`
	Lifecycle               *kruiseLifecycle               `json:"lifecycle,omitempty"`
	UpdateStrategy          *struct {
		Type                  string              `json:"type,omitempty"`
		Paused                bool                `json:"paused,omitempty"`
		Partition             *intstr.IntOrString `json:"partition,omitempty"`
		MaxUnavailable        *intstr.IntOrString `json:"maxUnavailable,omitempty"`
		MaxSurge              *intstr.IntOrString `json:"maxSurge,omitempty"`
		PriorityStrategy      *kruisePriority     `json:"priorityStrategy,omitempty"`
		ScatterStrategy       []map[string]string `json:"scatterStrategy,omitempty"`
		InPlaceUpdateStrategy *kruiseInPlace      `json:"inPlaceUpdateStrategy,omitempty"`
	} `json:"updateStrategy,omitempty"`
	ScaleStrategy *struct {
		PodsToDelete    []string            `json:"podsToDelete,omitempty"`
		MaxUnavailable  *intstr.IntOrString `json:"maxUnavailable,omitempty"`
		DisablePVCReuse bool                `json:"disablePVCReuse,omitempty"`
	} `json:"scaleStrategy,omitempty"`
}

// advancedStatefulSetSpec are the fields of OpenKruise's StatefulSet.
type advancedStatefulSetSpec struct {
	Replicas             *int32                         `json:"replicas,omitempty"`
	Selector             *metav1.LabelSelector          `json:"selector,omitempty"`
	Template             corev1.PodTemplateSpec         `json:"template"`
	VolumeClaimTemplates []corev1.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`
	ServiceName          string                         `json:"serviceName,omitempty"`
	PodManagementPolicy  string                         `json:"podManagementPolicy,omitempty"`
	RevisionHistoryLimit *int32                         `json:"revisionHistoryLimit,omitempty"`
	ReserveOrdinals      []intstr.IntOrString           `json:"reserveOrdinals,omitempty"`
	Lifecycle            *kruiseLifecycle               `json:"lifecycle,omitempty"`
	Ordinals             *struct {
		Start int32 `json:"start,omitempty"`
	} `json:"ordinals,omitempty"`
	PersistentVolumeClaimRetentionPolicy *struct {
		WhenDeleted string `json:"whenDeleted,omitempty"`
		WhenScaled  string `json:"whenScaled,omitempty"`
	} `json:"persistentVolumeClaimRetentionPolicy,omitempty"`
	ScaleStrategy *struct {
		MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	} `json:"scaleStrategy,omitempty"`
	VolumeClaimUpdateStrategy *struct {
		Type string `json:"type,omitempty"`
	} `json:"volumeClaimUpdateStrategy,omitempty"`
	UpdateStrategy *struct {
		Type          string `json:"type,omitempty"`
		RollingUpdate *struct {
			Partition             *int32              `json:"partition,omitempty"`
			MaxUnavailable        *intstr.IntOrString `json:"maxUnavailable,omitempty"`
			PodUpdatePolicy       string              `json:"podUpdatePolicy,omitempty"`
			Paused                bool                `json:"paused,omitempty"`
			MinReadySeconds       *int32              `json:"minReadySeconds,omitempty"`
			InPlaceUpdateStrategy *kruiseInPlace      `json:"inPlaceUpdateStrategy,omitempty"`
			UnorderedUpdate       *struct {
				PriorityStrategy *kruisePriority `json:"priorityStrategy,omitempty"`
			} `json:"unorderedUpdate,omitempty"`
		} `json:"rollingUpdate,omitempty"`
	} `json:"updateStrategy,omitempty"`
}

type kruiseLifecycle struct {
	PreDelete     *kruiseHook `json:"preDelete,omitempty"`
	PreNormal     *kruiseHook `json:"preNormal,omitempty"`
	InPlaceUpdate *kruiseHook `json:"inPlaceUpdate,omitempty"`
}

type kruiseHook struct {
	LabelsHandler     map[string]string `json:"labelsHandler,omitempty"`
	FinalizersHandler []string          `json:"finalizersHandler,omitempty"`
	MarkPodNotReady   bool              `json:"markPodNotReady,omitempty"`
}

type kruisePriority struct {
	OrderPriority  []map[string]string `json:"orderPriority,omitempty"`
	WeightPriority []map[string]string `json:"weightPriority,omitempty"`
}

type kruiseInPlace struct {
	GracePeriodSeconds int32 `json:"gracePeriodSeconds,omitempty"`
}

// The fields that are drawn are those that OpenKruise has.
func TestOpenKruisesFieldsAreTheDrawnOnes(t *testing.T) {
	if *kruiseCRDs == "" {
		t.Skip("no -kruise-crds")
	}
	for i := range originals {
		o := &originals[i]
		if o.kind.Group != kruiseGroup {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(*kruiseCRDs, kruiseGroup+"_"+o.kind.Resource+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var want, got []string
		opaque := func(path string) bool {
			return strings.HasPrefix(path, "template") || strings.HasPrefix(path, "selector") || strings.HasPrefix(path, "volumeClaimTemplates")
		}
		for _, path := range fieldsOfCRD(t, raw, o.kind.Version) {
			if !opaque(path) {
				want = append(want, path)
			}
		}
		o.leaves(func(path string, _ func(reflect.Value)) {
			if !opaque(path) {
				got = append(got, path)
			}
		})
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the CRD (-) and what is drawn (+):\n%s", o.name(), diff)
		}
	}
}

// fieldsOfCRD are the paths of the fields of a version's spec.
func fieldsOfCRD(t *testing.T, raw []byte, version string) (paths []string) {
	t.Helper()
	crd := map[string]any{}
	if err := yaml.Unmarshal(raw, &crd); err != nil {
		t.Fatal(err)
	}
	var walk func(path string, schema map[string]any)
	walk = func(path string, schema map[string]any) {
		properties, nested, _ := unstructured.NestedMap(schema, "properties")
		if !nested {
			paths = append(paths, path)
		}
		for name := range properties {
			inner, _, _ := unstructured.NestedMap(properties, name)
			walk(strings.TrimPrefix(path+"."+name, "."), inner)
		}
	}
	versions, _, _ := unstructured.NestedSlice(crd, "spec", "versions")
	for _, v := range versions {
		if v, _ := v.(map[string]any); v["name"] == version {
			spec, _, _ := unstructured.NestedMap(v, "schema", "openAPIV3Schema", "properties", "spec")
			walk("", spec)
		}
	}
	return paths
}
