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

package doctor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiversion "k8s.io/apimachinery/pkg/version"
)

func TestMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		minor     string
		resources string
		want      []string
	}{
		"nothing is missing":                        {"37", "pods pods/resize", nil},
		"a vendor's plus sign does not matter":      {"34+", "pods pods/resize", nil},
		"without the resize subresource":            {"34", "pods pods/status", []string{"the API server has no pods/resize: a new size of cpu or memory recreates pods"}},
		"a version that is too old is not tested":   {"33", "pods pods/resize", []string{"the operator is tested on Kubernetes 1.34 to 1.37, not on v1.33"}},
		"a version that is newer is not tested yet": {"38", "pods pods/resize", []string{"the operator is tested on Kubernetes 1.34 to 1.37, not on v1.38"}},
	} {
		t.Run(name, func(t *testing.T) {
			list := &metav1.APIResourceList{}
			for _, resource := range strings.Fields(tc.resources) {
				list.APIResources = append(list.APIResources, metav1.APIResource{Name: resource})
			}
			var got []string
			for _, finding := range missing(&apiversion.Info{Major: "1", Minor: tc.minor, GitVersion: "v1." + tc.minor}, list) {
				if finding.Level != Note {
					t.Errorf("%q is a %s", finding.Text, finding.Level)
				}
				got = append(got, finding.Text)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}
