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

package observe

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
)

// TestIndexed: a list straight from the API server, which has none of our indexes,
// holds what the cache's would.
func TestIndexed(t *testing.T) {
	bound := fleetPod("bound", "you", "web")
	bound.Spec.NodeName = "n"
	elsewhere := fleetPod("elsewhere", me, "web")
	elsewhere.Namespace = "other"
	theirs := claim("b", "1")
	theirs.Name, theirs.Labels[appsv1.LabelName] = "data-api-0", "api"
	// The name of the index is the one for pods, which finds by the controller.
	owned := claim("c", "1")
	owned.Name, owned.Labels = "scratch", nil
	owned.OwnerReferences = fleetPod("", "web", "").OwnerReferences
	live := fake.NewClientBuilder().WithObjects(
		fleetPod("ours", me, "web"), fleetPod("orphan", "", "web"), bound, elsewhere,
		claim("a", "1"), theirs, owned,
	).Build()

	for name, test := range map[string]struct {
		list client.ObjectList
		opts []client.ListOption
		want []string
	}{
		"pods by their controller": {&corev1.PodList{}, []client.ListOption{client.InNamespace("ns"), client.MatchingFields{IndexPods: string(me)}}, []string{"ours"}},
		"pods in all namespaces":   {&corev1.PodList{}, []client.ListOption{client.MatchingFields{IndexPods: string(me)}}, []string{"ours", "elsewhere"}},
		"orphans by their label": {
			&corev1.PodList{}, []client.ListOption{client.MatchingFields{IndexPods: desired.OrphanKey(appsv1.LabelName, "web")}}, []string{"orphan"},
		},
		"pods by their node":        {&corev1.PodList{}, []client.ListOption{client.MatchingFields{IndexPodsByNode: "n"}}, []string{"bound"}},
		"pods without a node":       {&corev1.PodList{}, []client.ListOption{client.MatchingFields{IndexPodsByNode: ""}}, nil},
		"pods by both":              {&corev1.PodList{}, []client.ListOption{client.MatchingFields{IndexPods: string(me), IndexPodsByNode: "n"}}, nil},
		"claims by their fleet":     {&corev1.PersistentVolumeClaimList{}, []client.ListOption{client.MatchingFields{IndexClaims: "web"}}, []string{"data-web-0"}},
		"an index that is not ours": {&corev1.PodList{}, []client.ListOption{client.MatchingFields{"color": "blue"}}, nil},
		"without an index":          {&corev1.PodList{}, []client.ListOption{client.InNamespace("other")}, []string{"elsewhere"}},
		"with an empty one":         {&corev1.PodList{}, []client.ListOption{client.InNamespace("other"), client.MatchingFields{}}, []string{"elsewhere"}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Indexed(live, appsv1.LabelName).List(t.Context(), test.list, test.opts...); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, namesOf(t, test.list)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func namesOf(t *testing.T, list client.ObjectList) []string {
	t.Helper()
	var names []string
	switch list := list.(type) {
	case *corev1.PodList:
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
	case *corev1.PersistentVolumeClaimList:
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
	default:
		t.Fatalf("a list of %T", list)
	}
	return names
}

// TestAListThatFailsIsNoEmptyFleet: pods that cannot be listed are not missing.
func TestAListThatFailsIsNoEmptyFleet(t *testing.T) {
	broken := errors.New("broken")
	live := interceptor.NewClient(cache(t), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken },
	})
	for name, option := range map[string]client.ListOption{
		"with an index": client.MatchingFields{IndexPods: string(me)}, "without": client.InNamespace("ns"),
	} {
		if err := Indexed(live).List(t.Context(), &corev1.PodList{}, option); !errors.Is(err, broken) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
