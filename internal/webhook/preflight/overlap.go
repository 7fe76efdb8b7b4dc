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

package preflight

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	kappsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
)

// maxOwners is how many other owners a warning names.
const maxOwners = 3

// findOverlap looks for pods of other owners that carry the same app label. No
// controller takes them for its own, because they have owner references; but a
// Service, a disruption budget or an autoscaler goes by labels alone.
func (i *Inspector) findOverlap(ctx context.Context, f desired.Fleet) Findings {
	app, ok := f.Template.Labels[appsv1.LabelApp]
	if !ok {
		return Findings{}
	}
	var pods corev1.PodList
	err := i.cache.List(ctx, &pods, client.InNamespace(f.Ref.Namespace), client.MatchingLabels{appsv1.LabelApp: app}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return warn("whether pods of others carry %s=%s was not checked: %v", appsv1.LabelApp, app, err)
	}
	owners := map[string]int{}
	for n := range pods.Items {
		if ref := metav1.GetControllerOfNoCopy(&pods.Items[n]); ref != nil && ref.UID != f.Ref.UID {
			owners[ownerName(ref, pods.Items[n].Labels)]++
		}
	}
	if len(owners) == 0 {
		return Findings{}
	}
	return warn("%s=%s is on pods of %s, too: whatever selects by that label, a Service, a PodDisruptionBudget or an autoscaler, will not tell them apart",
		appsv1.LabelApp, app, nameOwners(owners))
}

// ownerName names a pod's owner; of a ReplicaSet that a Deployment made, the
// Deployment.
func ownerName(ref *metav1.OwnerReference, labels map[string]string) string {
	hash := labels[kappsv1.DefaultDeploymentUniqueLabelKey]
	if name, ok := strings.CutSuffix(ref.Name, "-"+hash); ok && hash != "" && ref.Kind == "ReplicaSet" {
		return "Deployment " + name
	}
	return ref.Kind + " " + ref.Name
}

func nameOwners(owners map[string]int) string {
	names := make([]string, 0, len(owners))
	for name := range owners {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(owners[b]-owners[a], cmp.Compare(a, b)) })
	if more := len(names) - maxOwners; more > 0 {
		names = append(names[:maxOwners], fmt.Sprintf("%d more", more))
	}
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
