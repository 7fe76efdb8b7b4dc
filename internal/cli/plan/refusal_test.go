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
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func TestRefusalsComeWithAdvice(t *testing.T) {
	for name, given := range map[string]struct{ kind, field, message, want string }{
		"a selector":               {"Deployment", "spec.selector", "field is immutable", "spec.selector cannot be changed"},
		"labels of the template":   {"Deployment", "spec.template.metadata.labels", "`selector` does not match template `labels`", "keep these labels"},
		"a claim template":         {"StatefulSet", "spec", "updates to statefulset spec for fields other than 'replicas' are forbidden", "--cascade=orphan"},
		"a claim template of 1.37": {"StatefulSet", "spec.volumeClaimTemplates", "field is immutable", "--cascade=orphan"},
		"a strategy":               {"Deployment", "spec.strategy.rollingUpdate", "may not be specified", "rollingUpdate to null"},
		"any other field":          {"Deployment", "spec.replicas", "must be at least 0", ""},
	} {
		t.Run(name, func(t *testing.T) {
			refused := apierrors.NewInvalid(schema.GroupKind{Group: "apps", Kind: given.kind}, "web", field.ErrorList{field.Invalid(field.NewPath(given.field), "x", given.message)})
			got := advised(refused, given.kind, "web")
			if !errors.Is(got, refused) || !strings.Contains(got.Error(), given.want) || given.want == "" && got.Error() != refused.Error() {
				t.Error(got)
			}
		})
	}
}
