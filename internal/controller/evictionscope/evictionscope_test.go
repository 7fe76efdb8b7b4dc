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

package evictionscope

import (
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestSelector(t *testing.T) {
	var many []string
	for i := range MaxNamespaces {
		many = append(many, "n"+strconv.Itoa(i))
	}
	in := func(names ...string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: names,
		}}}
	}
	for name, test := range map[string]struct {
		namespaces []string
		want       *metav1.LabelSelector
	}{
		"none selects nothing":              {want: in("")},
		"some are named":                    {namespaces: []string{"a", "b"}, want: in("a", "b")},
		"as many as can be named":           {namespaces: many, want: in(many...)},
		"one more, and all are asked about": {namespaces: append([]string{"a"}, many...), want: &metav1.LabelSelector{}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Selector(test.namespaces)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
