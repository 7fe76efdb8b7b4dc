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
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// advised says what people do about a refusal.
func advised(err error, kind, name string) error {
	if meta.IsNoMatchError(err) {
		return fmt.Errorf("%w\nThis cluster has no %ss. Kubernetes' own workloads have plans, too: kubectl podmanager plan deployment/NAME", err, kind)
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) || status.Status().Details == nil {
		return err
	}
	var advice []string
	for _, cause := range status.Status().Details.Causes {
		if text := adviceFor(cause.Field, cause.Message, kind, name); text != "" {
			advice = append(advice, text)
		}
	}
	if len(advice) == 0 {
		return err
	}
	return fmt.Errorf("%w\n%s", err, strings.Join(advice, "\n"))
}

// fixed are fields of a StatefulSet that cannot be changed; releases before 1.37 name
// them all as spec.
var fixed = []string{"spec.serviceName", "spec.podManagementPolicy", "spec.volumeClaimTemplates"}

// adviceFor is what people do about a field that the API server refuses.
func adviceFor(field, message, kind, name string) string {
	again := fmt.Sprintf("kubectl delete %s %s --cascade=orphan and kubectl apply", strings.ToLower(kind), name)
	switch {
	case field == "spec.selector":
		return fmt.Sprintf("spec.selector cannot be changed. A %s of another name takes another selector; or %s make it anew beside pods that keep running, and it adopts those that match.", kind, again)
	case field == "spec.template.metadata.labels":
		return "spec.template.metadata.labels must match spec.selector, which cannot be changed: keep these labels, and add others."
	case kind == "StatefulSet" && (field == "spec" && strings.Contains(message, "fields other than") || slices.Contains(fixed, field)):
		return fmt.Sprintf("Of a StatefulSet, volumeClaimTemplates, serviceName, podManagementPolicy and the selector cannot be changed. %s make it anew, and its pods keep running; claims that exist keep their size: enlarge each of them.", again)
	case strings.HasPrefix(field, "spec.strategy") || strings.HasPrefix(field, "spec.updateStrategy"):
		return field + ": kubectl apply merges the strategy; where its type changes, set rollingUpdate to null in the file."
	}
	return ""
}
