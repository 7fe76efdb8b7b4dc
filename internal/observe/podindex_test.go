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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	crcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "github.com/mycompany/pod-operator/api/apps/v1"
	"github.com/mycompany/pod-operator/internal/desired"
)

// informers give one informer of pods, or an error.
type informers struct {
	crcache.Informers
	informer crcache.Informer
	err      error
}

func (i informers) GetInformer(context.Context, client.Object, ...crcache.InformerGetOption) (crcache.Informer, error) {
	return i.informer, i.err
}

// several stands for the informers of several namespaces.
type several struct{ crcache.Informer }

func podInformer() toolscache.SharedIndexInformer {
	return toolscache.NewSharedIndexInformer(&toolscache.ListWatch{}, &corev1.Pod{}, 0, toolscache.Indexers{})
}

// TestPodIndex finds what a list through the client would: pods of one namespace,
// by their controller or by the fleet that they may be an orphan of.
func TestPodIndex(t *testing.T) {
	informer := podInformer()
	index, err := NewPodIndex(t.Context(), informers{informer: informer}, appsv1.LabelName)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := fleetPod("elsewhere", me, "web")
	elsewhere.Namespace = "other"
	for _, pod := range []*corev1.Pod{
		fleetPod("ours", me, "web"), fleetPod("theirs", "you", "web"), fleetPod("orphan", "", "web"), fleetPod("stranger", "", "api"), elsewhere,
	} {
		if err := informer.GetIndexer().Add(pod); err != nil {
			t.Fatal(err)
		}
	}
	for name, test := range map[string]struct {
		namespace, key string
		want           []string
	}{
		"our pods":             {"ns", string(me), []string{"ours"}},
		"of another namespace": {"other", string(me), []string{"elsewhere"}},
		"our orphans":          {"ns", desired.OrphanKey(appsv1.LabelName, "web"), []string{"orphan"}},
		"an owner without any": {"ns", "new", nil},
	} {
		t.Run(name, func(t *testing.T) {
			found, err := New(nil, nil, nil).WithIndex(index).listPods(t.Context(), test.namespace, test.key)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, pod := range found {
				got = append(got, pod.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSeveralInformersHaveNoIndex: pods are then listed through the client.
func TestSeveralInformersHaveNoIndex(t *testing.T) {
	if index, err := NewPodIndex(t.Context(), informers{informer: several{}}); index != nil || err != nil {
		t.Errorf("the index is %v, the error %v", index, err)
	}
}

func TestAnIndexThatCannotBeMadeIsAnError(t *testing.T) {
	indexed := podInformer()
	if _, err := NewPodIndex(t.Context(), informers{informer: indexed}); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		given informers
		want  string
	}{
		"there is no informer":           {informers{err: errors.New("broken")}, "watch pods: broken"},
		"the informer has such an index": {informers{informer: indexed}, "index pods: "},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewPodIndex(t.Context(), test.given); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestAnIndexThatCannotBeReadIsAnError, and not a fleet without pods.
func TestAnIndexThatCannotBeReadIsAnError(t *testing.T) {
	other := podInformer()
	index, err := NewPodIndex(t.Context(), informers{informer: other})
	if err != nil {
		t.Fatal(err)
	}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", OwnerReferences: fleetPod("", me, "").OwnerReferences}}
	if err := other.GetIndexer().Add(config); err != nil {
		t.Fatal(err)
	}
	for name, index := range map[string]*PodIndex{
		"the store has no such index": {store: podInformer().GetIndexer()},
		"the store has other objects": index,
	} {
		if found, err := index.find("ns", string(me)); err == nil {
			t.Errorf("%s: found %v", name, found)
		}
	}
}
